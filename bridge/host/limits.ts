// Every bound of the host tools, named once. Sizes are bytes unless the name says otherwise.

/** Longest path argument, in UTF-16 units, and longest single name, in bytes (both as Linux has them). */
export const PATH_CHARS_MAX = 4_096;
export const NAME_BYTES_MAX = 255;
/** Most directories between the workspace and a file. It bounds the descriptors and the stack of a walk. */
export const PATH_DEPTH_MAX = 64;

/** Largest file that is edited, patched or searched as a whole; reads of a window have no such bound. */
export const FILE_BYTES_MAX = 16 * 1_048_576;
/** Most places one edit may match. */
export const EDIT_MATCHES_MAX = 100_000;
/** Smallest output budget that is honoured; less leaves no room to say what was left out. */
export const OUTPUT_BYTES_MIN = 1_024;

/** Entries that a listing or a search shows unless told otherwise, and at most. */
export const RESULTS_DEFAULT = 100;
export const RESULTS_MAX = 10_000;
/** Most files and directories one search visits. */
export const TREE_ENTRIES_MAX = 200_000;
/** Directories a search reads before it lets other work of the process run. */
export const TREE_YIELD_EVERY = 64;
/** Longest line a search prints, in UTF-16 units. */
export const LINE_CHARS_MAX = 500;
/** A NUL byte in this prefix makes a file binary, and so invisible to grep. */
export const BINARY_PROBE_BYTES = 8_192;
/** What is matched per message to the matching thread. */
export const GREP_BATCH_BYTES = 1_048_576;
export const GREP_BATCH_FILES = 64;
/** Below this many files a prefilter process costs more than it saves. */
export const PREFILTER_FILES_MIN = 256;
/** Longest pattern of grep and glob, in UTF-16 units, and most alternatives its braces may expand to. */
export const PATTERN_CHARS_MAX = 4_096;
export const GLOB_ALTERNATIVES_MAX = 256;

/** Most operations and hunks one patch may hold. */
export const PATCH_OPERATIONS_MAX = 1_024;
export const PATCH_HUNKS_MAX = 4_096;

/** Most arguments of a command, and most bytes of all of them. */
export const ARGV_MAX = 1_024;
export const ARGV_BYTES_MAX = 131_072;
/** Most variables a call may add to the environment, and most bytes of all of them. */
export const ENV_MAX = 128;
export const ENV_BYTES_MAX = 65_536;
/** Most commands that run at a time. */
export const COMMANDS_RUNNING_MAX = 64;
/** Longest a command may run, whatever was asked. */
export const EXEC_TIMEOUT_MS_MAX = 600_000;
/** From SIGTERM to SIGKILL (DESIGN section 7). */
export const TERM_GRACE_MS = 2_000;
export const TERM_GRACE_MS_MAX = 30_000;
/** From the end of a command to closing pipes that something else still holds, and at most while data arrives. */
export const DRAIN_MS = 250;
export const DRAIN_MS_MAX = 2_000;
/** What is kept of each end of an output, and what is kept of it in a file. */
export const HEAD_BYTES = 65_536;
export const TAIL_BYTES = 65_536;
export const SPILL_BYTES_MAX = 16 * 1_048_576;
/** A running command reports what is new this often, and at most this much. */
export const PROGRESS_EVERY_MS = 1_000;
export const PROGRESS_BYTES_MAX = 4_096;
/** Longest the probe of a sandbox may take. */
export const PROBE_MS_MAX = 5_000;

/** What the kernel holds a command to, through prlimit(1). */
export const COMMAND_PROCESSES_MAX = 1_024;
export const COMMAND_CPU_SECONDS_MAX = 1_200;
export const COMMAND_FILES_OPEN_MAX = 4_096;
export const COMMAND_FILE_BYTES_MAX = 1_073_741_824;
/** Writable memory. Address space is not limited: runtimes reserve far more of it than they ever touch. */
export const COMMAND_MEMORY_BYTES_MAX = 4_294_967_296;
/** The private /tmp of a sandboxed command. */
export const COMMAND_TMP_BYTES_MAX = 268_435_456;

/** Longest life of a host session that may be asked for. */
export const SESSION_TTL_MS_MAX = 366 * 86_400_000;
