// A tool package for tests: one tool for each kind of parallelism. Only one of them needs a host session.
import { type ToolPackage, type ToolSpec, brand, defineTool } from '../../schemas/index.ts';

type Definition = Parameters<typeof defineTool>[0];
type ClaimRule = NonNullable<ToolSpec['parallelism_hint']['claims']>[number];

/** A tool that accepts any arguments; its id is its name unless given. */
export const tool = (tool_name: string, rest: Partial<Definition> = {}): ToolSpec =>
  defineTool({ tool_id: tool_name, tool_name, description: `The tool ${tool_name}.`, input_schema: {}, ...rest });

const rule = (
  access: ClaimRule['access'],
  form: ClaimRule['form'] = 'path',
  argument = 'path',
): ToolSpec['parallelism_hint'] => ({ parallel_safe: true, claims: [{ space: 'fs', argument, form, access }] });

export const READ = tool('read', {
  open_world: false,
  read_only: true,
  destructive: false,
  parallelism_hint: rule('read'),
});
export const WRITE = tool('write', { parallelism_hint: rule('write') });
/** Reads `from` and writes `to`: one call, two claims. */
const COPY = tool('copy', {
  parallelism_hint: {
    parallel_safe: true,
    claims: [
      { space: 'fs', argument: 'from', form: 'path', access: 'read' },
      { space: 'fs', argument: 'to', form: 'path', access: 'write' },
    ],
  },
});
/** Writes every path in its patch. */
const PATCH = tool('patch', { parallelism_hint: rule('write', 'patch', 'patch') });
const TOPIC = tool('topic', { parallelism_hint: rule('write', 'text', 'topic') });
/** Parallel-safe and claims nothing. */
export const FREE = tool('free', { parallelism_hint: { parallel_safe: true }, idempotent: true });
/** Like `free`, but must not run twice. */
export const ONCE = tool('once', { parallelism_hint: { parallel_safe: true }, interrupt_behavior: 'cancel' });
export const KEYED = tool('keyed', { parallelism_hint: { parallel_safe: true, resource_key: 'queue/main' } });
/** Not parallel-safe: it runs alone. */
export const BARRIER = tool('barrier');
export const HOSTED = tool('hosted', {
  parallelism_hint: { parallel_safe: true },
  availability_rules: ['host_session_ready'],
});
/** Asks a person, under any policy for its mode. */
export const ASKS = tool('asks', { parallelism_hint: { parallel_safe: true }, permission_policy: 'always_ask' });
/** A person fulfils it. */
export const PERSON = tool('person', {
  parallelism_hint: { parallel_safe: true },
  ownership: 'custom',
  executor: { kind: 'custom' },
});
const WORKFLOW = tool('workflow', { executor: { kind: 'workflow', workflow: 'none-yet' } });
/** Registered, but in no profile. */
export const SPARE = tool('spare', { parallelism_hint: { parallel_safe: true } });

const PROFILE_TOOLS: readonly ToolSpec[] = [
  READ,
  WRITE,
  COPY,
  PATCH,
  TOPIC,
  FREE,
  ONCE,
  KEYED,
  BARRIER,
  HOSTED,
  WORKFLOW,
  ASKS,
  PERSON,
];

export const profileOf = (id: string, tools: readonly ToolSpec[]): ToolPackage['profiles'][number] => ({
  profile_id: brand<'ProfileId'>(id),
  tool_ids: tools.map((entry) => entry.tool_id),
});

export const testPackage = (): ToolPackage => ({
  registry: [...PROFILE_TOOLS, SPARE],
  profiles: [profileOf('all', PROFILE_TOOLS), profileOf('few', [WRITE, READ])],
  provider_profiles: [{ provider_contains: '', profile_id: brand<'ProfileId'>('all') }],
});
