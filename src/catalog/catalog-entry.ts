// One entry of a catalog: September's shape (`name`, `description`, `input_schema`, `implementation`, `requires_permission`), or
// refold's own (`tool_name`, `executor`, and the other fields of a tool spec, each of which may be left out).
import { canonicalText } from '../../schemas/canonical.ts';
import { type ToolDefinition, defineTool } from '../../schemas/define-tool.ts';
import { type Json, type JsonObject, isPlainObject } from '../../schemas/json.ts';
import { CALL_TIMEOUT_MS_MAX, DESCRIPTION_CHARS_MAX, OUTPUT_BYTES_MAX } from '../../schemas/limits.ts';
import { pointerSegment } from '../../schemas/rejection.ts';
import { ToolSpec } from '../../schemas/tool-spec.ts';
import { nameWithin } from '../files/tool-names.ts';
import { defaultToolPackage } from '../toolsets/default-package.ts';
import type { DefinedTool } from '../skills/skill-tools.ts';
import { type EntryFault, type FieldReader, readFields } from './field-reader.ts';
import { type Implementation, type KnownSkills, readImplementation } from './implementations.ts';

/** The name of the toolset, with which the ids of its tools begin. */
const CATALOG_TOOLSET = 'catalog';

/** The tool of an entry. */
export interface CatalogTool extends DefinedTool {
  /** What the entry calls it. */
  readonly name: string;
  readonly kind: 'platform' | 'skill' | 'mcp' | 'tool';
}

/** The tool of an entry, or everything that is wrong with it. `base`: the JSON path of the entry in its file. */
export function readEntry(value: Json, base: string, skills: KnownSkills): CatalogTool | readonly EntryFault[] {
  if (!isPlainObject(value)) return [{ at: base, message: 'must be an object: an entry of a catalog' }];
  const entry = readFields(value, base);
  const own = entry.get('executor') !== undefined || entry.get('tool_name') !== undefined;
  const tool = own ? ownEntry(value, entry) : septemberEntry(value, entry, skills);
  return tool ?? entry.faults;
}

const SEPTEMBER = [
  'name',
  'description',
  'input_schema',
  'implementation',
  'requires_permission',
  'timeout_ms',
  'output_bytes_max',
];

const NAME = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/;
const NAME_CHARS_MAX = 100;

function septemberEntry(value: JsonObject, entry: FieldReader, skills: KnownSkills): CatalogTool | null {
  entry.only(SEPTEMBER, 'an entry of a catalog');
  const name = entry.text('name', NAME_CHARS_MAX);
  if (name !== null && !NAME.test(name))
    entry.fault(
      '/name',
      `must be parts of A-Z, a-z, 0-9, "_" and "-" with dots between them, not ${JSON.stringify(name)}`,
    );
  const description = entry.text('description', DESCRIPTION_CHARS_MAX - 256);
  const asks = entry.optionalFlag('requires_permission');
  const given = entry.objectSchema('input_schema');
  const implementation = readImplementation(entry, skills);
  if (implementation === null) {
    if (entry.get('input_schema') === undefined) entry.fault('/input_schema', 'is required');
    return null;
  }
  if (given !== undefined) implementation.checkSchema(given, entry);
  const input_schema = given ?? implementation.input_schema;
  if (input_schema === undefined && entry.get('input_schema') === undefined)
    entry.fault('/input_schema', 'is required');
  const bounds = boundsOf(entry, implementation);
  if (entry.faults.length > 0 || name === null || description === null || input_schema === undefined) return null;
  const { kind, fields } = implementation;
  const tool_name = nameWithin(name);
  const spec = defineTool({
    ...fields,
    ...bounds,
    ...(asks === true ? { permission_policy: 'always_ask' as const } : {}),
    tool_id: `${CATALOG_TOOLSET}.${kind}.${name}`,
    tool_name,
    description: tool_name === name ? description : `${description}\n\nIts name elsewhere: ${name}`,
    input_schema: kind === 'platform' ? { additionalProperties: false, ...input_schema } : input_schema,
  });
  return { name, kind, spec, definition: definitionOf(value, spec) };
}

