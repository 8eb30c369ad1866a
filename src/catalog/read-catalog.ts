// Reads a catalog: a JSON file, or the JSON files of a directory. A file holds one entry, a list of them, or {"tools": [...]}. Every
// fault is reported, with its file and JSON path; a catalog with a fault has no tools at all, so that no part of it is in force.
import { readFileSync, statSync } from 'node:fs';
import { isLeft } from 'fp-ts/lib/Either.js';
import { digestJson, digestText } from '../../schemas/canonical.ts';
import type { Digest } from '../../schemas/ids.ts';
import { type Json, isPlainObject, parseJson } from '../../schemas/json.ts';
import { CATALOG_ENTRIES_MAX, CATALOG_FILE_BYTES_MAX, SOURCE_FAULTS_MAX } from '../../schemas/limits.ts';
import { reasonOf } from '../files/file-failure.ts';
import { TreeRefused, listDirectory } from '../files/read-tree.ts';
import { readSkills } from '../skills/read-skills.ts';
import { defaultToolPackage } from '../toolsets/default-package.ts';
import { type CatalogTool, readEntry } from './catalog-entry.ts';
import type { EntryFault } from './field-reader.ts';
import type { KnownSkills } from './implementations.ts';

export interface CatalogFault extends EntryFault {
  readonly file: string;
}

/** A tool, and where its entry stands. */
export interface PlacedTool extends CatalogTool {
  readonly file: string;
  /** The JSON path of the entry. */
  readonly at: string;
}

export interface Catalog {
  /** In the order of their ids. Empty when there are faults. */
  readonly tools: readonly PlacedTool[];
  /** The digest of all definitions. */
  readonly digest: Digest;
  readonly faults: readonly CatalogFault[];
  /** What to watch. */
  readonly paths: readonly string[];
}

/** `path`: a file or a directory. Of a directory with `tools/`, the files there are read, else its own; `skills/` has skills. */
export async function readCatalog(path: string, pause: () => Promise<void>): Promise<Catalog> {
  const faults: CatalogFault[] = [];
  const { files, skills, paths } = await placesOf(path, faults, pause);
  const found: PlacedTool[] = [];
  for (const file of files) {
    await pause();
    const parsed = parseFile(file, faults);
    for (const [at, value] of parsed === undefined ? [] : entriesOf(parsed)) {
      const entry = readEntry(value, at, skills);
      if (Array.isArray(entry)) faults.push(...(entry as readonly EntryFault[]).map((fault) => ({ file, ...fault })));
      else found.push({ ...(entry as CatalogTool), file, at });
    }
  }
  if (found.length > CATALOG_ENTRIES_MAX)
    faults.push({
      file: path,
      at: '',
      message: `has ${found.length} entries; at most ${CATALOG_ENTRIES_MAX} are allowed`,
    });
  faults.push(...nameFaults(found));
  const tools = faults.length > 0 ? [] : found.toSorted((a, b) => (a.spec.tool_id < b.spec.tool_id ? -1 : 1));
  return {
    tools,
    digest: digestJson([
      'refold/catalog/1',
      tools.map(({ spec, definition }) => [spec.tool_id, digestText(definition)]),
    ]),
    faults: faults.toSorted(byPlace).slice(0, SOURCE_FAULTS_MAX),
    paths,
  };
}

interface Places {
  readonly files: readonly string[];
  readonly skills: KnownSkills;
  readonly paths: readonly string[];
}

async function placesOf(path: string, faults: CatalogFault[], pause: () => Promise<void>): Promise<Places> {
  try {
    if (!statSync(path).isDirectory()) return { files: [path], skills: new Map(), paths: [path] };
    const top = listDirectory(path);
    const has = (name: string): boolean =>
      statSync(`${path}/${name}`, { throwIfNoEntry: false })?.isDirectory() === true;
    const directory = has('tools') ? `${path}/tools` : path;
    const entries = directory === path ? top : listDirectory(directory);
    const files = entries.filter(({ name }) => /^[^.].*\.json$/.test(name)).map(({ name }) => `${directory}/${name}`);
    if (files.length === 0)
      faults.push({ file: directory, at: '', message: 'has no file that ends in .json; add one' });
    const found = has('skills') ? await readSkills([`${path}/skills`], pause) : null;
    faults.push(...(found?.faults ?? []));
    const skills = new Map((found?.skills ?? []).map((skill) => [skill.name, skill]));
    return { files, skills, paths: [path, directory, ...files, ...(found?.paths ?? [])] };
  } catch (error) {
    const message = error instanceof TreeRefused ? error.message : `cannot be read: ${reasonOf(error)}`;
    faults.push({ file: path, at: '', message });
    return { files: [], skills: new Map(), paths: [path] };
  }
}

/** A file may be a link: the operator puts it there, as a mounted configuration does. */
function parseFile(file: string, faults: CatalogFault[]): Json | undefined {
  const fault = (at: string, message: string): undefined => void faults.push({ file, at, message });
  try {
    const stats = statSync(file);
    if (!stats.isFile()) return fault('', 'is no regular file; put one there');
    if (stats.size > CATALOG_FILE_BYTES_MAX)
      return fault('', `has ${stats.size} bytes; at most ${CATALOG_FILE_BYTES_MAX} are allowed`);
    const text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
    const parsed = parseJson(text, CATALOG_FILE_BYTES_MAX);
    return isLeft(parsed) ? fault(parsed.left.path, parsed.left.message) : parsed.right;
  } catch (error) {
    return fault('', error instanceof TypeError ? 'is not UTF-8; convert it' : `cannot be read: ${reasonOf(error)}`);
  }
}

/** The entries of a file, with their JSON paths. */
function entriesOf(value: Json): readonly (readonly [at: string, entry: Json])[] {
  const listed = isPlainObject(value) && Array.isArray(value['tools']) ? value['tools'] : null;
  if (listed !== null) return (listed as readonly Json[]).map((entry, index) => [`/tools/${index}`, entry]);
  if (Array.isArray(value)) return (value as readonly Json[]).map((entry, index) => [`/${index}`, entry]);
  return [['', value]];
}

/** Names that occur twice, and names of refold's own tools: a model could not tell them apart. */
function nameFaults(found: readonly PlacedTool[]): readonly CatalogFault[] {
  const own = new Map(defaultToolPackage().registry.map(({ tool_name, tool_id }) => [tool_name as string, tool_id]));
  const byName = new Map<string, PlacedTool[]>();
  for (const tool of found) {
    const { tool_name } = tool.spec;
    byName.set(tool_name, [...(byName.get(tool_name) ?? []), tool]);
  }
  return found.flatMap((tool): readonly CatalogFault[] => {
    const { name, file, spec } = tool;
    const at = `${tool.at}${tool.kind === 'tool' ? '/tool_name' : '/name'}`;
    const taken = own.get(spec.tool_name);
    if (taken !== undefined)
      return [{ file, at, message: `"${name}" is the name of refold's own tool ${taken}; give the entry another one` }];
    const other = (byName.get(spec.tool_name) ?? []).find((one) => one !== tool);
    if (other === undefined) return [];
    return [
      {
        file,
        at,
        message: `"${name}" has the same name for models, ${spec.tool_name}, as an entry in ${other.file}; rename one`,
      },
    ];
  });
}

const byPlace = (a: CatalogFault, b: CatalogFault): number =>
  a.file === b.file ? (a.at < b.at ? -1 : a.at > b.at ? 1 : 0) : a.file < b.file ? -1 : 1;
