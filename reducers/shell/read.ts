// Finds the read-only call that returns the same as a shell command, for the commands of one table (READERS). A command
// that is not in the table has no alternative, and neither has one whose answer no read-only tool gives: a detailed
// listing, the last lines of a file, folders found by name. Pure: it looks at no file, so a call that a tool refuses
// (a link, a folder in place of a file) is still refused when it is made. This file reads commands and decides which
// operation they are; which tool does an operation is in read-table.ts.
import type { Json, JsonObject } from '../../schemas/json.ts';
import { PATTERN_CHARS_MAX, SHELL_LINES_MAX } from '../../schemas/limits.ts';
import { type ReadOperation, type RuleSet, ruleText } from '../rules/rule-set.ts';
import type { ReadParameters } from './read-table.ts';
import { type ShellWord, isPlain, splitShellLine, wordsOf } from './words.ts';

/** A call that may be made instead of the command. */
export interface ReadAlternative {
  readonly tool_id: string;
  readonly arguments: JsonObject;
  /** One sentence for the model: what the call returns, and what it leaves out. */
  readonly why: string;
}

/**
 * Where the command would run, and by which rules. An absolute path has a meaning only where the path of the workspace is
 * known.
 */
interface Place {
  readonly rules: RuleSet;
  readonly cwd: readonly string[];
  readonly workspace: string | undefined;
}

/**
 * The read-only call that returns the same as this command: a list of arguments (of `["bash", "-c", line]` the line is
 * read) or a shell line. `cwd` is the folder it runs in, `workspace` the absolute path of the workspace. Null when
 * there is no such call.
 */
export function readAlternative(
  rules: RuleSet,
  command: string | readonly string[],
  cwd = '.',
  workspace?: string,
): ReadAlternative | null {
  const words = typeof command === 'string' ? splitShellLine(command) : commandWords(command);
  const [program, ...rest] = words ?? [];
  if (program === undefined || !Object.hasOwn(READERS, program.text)) return null;
  const names = namesOf({ text: cwd, quoted: true }, { cwd: [], workspace, rules });
  return names === null ? null : (READERS[program.text]?.(rest, { cwd: names, workspace, rules }) ?? null);
}

/** The words of a command; for `sh -c LINE`, those of the line. */
function commandWords(argv: readonly string[]): readonly ShellWord[] | null {
  const [shell = '', flag = '', line = ''] = argv;
  if (!/^(?:\/bin\/|\/usr\/bin\/)?(?:ba)?sh$/.test(shell)) return wordsOf(argv);
  return argv.length === 3 && /^-l?c$/.test(flag) ? splitShellLine(line) : null;
}

type Reader = (words: readonly ShellWord[], place: Place) => ReadAlternative | null;

// `permissions_check` reports what these functions find, and its answer is recorded in the fold. A change of what they find
// belongs to a new rule set; test/golden/rules.json holds what they find for a corpus of commands.
const READERS: Readonly<Record<string, Reader>> = {
  cat: ([file, ...more], place) =>
    more.length > 0 ? null : readWhole(file, place, ruleText(place.rules, 'alternative.file', {})),
  head: readHead,
  sed: readLines,
  wc: countBytes,
  ls: listFolder,
  find: findFiles,
  grep: (words, place) => searchText(words, place, GREP),
  rg: (words, place) => searchText(words, place, RIPGREP),
};

type Parameters<O extends ReadOperation> = { readonly [Name in ReadParameters<O>]?: Json };

/** The call that does an operation, with the parameters under the names that the tool has for them. */
function callFor<O extends ReadOperation>(
  { rules }: Place,
  operation: O,
  parameters: Parameters<O>,
  why: string,
): ReadAlternative {
  const { tool_id, names, fixed } = rules.shellReads.reads[operation];
  const given = Object.entries<Json>(parameters as JsonObject).map(([name, value]) => [names[name] as string, value]);
  return { tool_id, arguments: { ...Object.fromEntries(given), ...fixed }, why };
}

function readWhole(
  file: ShellWord | undefined,
  place: Place,
  why: string,
  more: Parameters<'readText'> = {},
): ReadAlternative | null {
  const path = filePath(file, place);
  return path === null ? null : callFor(place, 'readText', { path, ...more }, why);
}

/** `head F`, `head -n N F`, `head -N F`, and `head -c N F`, which a read can do exactly. */
function readHead(words: readonly ShellWord[], place: Place): ReadAlternative | null {
  const file = words.at(-1);
  const { unit, count } = headCount(words.slice(0, -1).map(({ text }) => text));
  if (count === null) return null;
  const why = (key: 'alternative.first_bytes' | 'alternative.first_lines') => ruleText(place.rules, key, { count });
  if (unit === 'c') return readWhole(file, place, why('alternative.first_bytes'), { bytesMax: count });
  if (count > SHELL_LINES_MAX) return null;
  return readWhole(file, place, why('alternative.first_lines'));
}