/** An entry may allow less time and less output than what it names, and not more. */
function boundsOf(entry: FieldReader, { bounds }: Implementation): Partial<ToolDefinition> {
  const timeout_ms = entry.optionalWhole('timeout_ms', bounds.timeout_ms ?? CALL_TIMEOUT_MS_MAX);
  const output_bytes_max = entry.optionalWhole('output_bytes_max', bounds.output_bytes_max ?? OUTPUT_BYTES_MAX);
  return {
    ...(timeout_ms === undefined ? {} : { timeout_ms }),
    ...(output_bytes_max === undefined ? {} : { output_bytes_max }),
  };
}

/** Everything that is said of a tool, and what it became. */
const definitionOf = (source: JsonObject, spec: ToolSpec): string =>
  canonicalText({ source, tool: spec as unknown as Json });

const SPEC_FIELDS = Object.keys((ToolSpec.jsonSchema['properties'] ?? {}) as object);
/** Most faults that are looked for in one entry of refold's own shape: each takes a walk over its fields. */
const FAULTS_LOOKED_FOR = 32;

function ownEntry(value: JsonObject, entry: FieldReader): CatalogTool | null {
  entry.only(
    SPEC_FIELDS.filter((field) => field !== 'tool_ref'),
    'a tool',
  );
  const name = entry.text('tool_name', 64);
  const description = entry.text('description', DESCRIPTION_CHARS_MAX);
  const input_schema = entry.objectSchema('input_schema');
  if (entry.get('input_schema') === undefined) entry.fault('/input_schema', 'is required');
  const id = entry.get('tool_id') ?? `${CATALOG_TOOLSET}.tool.${name ?? ''}`;
  if (typeof id !== 'string' || !id.startsWith(`${CATALOG_TOOLSET}.`))
    entry.fault('/tool_id', `must begin with "${CATALOG_TOOLSET}.", or be left out`);
  checkExecutor(entry);
  if (entry.faults.length > 0 || name === null || description === null || input_schema === undefined) return null;
  const spec = defineTool({
    ...(value as Partial<ToolDefinition>),
    tool_id: id as string,
    tool_name: name,
    description,
    input_schema,
  });
  for (const { at, message } of specFaults(spec)) entry.fault(at, message);
  return entry.faults.length > 0 ? null : { name, kind: 'tool', spec, definition: definitionOf(value, spec) };
}

function checkExecutor(entry: FieldReader): void {
  const executor = entry.get('executor');
  if (executor === undefined) entry.fault('/executor', 'is required: what settles a call, such as {"kind":"custom"}');
  else if (isPlainObject(executor) && executor['kind'] === 'workflow')
    entry.fault('/executor/kind', 'must not be "workflow"; name the tool of refold with "implementation"');
  else if (isPlainObject(executor) && isOwnEffect(executor['effect_kind']))
    entry.fault(
      '/executor/effect_kind',
      'is a tool of refold; name it with "implementation", so that it keeps its mode and its questions',
    );
}

/** What it may do is known, and no entry says it otherwise. */
const isOwnEffect = (kind: Json | undefined): boolean =>
  defaultToolPackage().registry.some(({ executor }) => executor.kind === 'effect' && executor.effect_kind === kind);

/** The faults of all fields: each that is wrong is left out, and the rest is looked at again. */
function specFaults(spec: ToolSpec): readonly EntryFault[] {
  const plain = defineTool({
    tool_id: 'catalog.x',
    tool_name: 'x',
    description: 'x',
    input_schema: { type: 'object' },
  });
  const faults: EntryFault[] = [];
  let at: Readonly<Record<string, unknown>> = spec;
  for (let looked = 0; looked < FAULTS_LOOKED_FOR; looked += 1) {
    const fault = ToolSpec.faultOf(at);
    const [field] = fault?.path ?? [];
    if (fault === null || field === undefined) break;
    faults.push({ at: fault.path.map((key) => pointerSegment(key)).join(''), message: fault.message });
    at = { ...at, [field]: (plain as Readonly<Record<string, unknown>>)[field] };
    if (at[field] === undefined) at = Object.fromEntries(Object.entries(at).filter(([key]) => key !== field));
  }
  return faults;
}
