// Reads the skills of directories: each folder in them is one skill. What is wrong with a skill leaves out that skill alone, and
// is reported with its file. The result depends on the files and not on the order in which they are found.
import { digestJson } from '../../schemas/canonical.ts';
import type { Digest } from '../../schemas/ids.ts';
import {
  SKILLS_MAX,
  SKILL_BYTES_MAX,
  SKILL_DEPTH_MAX,
  SKILL_FILES_MAX,
  SOURCE_FAULTS_MAX,
} from '../../schemas/limits.ts';
import { type TreeFile, TreeRefused, listDirectory, readTree } from '../files/read-tree.ts';
import { type FileDigest, fileDigests, folderDigest } from './folder-digest.ts';
import { type FieldFault, type SkillHead, readSkillHead, splitFrontMatter } from './front-matter.ts';
import { hiddenCharacter } from './hidden-characters.ts';

export const SKILL_FILE = 'SKILL.md';

/** One skill, as its folder was when it was read. */
export interface Skill extends SkillHead {
  /** The directory that holds its folder. */
  readonly root: string;
  readonly digest: Digest;
  readonly files: readonly FileDigest[];
}

/** The bytes of a skill, beside what is kept of it. */
export interface LoadedSkill extends Skill {
  readonly contents: readonly TreeFile[];
  /** The text of SKILL.md after its fields. */
  readonly instructions: string;
}

export interface SkillFault extends FieldFault {
  /** The file or directory. */
  readonly file: string;
}

export interface SkillSet {
  /** Sorted by name. */
  readonly skills: readonly Skill[];
  /** The digest of the names and digests of all skills. */
  readonly digest: Digest;
  readonly faults: readonly SkillFault[];
  /** What to watch: the directories, the folders in them and their files. */
  readonly paths: readonly string[];
}

const BOUNDS = { files: SKILL_FILES_MAX, bytes: SKILL_BYTES_MAX, depth: SKILL_DEPTH_MAX };

/** Reads every skill of these directories. `pause` is awaited between skills. */
export async function readSkills(roots: readonly string[], pause: () => Promise<void>): Promise<SkillSet> {
  const faults: SkillFault[] = [];
  const paths: string[] = [];
  const found: Skill[] = [];
  for (const root of new Set(roots)) {
    paths.push(root);
    for (const folder of foldersOf(root, faults)) {
      await pause();
      paths.push(`${root}/${folder}`);
      const skill = readSkill(root, folder);
      if (Array.isArray(skill)) {
        paths.push(`${root}/${folder}/${SKILL_FILE}`);
        faults.push(...(skill as readonly SkillFault[]));
        continue;
      }
      const { contents: _contents, instructions: _instructions, ...kept } = skill as LoadedSkill;
      paths.push(...placesOf(kept));
      found.push(kept);
    }
  }
  const skills = uniqueOf(found, faults);
  return {
    skills,
    digest: digestJson(['refold/skills/1', skills.map(({ name, digest }) => [name, digest])]),
    faults: faults.toSorted(byPlace).slice(0, SOURCE_FAULTS_MAX),
    paths,
  };
}

/** Reads one skill, or says everything that is wrong with it. */
export function readSkill(root: string, folder: string): LoadedSkill | readonly SkillFault[] {
  const place = `${root}/${folder}`;
  const fault = (path: string, message: string, at = ''): SkillFault => ({
    file: path === '' ? place : `${place}/${path}`,
    at,
    message,
  });
  let contents: readonly TreeFile[];
  try {
    contents = readTree(root, folder, BOUNDS);
  } catch (error) {
    if (error instanceof TreeRefused) return [fault(error.path, error.message)];
    throw error;
  }
  const odd = contents.find(({ path }) => hiddenCharacter(path) !== null || /[\t\n]/.test(path));
  if (odd !== undefined)
    return [fault('', `has a file whose name holds a character that is not shown: ${JSON.stringify(odd.path)}`)];
  const text = textOf(contents.find(({ path }) => path === SKILL_FILE)?.bytes);
  if (text === undefined)
    return [fault('', `has no file ${SKILL_FILE}, so it is no skill; add one, or move the folder away`)];
  if (text === null) return [fault(SKILL_FILE, 'is not UTF-8; convert it')];
  const split = splitFrontMatter(text);
  if ('message' in split) return [fault(SKILL_FILE, split.message)];
  const head = readSkillHead(split.head, folder);
  if (Array.isArray(head))
    return (head as readonly FieldFault[]).map(({ at, message }) => fault(SKILL_FILE, message, at));
  const files = fileDigests(contents);
  return { ...(head as SkillHead), root, digest: folderDigest(files), files, contents, instructions: split.body };
}

function foldersOf(root: string, faults: SkillFault[]): readonly string[] {
  try {
    const entries = listDirectory(root).filter(({ name }) => !name.startsWith('.'));
    for (const { name } of entries.filter(({ kind }) => kind === 'link'))
      faults.push({ file: `${root}/${name}`, at: '', message: 'is a symbolic link; put the folder itself there' });
    const folders = entries.filter(({ kind }) => kind === 'directory').map(({ name }) => name);
    if (folders.length > SKILLS_MAX)
      faults.push({ file: root, at: '', message: `has more than ${SKILLS_MAX} folders; only the first are read` });
    return folders.slice(0, SKILLS_MAX);
  } catch (error) {
    if (!(error instanceof TreeRefused)) throw error;
    faults.push({ file: root, at: '', message: error.message });
    return [];
  }
}

/** A name that two directories have is nobody's: which of them comes first must decide nothing. */
function uniqueOf(found: readonly Skill[], faults: SkillFault[]): readonly Skill[] {
  const counts = new Map<string, number>();
  for (const { name } of found) counts.set(name, (counts.get(name) ?? 0) + 1);
  for (const { name, root } of found) {
    if (counts.get(name) !== 1)
      faults.push({
        file: `${root}/${name}/${SKILL_FILE}`,
        at: '/name',
        message: `is "${name}", as in another directory; rename one of the two`,
      });
  }
  const unique = found.filter(({ name }) => counts.get(name) === 1).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  for (const { name, root } of unique.slice(SKILLS_MAX))
    faults.push({
      file: `${root}/${name}`,
      at: '',
      message: `is left out: the directories have more than ${SKILLS_MAX} skills together; remove some`,
    });
  return unique.slice(0, SKILLS_MAX);
}

function placesOf({ root, name, files }: Skill): readonly string[] {
  const places = files.map(({ path }) => `${root}/${name}/${path}`);
  return [...new Set(places.flatMap((place) => [place.slice(0, place.lastIndexOf('/')), place]))];
}

const byPlace = (a: SkillFault, b: SkillFault): number =>
  a.file === b.file ? (a.at < b.at ? -1 : 1) : a.file < b.file ? -1 : 1;

/** Undefined for a missing file, null for one that is not UTF-8. */
function textOf(bytes: Uint8Array | undefined): string | null | undefined {
  if (bytes === undefined) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
