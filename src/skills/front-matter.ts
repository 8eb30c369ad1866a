// The head of a SKILL.md: YAML between two lines of three hyphens (Agent Skills, "SKILL.md format"), and refold's own fields
// `input_schema`, `run` and `timeout_ms`. Only plain YAML of the core schema is read (YAML 1.2.2, section 10.3): no aliases, no
// tags, no repeated keys, so that a head means to every reader what it shows.
import { type Document, LineCounter, isAlias, isScalar, parseDocument, visit } from 'yaml';
import { type JsonObject, isJson, isPlainObject } from '../../schemas/json.ts';
import {
  ARGV_BYTES_MAX,
  CALL_TIMEOUT_MS_DEFAULT,
  EXEC_TIMEOUT_MS_MAX,
  SKILL_DESCRIPTION_CHARS_MAX,
  SKILL_FRONT_MATTER_CHARS_MAX,
  SKILL_NAME_CHARS_MAX,
  SKILL_RUN_MAX,
} from '../../schemas/limits.ts';
import { hiddenCharacter } from './hidden-characters.ts';

/** What is wrong in a file, and where: the JSON path of a field (RFC 6901), empty for the whole. */
export interface FieldFault {
  readonly at: string;
  readonly message: string;
}

/** What a skill runs as a tool. */
export interface SkillCommand {
  readonly input_schema: JsonObject;
  /** The program and its arguments, in the folder of the skill. */
  readonly run: readonly string[];
  readonly timeout_ms: number;
}

export interface SkillHead {
  readonly name: string;
  readonly description: string;
  /** All fields, also those that refold does not use. */
  readonly fields: JsonObject;
  /** Null for a skill that is only read. */
  readonly command: SkillCommand | null;
}

export interface SplitText {
  readonly head: string;
  /** What follows the head: the instructions. */
  readonly body: string;
}

/** Splits a SKILL.md at the lines of three hyphens. */
export function splitFrontMatter(text: string): SplitText | FieldFault {
  const lines = /^---[ \t]*\r?\n/.exec(text);
  if (lines === null)
    return { at: '', message: 'must begin with a line of three hyphens, then the fields, then another' };
  const rest = text.slice(lines[0].length);
  const end = /^---[ \t]*(?:\r?\n|$)/m.exec(rest.slice(0, SKILL_FRONT_MATTER_CHARS_MAX + 8));
  if (end === null) {
    const long = rest.length > SKILL_FRONT_MATTER_CHARS_MAX;
    return {
      at: '',
      message: long
        ? `has no end of its fields within ${SKILL_FRONT_MATTER_CHARS_MAX} characters; add a line of three hyphens after them`
        : 'has no end of its fields; add a line of three hyphens after them',
    };
  }
  return { head: rest.slice(0, end.index), body: rest.slice(end.index + end[0].length) };
}

/** The fields of a head. A list of faults when there are any. */
export function readSkillHead(text: string, folder: string): SkillHead | readonly FieldFault[] {
  const fields = parseFields(text);
  if (typeof fields === 'string') return [{ at: '', message: fields }];
  const faults = [
    ...nameFaults(fields['name'], folder),
    ...descriptionFaults(fields['description']),
    ...commandFaults(fields),
  ];
  if (faults.length > 0) return faults;
  const { name, description, input_schema, run, timeout_ms = CALL_TIMEOUT_MS_DEFAULT } = fields;
  const command = run === undefined ? null : ({ input_schema, run, timeout_ms } as unknown as SkillCommand);
  return { name: name as string, description: (description as string).trim(), fields, command };
}

function parseFields(text: string): JsonObject | string {
  if (/^(?:\.\.\.|%)/m.test(text)) return 'has a directive or an end of document; leave both out';
  if (nestsDeeply(text)) return `has more than ${BRACKETS_OPEN_MAX} brackets open at a time; simplify it`;
  const lineCounter = new LineCounter();
  try {
    const document = parseDocument(text, { ...PLAIN, lineCounter });
    const [first] = [...document.errors, ...document.warnings];
    if (first !== undefined) {
      const { line } = lineCounter.linePos(first.pos[0]);
      return `is no plain YAML in line ${line + 1}: ${firstLine(first.message)}`;
    }
    const odd = findOdd(document);
    if (odd !== null) return odd;
    const value: unknown = document.toJS({ maxAliasCount: 0 });
    if (!isPlainObject(value)) return 'must hold fields, such as "name: my-skill"';
    return isJson(value) ? value : 'holds a value that JSON does not have, such as .nan; remove it';
  } catch (error) {
    // Nesting that exhausts the stack.
    return `is no YAML that can be read (${error instanceof Error ? error.name : 'unknown'}); simplify it`;
  }
}

/** No field needs more; what nests without end costs the reader of YAML much more than its length. */
const BRACKETS_OPEN_MAX = 256;