function headCount(options: readonly string[]): { readonly unit: string; readonly count: number | null } {
  if (options.length === 0) return { unit: 'n', count: 10 };
  // One word (`-n5`, `-5`), or an option and its number.
  const [, unit = 'n', digits = options.length === 2 ? options[1] : undefined] =
    /^-([nc])?(\d+)?$/.exec(options[0] ?? '') ?? [];
  const alone = options.length === 1 || /^-[nc]$/.test(options[0] ?? '');
  const isValid = alone && options.length <= 2 && /^[1-9]\d{0,8}$/.test(digits ?? '');
  return { unit, count: isValid ? Number(digits) : null };
}

/** `sed -n A,Bp F`. */
function readLines([flag, range, file, ...more]: readonly ShellWord[], place: Place): ReadAlternative | null {
  const [, from, to] = /^([1-9]\d{0,8}),([1-9]\d{0,8})p$/.exec(range?.text ?? '') ?? [];
  const [first, last] = [Number(from), Number(to)];
  if (flag?.text !== '-n' || more.length > 0 || !(first <= last) || last > SHELL_LINES_MAX) return null;
  return readWhole(file, place, ruleText(place.rules, 'alternative.lines', { first, last }));
}

/** `wc -c F`. No read-only tool counts lines or words. */
function countBytes([flag, file, ...more]: readonly ShellWord[], place: Place): ReadAlternative | null {
  const path = filePath(file, place);
  if (flag?.text !== '-c' || more.length > 0 || path === null) return null;
  return callFor(place, 'readSize', { path }, ruleText(place.rules, 'alternative.size', {}));
}

/** `ls [-a -A -1] [D]`. With `-l` it prints owners, modes and times, which no read-only tool returns. */
function listFolder(words: readonly ShellWord[], place: Place): ReadAlternative | null {
  const { flags, rest } = takeFlags(words, /^-[aA1]+$/);
  const [folder, ...more] = rest;
  const path = folderPath(folder, place);
  if (flags === null || more.length > 0 || path === null) return null;
  return callFor(place, 'listFolder', unlessWorkspace(path), ruleText(place.rules, 'alternative.folder', {}));
}

/** `find [D] -type f -name PATTERN`, the two tests in any order. Without `-type f` it finds folders too. */
function findFiles(words: readonly ShellWord[], place: Place): ReadAlternative | null {
  const tests = [...words];
  const folder = tests[0]?.text.startsWith('-') === true ? undefined : tests.shift();
  // find reads these as operators, quoted or not.
  const path = /^[!(),]/.test(folder?.text ?? '') ? null : folderPath(folder, place);
  const given = new Map<string, ShellWord>();
  for (let index = 0; index + 1 < tests.length; index += 2) {
    given.set((tests[index] as ShellWord).text, tests[index + 1] as ShellWord);
  }
  const name = nameGlob(given.get('-name')?.text);
  if (path === null || name === null || tests.length !== 4 || given.get('-type')?.text !== 'f') return null;
  const why = ruleText(place.rules, 'alternative.find', {});
  return callFor(place, 'findFiles', { pattern: `**/${name}`, ...unlessWorkspace(path) }, why);
}

interface SearchProgram {
  readonly flags: RegExp;
  /** It searches folders without a flag for it. */
  readonly recursive: boolean;
  readonly dialect: 'basic' | 'extended';
  /** What a search of a folder returns. */
  readonly why: 'alternative.grep' | 'alternative.ripgrep';
}

const GREP: SearchProgram = {
  flags: /^(?:-[niFErRH]+|--include=.+)$/,
  recursive: false,
  dialect: 'basic',
  why: 'alternative.grep',
};
const RIPGREP: SearchProgram = {
  flags: /^-[niFH]+$/,
  recursive: true,
  dialect: 'extended',
  why: 'alternative.ripgrep',
};

function searchText(words: readonly ShellWord[], place: Place, program: SearchProgram): ReadAlternative | null {
  const { flags, rest } = takeFlags(words, program.flags);
  const [query, target, ...more] = rest;
  if (flags === null || query === undefined || more.length > 0) return null;
  const letters = flags.filter((flag) => !flag.startsWith('--')).join('');
  const includes = flags
    .filter((flag) => flag.startsWith('--'))
    .map((flag) => nameGlob(flag.slice('--include='.length)));
  const ignoreCase = letters.includes('i');
  const recursive = program.recursive || /[rR]/.test(letters);
  const pattern = expressionOf(query.text, dialectOf(letters, program), ignoreCase);
  // Without -r, grep reads one file; without a file, its standard input.
  const path = recursive ? folderPath(target, place) : filePath(target, place);
  if (pattern === null || path === null || includes.length > (recursive ? 1 : 0) || includes.includes(null))
    return null;
  const filter = includes.map((fileGlob) => ({ fileGlob }))[0];
  return callFor(
    place,
    'searchText',
    { pattern, ...unlessWorkspace(path), ...filter, ...(ignoreCase ? { ignoreCase: true } : {}) },
    ruleText(place.rules, recursive ? program.why : 'alternative.search', {}),
  );
}

