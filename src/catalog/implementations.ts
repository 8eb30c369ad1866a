// What runs an entry of September's shape: its `implementation`. An entry of a tool of refold is that tool under another name, with
// another description and perhaps a narrower schema: it has the same mode, claims and rules, and never fewer questions.
import type { ToolDefinition } from '../../schemas/define-tool.ts';
import { Digest, type Digest as DigestType } from '../../schemas/ids.ts';
import { type Json, type JsonObject, isPlainObject } from '../../schemas/json.ts';
import { pointerSegment } from '../../schemas/rejection.ts';
import type { ToolSpec } from '../../schemas/tool-spec.ts';
import type { Skill } from '../skills/read-skills.ts';
import { RUNS_IN_SANDBOX } from '../skills/skill-tools.ts';
import { defaultToolPackage } from '../toolsets/default-package.ts';
import { type FieldReader, readFields } from './field-reader.ts';

export type ImplementationKind = 'platform' | 'skill' | 'mcp';

/** What an implementation says of the tool of its entry. */
export interface Implementation {
  readonly kind: ImplementationKind;
  /** The schema of the arguments, for an entry that gives none. */
  readonly input_schema: JsonObject | undefined;
  /** The longest time and output that an entry may give. */
  readonly bounds: { readonly timeout_ms?: number; readonly output_bytes_max?: number };
  readonly fields: Partial<ToolDefinition>;
  /** Faults of a schema that the entry gives. */
  readonly checkSchema: (schema: JsonObject, entry: FieldReader) => void;
}

/** The skills that a catalog can name, by name. */
export type KnownSkills = ReadonlyMap<string, Skill>;

export function readImplementation(entry: FieldReader, skills: KnownSkills): Implementation | null {
  const given = entry.get('implementation');
  if (!isPlainObject(given)) {
    entry.fault('/implementation', given === undefined ? 'is required' : 'must be an object with "kind" and "ref"');
    return null;
  }
  const reader = readFields(given, '');
  const kind = reader.get('kind');
  const made = typeof kind === 'string' && Object.hasOwn(KINDS, kind) ? KINDS[kind as ImplementationKind] : null;
  if (made === null) reader.fault('/kind', 'must be "platform", "skill" or "mcp"');
  const implementation = made?.(reader, skills) ?? null;
  for (const { at, message } of reader.faults) entry.fault(`/implementation${at}`, message);
  return reader.faults.length > 0 ? null : implementation;
}

const KINDS: Readonly<Record<ImplementationKind, (reader: FieldReader, skills: KnownSkills) => Implementation | null>> =
  { platform, skill, mcp };

/** Names of platform tools that refold's own names do not say. */
const OTHER_NAMES: Readonly<Record<string, string>> = { bash: 'host.exec' };

/** A tool of refold by its tool id, its effect kind, or its name. */
function platformTool(ref: string): ToolSpec | null {
  const wanted = Object.hasOwn(OTHER_NAMES, ref) ? OTHER_NAMES[ref] : ref;
  const found = defaultToolPackage().registry.find(
    ({ tool_id, tool_name, executor }) =>
      tool_id === wanted || tool_name === wanted || (executor.kind === 'effect' && executor.effect_kind === wanted),
  );
  // Sessions of the host are opened and closed by refold's own tools alone, and the fold answers calls of its workflows itself.
  if (found === undefined || found.executor.kind === 'workflow') return null;
  return found.tool_id.startsWith('host.session.') ? null : found;
}

function platform(reader: FieldReader): Implementation | null {
  reader.only(['kind', 'ref'], 'an implementation by the platform');
  const ref = reader.text('ref', 128);
  if (ref === null) return null;
  const tool = platformTool(ref);
  if (tool === null) {
    const known = defaultToolPackage().registry.map(({ tool_name }) => tool_name);
    const usable = known.filter((name) => platformTool(name) !== null).join(', ');
    reader.fault('/ref', `refold has no tool "${ref}" for a catalog; name one of ${usable}`);
    return null;
  }
  const { tool_id: _id, tool_name: _name, tool_ref: _ref, description: _text, input_schema, ...fields } = tool;
  return {
    kind: 'platform',
    input_schema,
    bounds: { timeout_ms: tool.timeout_ms, output_bytes_max: tool.output_bytes_max },
    fields,
    checkSchema: (schema, entry) => checkArguments(schema, tool, entry),
  };
}

/** The command of a shell line, as `bash` takes it, in place of a list of arguments: see `platformArguments` of `bridge/executors`. */
const SHELL_LINE = 'command';

