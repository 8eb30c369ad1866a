// The bounds of skills, of a catalog, and of the watch over files. `schemas/limits.ts` exports them with all others.

/** Most skills of one bridge, and folders read of one directory. Those beyond it, in the order of their names, are left out, and it says so. */
export const SKILLS_MAX = 256;
/** Longest name of a skill, in characters. A longer one is refused. */
export const SKILL_NAME_CHARS_MAX = 64;
/** Longest description of a skill, in UTF-16 units. A longer one is refused. */
export const SKILL_DESCRIPTION_CHARS_MAX = 1_024;
/** Most files of one skill. A folder with more is refused. */
export const SKILL_FILES_MAX = 256;
/** Most bytes of all files of one skill. A folder with more is refused, and is not read further. */
export const SKILL_BYTES_MAX = 8 * 1_048_576;
/** Most directories above a file of a skill, in its folder. A deeper folder is refused. */
export const SKILL_DEPTH_MAX = 8;
/** Longest front matter of a skill, in characters. A longer one is refused before it is parsed. */
export const SKILL_FRONT_MATTER_CHARS_MAX = 16_384;
/** Most strings in the command of a skill. A longer command is refused. */
export const SKILL_RUN_MAX = 64;
/** Most skills in one answer of `skills_list` and `skills_search`. The answer says how to ask for the rest. */
export const SKILLS_LISTED_MAX = 50;
/** Most bytes of a file in one answer of `skills_read`. The answer says where the rest begins. */
export const SKILL_READ_BYTES_MAX = 32_768;
/** Most faults that reading skills or a catalog reports. Further ones are not listed. */
export const SOURCE_FAULTS_MAX = 256;
/** Most entries in a directory that is read for skills or a catalog. A directory with more is refused. */
export const SOURCE_ENTRIES_MAX = 4_096;
/** Most entries of a catalog. A catalog with more is refused. */
export const CATALOG_ENTRIES_MAX = 512;
/** Largest file of a catalog, in bytes. A larger one is refused. */
export const CATALOG_FILE_BYTES_MAX = 1_048_576;
/** After a change of a watched path, the time in which further changes are gathered before it is read, in milliseconds. */
export const WATCH_SETTLE_MS = 100;
/** How often watched paths are looked at, where the system tells of no change, in milliseconds. */
export const WATCH_LOOK_MS = 2_000;
/** Most paths that one watch looks at. Further ones are not watched. */
export const WATCH_PATHS_MAX = 4_096;