type Dialect = SearchProgram['dialect'] | 'fixed';

const dialectOf = (letters: string, { dialect }: SearchProgram): Dialect => {
  if (letters.includes('F')) return 'fixed';
  return letters.includes('E') ? 'extended' : dialect;
};

const MEANINGFUL = { basic: /[\\^$.*[\]]/, extended: /[\\^$.*+?()[\]{}]/, fixed: /$^/ } as const;

/**
 * The query as a regular expression that matches the same lines, for queries that every program reads alike: literal
 * text, literal text at the start of a line (`^text`), or one of several (`a|b`, extended).
 */
function expressionOf(query: string, dialect: Dialect, ignoreCase: boolean): string | null {
  // Outside of ASCII, programs differ in how they ignore case.
  if (/[\p{Cc}\u2028\u2029]/u.test(query) || (ignoreCase && !/^[ -~]*$/.test(query))) return null;
  const parts = dialect === 'extended' ? query.split('|') : [query];
  const expressions = parts.map((part) => {
    const anchor = dialect !== 'fixed' && part.startsWith('^') ? '^' : '';
    const text = part.slice(anchor.length);
    return text === '' || MEANINGFUL[dialect].test(text) ? null : anchor + escapeExpression(text);
  });
  const expression = expressions.join('|');
  return expressions.includes(null) || expression.length > PATTERN_CHARS_MAX ? null : expression;
}

const escapeExpression = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/** A pattern for one name that fnmatch(3) and the glob tool read alike: wildcards, and sets of plain characters. */
function nameGlob(pattern: string | undefined): string | null {
  if (pattern === undefined || pattern.length > PATTERN_CHARS_MAX || pattern.includes('**')) return null;
  return /^(?:[^[\]{}\\/\p{Cc}\u2028\u2029]|\[!?[A-Za-z0-9_.]+\])+$/u.test(pattern) ? pattern : null;
}

/** Leading flags, and the words after them; `flags` is null when one is unknown or follows another word. */
function takeFlags(
  words: readonly ShellWord[],
  known: RegExp,
): { readonly flags: readonly string[] | null; readonly rest: readonly ShellWord[] } {
  const first = words.findIndex(({ text }) => !text.startsWith('-'));
  const count = first === -1 ? words.length : first;
  const flags = words.slice(0, count).map(({ text }) => text);
  const rest = words.slice(count);
  const areKnown = flags.every((flag) => known.test(flag)) && rest.every(({ text }) => !text.startsWith('-'));
  return { flags: areKnown ? flags : null, rest };
}

/** A tool that gets no path searches the workspace. */
const unlessWorkspace = (path: string): { readonly path?: string } => (path === '.' ? {} : { path });

/** The path of a file, relative to the workspace; null when the word cannot be one. */
function filePath(word: ShellWord | undefined, place: Place): string | null {
  if (word === undefined || /(?:^|\/)\.{0,2}$/.test(word.text)) return null;
  const names = namesOf(word, place);
  return names === null || names.length === 0 ? null : names.join('/');
}

/** The path of a folder, relative to the workspace; without a word, the folder the command runs in. */
function folderPath(word: ShellWord | undefined, place: Place): string | null {
  const names = word === undefined ? place.cwd : namesOf(word, place);
  return names === null ? null : names.join('/') || '.';
}

/** The names on the way from the workspace to the path; null when the path is not plain or leads out of it. */
function namesOf(word: ShellWord, { cwd, workspace }: Place): readonly string[] | null {
  if (!isPlain(word) || word.text.startsWith('-')) return null;
  const absolute = word.text.startsWith('/');
  const root = workspace?.replace(/\/+$/, '') ?? '';
  if (absolute && (root === '' || !`${word.text}/`.startsWith(`${root}/`))) return null;
  const names = absolute ? [] : [...cwd];
  let climbing = !absolute;
  for (const part of (absolute ? word.text.slice(root.length) : word.text).split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') {
      names.push(part);
      climbing = false;
    } else if (!climbing || names.pop() === undefined) {
      // After a name, which may be a symbolic link, only the file system knows where ".." leads.
      return null;
    }
  }
  return names;
}