/** An entry may leave out arguments of its tool, and may give none that the tool does not know. */
function checkArguments(schema: JsonObject, tool: ToolSpec, entry: FieldReader): void {
  const at = '/input_schema';
  const given = Object.keys(isPlainObject(schema['properties']) ? schema['properties'] : {});
  const known = Object.keys(isPlainObject(tool.input_schema['properties']) ? tool.input_schema['properties'] : {});
  const required: readonly Json[] = Array.isArray(schema['required']) ? (schema['required'] as readonly Json[]) : [];
  const isShell = tool.tool_id === 'host.exec' && given.includes(SHELL_LINE);
  const wanted = isShell
    ? [SHELL_LINE]
    : ((Array.isArray(tool.input_schema['required']) ? tool.input_schema['required'] : []) as readonly string[]);
  const allowed = isShell ? [...known.filter((name) => name !== 'argv'), SHELL_LINE] : known;
  for (const name of given.filter((field) => !allowed.includes(field)))
    entry.fault(
      `${at}/properties${pointerSegment(name)}`,
      `is no argument of ${tool.tool_name}, which takes ${allowed.join(', ')}; remove it`,
    );
  for (const name of wanted.filter((field) => !required.includes(field)))
    entry.fault(`${at}/required`, `must name "${name}", without which ${tool.tool_name} cannot run`);
  if (schema['additionalProperties'] !== undefined && schema['additionalProperties'] !== false)
    entry.fault(`${at}/additionalProperties`, `must be false: ${tool.tool_name} takes no other arguments`);
}

function skill(reader: FieldReader, skills: KnownSkills): Implementation | null {
  reader.only(['kind', 'ref', 'digest'], 'an implementation by a skill');
  const ref = reader.text('ref', 64);
  const given = reader.get('digest');
  if (given !== undefined && !Digest.is(given))
    reader.fault('/digest', 'must be the digest of the folder of the skill, as refold skills list prints it');
  if (ref === null || reader.faults.length > 0) return null;
  const known = skills.get(ref);
  const digest = known?.digest ?? (given as DigestType | undefined);
  if (digest === undefined) {
    const where = 'put its folder into skills/ of the catalog, or give its digest, which refold skills list prints';
    reader.fault('/ref', `there is no skill "${ref}" in the catalog; ${where}`);
    return null;
  }
  if (given !== undefined && digest !== given)
    reader.fault('/digest', `is not that of the skill "${ref}" in the catalog, which is ${digest}`);
  if (known?.command === null)
    reader.fault('/ref', `the skill "${ref}" has no "run" and "input_schema"; add both to its SKILL.md`);
  const times = timesOf(known);
  return {
    kind: 'skill',
    input_schema: known?.command?.input_schema,
    bounds: times,
    fields: { ...RUNS_IN_SANDBOX, ...times, executor: { kind: 'skill', skill: ref, digest } },
    checkSchema: () => undefined,
  };
}

const timesOf = (known: Skill | undefined): { readonly timeout_ms?: number } =>
  known?.command === undefined || known.command === null ? {} : { timeout_ms: known.command.timeout_ms };

const SERVER = /^[a-z0-9][a-z0-9_-]{0,31}$/;

/** `ref`: `{ "server", "tool" }`, or `server.tool`. */
function mcp(reader: FieldReader): Implementation | null {
  reader.only(['kind', 'ref'], 'an implementation by an MCP server');
  const ref = reader.get('ref');
  const dotted = typeof ref === 'string' ? /^([^.]+)\.(.+)$/.exec(ref) : null;
  const [server, tool] = isPlainObject(ref)
    ? [ref['server'], ref['tool'] ?? ref['action']]
    : [dotted?.[1], dotted?.[2]];
  if (typeof server !== 'string' || !SERVER.test(server))
    reader.fault(
      '/ref/server',
      'must be the name of a server in the MCP configuration: 1 to 32 of a-z, 0-9, "_" and "-"',
    );
  if (typeof tool !== 'string' || !/^[\x21-\x7e]{1,128}$/.test(tool))
    reader.fault('/ref/tool', 'must be the name of a tool of the server');
  if (reader.faults.length > 0) return null;
  return {
    kind: 'mcp',
    input_schema: undefined,
    bounds: {},
    fields: { executor: { kind: 'mcp', server: server as string, tool: tool as string }, ownership: 'mcp' },
    checkSchema: () => undefined,
  };
}