/** Counts brackets wherever they stand, because it takes a reader of YAML to know which are text. */
function nestsDeeply(text: string): boolean {
  let open = 0;
  for (const [bracket] of text.matchAll(/[[\]{}]/g)) {
    open += bracket === '[' || bracket === '{' ? 1 : -1;
    if (open > BRACKETS_OPEN_MAX) return true;
    if (open < 0) open = 0;
  }
  return false;
}

const PLAIN = {
  schema: 'core',
  version: '1.2',
  merge: false,
  // Compares each key with all others; findOdd does it in one pass.
  uniqueKeys: false,
  stringKeys: true,
  prettyErrors: false,
  logLevel: 'silent',
} as const;

/** An alias, a tag or a repeated key: a head with them says more than it shows. */
function findOdd(document: Document.Parsed): string | null {
  let found: string | null = null;
  visit(document, {
    Map(_key, { items }) {
      const names = items.map(({ key }) => nameOf(key));
      const known = new Set<unknown>();
      const twice = names.find((name) => known.size === known.add(name).size);
      if (twice !== undefined) found = `has the field ${JSON.stringify(twice)} twice, and names are unique; remove one`;
      return found === null ? undefined : visit.BREAK;
    },
    Node(_key, node) {
      if (isAlias(node)) found = `has the alias *${node.source}; write the value out`;
      else if (node.anchor !== undefined) found = `has the anchor &${node.anchor}; write the value out`;
      else if (node.tag !== undefined) found = `has the tag ${node.tag}; leave it out`;
      return found === null ? undefined : visit.BREAK;
    },
    Pair(_key, { key }) {
      if (nameOf(key) === '__proto__') found = 'has a field that is named __proto__; rename it';
      return found === null ? undefined : visit.BREAK;
    },
  });
  return found;
}

const nameOf = (key: unknown): unknown => (isScalar(key) ? key.value : key);

const firstLine = (message: string): string => message.split('\n')[0]?.slice(0, 200) ?? '';

const NAME = /^[a-z0-9-]+$/;

function nameFaults(name: unknown, folder: string): readonly FieldFault[] {
  const at = '/name';
  if (typeof name !== 'string') return [{ at, message: 'is required: 1 to 64 of a to z, 0 to 9 and "-"' }];
  if (!NAME.test(name) || name.length > SKILL_NAME_CHARS_MAX)
    return [
      { at, message: `must be 1 to ${SKILL_NAME_CHARS_MAX} of a to z, 0 to 9 and "-", not ${JSON.stringify(name)}` },
    ];
  return name === folder
    ? []
    : [{ at, message: `is "${name}", and the folder is "${folder}"; give both the same name` }];
}

function descriptionFaults(description: unknown): readonly FieldFault[] {
  const at = '/description';
  if (typeof description !== 'string' || description.trim() === '')
    return [{ at, message: 'is required: what the skill does, and when to use it' }];
  if (description.length > SKILL_DESCRIPTION_CHARS_MAX)
    return [
      { at, message: `has ${description.length} characters; at most ${SKILL_DESCRIPTION_CHARS_MAX} are allowed` },
    ];
  const hidden = hiddenCharacter(description);
  return hidden === null
    ? []
    : [{ at, message: `has the character ${hidden}, which a reader does not see; remove it` }];
}

function commandFaults({ input_schema, run, timeout_ms }: JsonObject): readonly FieldFault[] {
  const faults: FieldFault[] = [];
  const fault = (at: string, message: string): void => void faults.push({ at, message });
  if (run === undefined && input_schema === undefined) {
    if (timeout_ms !== undefined) fault('/timeout_ms', 'stands alone; add run and input_schema, or remove it');
    return faults;
  }
  if (run === undefined) fault('/run', 'is missing beside input_schema; give the command, or remove input_schema');
  else if (!isCommand(run))
    fault('/run', `must be a list of 1 to ${SKILL_RUN_MAX} strings without NUL: the program and its arguments`);
  if (input_schema === undefined)
    fault('/input_schema', 'is missing beside run; give the JSON Schema of the arguments, or remove run');
  else if (!isPlainObject(input_schema) || input_schema['type'] !== 'object')
    fault('/input_schema', 'must be a JSON Schema with "type: object"');
  const isTime =
    Number.isSafeInteger(timeout_ms) && Number(timeout_ms) >= 1 && Number(timeout_ms) <= EXEC_TIMEOUT_MS_MAX;
  if (timeout_ms !== undefined && !isTime)
    fault('/timeout_ms', `must be a whole number of milliseconds from 1 to ${EXEC_TIMEOUT_MS_MAX}`);
  return faults;
}

const isCommand = (run: unknown): boolean =>
  Array.isArray(run) &&
  run.length >= 1 &&
  run.length <= SKILL_RUN_MAX &&
  run.every((part) => typeof part === 'string' && part.isWellFormed() && !part.includes('\0')) &&
  run[0] !== '' &&
  run.join('\0').length <= ARGV_BYTES_MAX;
