// Sessions with questions: one tool for each way to ask, under a policy that allows everything else.
import type { ConsentPolicy, RunConfig, ToolPackage, ToolSpec } from '../../schemas/index.ts';
import { brand } from '../../schemas/index.ts';
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { permissionTools } from '../../src/toolsets/permission-tools.ts';
import { type Session, type call, session } from './session.ts';
import { ASKS, BARRIER, FREE, ONCE, PERSON, READ, WRITE, profileOf, tool } from './tools.ts';

/** Asks before it writes a file. */
export const ASKS_WRITE = tool('asks_write', {
  permission_policy: 'always_ask',
  parallelism_hint: WRITE.parallelism_hint,
});
/** The same, and its bridge can say what a call would do. */
export const SHOWS_WRITE = tool('shows_write', {
  permission_policy: 'always_ask',
  parallelism_hint: WRITE.parallelism_hint,
  preview: true,
});
/** The same without a question: it asks only where a policy does. */
export const SHOWS_FREE = tool('shows_free', {
  parallelism_hint: { parallel_safe: true },
  idempotent: true,
  preview: true,
});
/** Asks before a command, given as words. */
const ASKS_RUN = tool('asks_run', {
  permission_policy: 'always_ask',
  parallelism_hint: { parallel_safe: true },
});
/** Asks first; then a person fulfils it. */
export const ASKS_PERSON = tool('asks_person', {
  permission_policy: 'always_ask',
  ownership: 'custom',
  executor: { kind: 'custom' },
  parallelism_hint: { parallel_safe: true },
});
/** A person has ten seconds to fulfil it; it claims one file and has an output schema. */
export const TIMED_PERSON = tool('timed_person', {
  ownership: 'custom',
  executor: { kind: 'custom' },
  answer_within_ms: 10_000,
  parallelism_hint: WRITE.parallelism_hint,
  output_schema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
});
const timed = (name: string, rest: Parameters<typeof tool>[1]): ToolSpec =>
  tool(name, { ...rest, answer_within_ms: 10_000 });

/**
 * The same time on tools that no person fulfils. The edge refuses such a tool, because only an answer can be late; where one
 * is on record, its calls have no time.
 */
export const TIMED_ELSEWHERE: readonly ToolSpec[] = [
  timed('timed_once', { interrupt_behavior: 'block', parallelism_hint: { parallel_safe: true } }),
  timed('timed_free', { idempotent: true, interrupt_behavior: 'cancel', parallelism_hint: { parallel_safe: true } }),
  timed('timed_server', { executor: { kind: 'mcp', server: 'any', tool: 'any' }, interrupt_behavior: 'continue' }),
  timed('timed_host', { executor: { kind: 'host_loop', bridge: 'any' }, read_only: true, destructive: false }),
  timed('timed_skill', { executor: { kind: 'skill', skill: 'any' } }),
];
/** A person fulfils it, and identical calls share one answer. */
export const PERSON_LOOKS = tool('person_looks', {
  ownership: 'custom',
  executor: { kind: 'custom' },
  read_only: true,
  open_world: false,
  destructive: false,
  parallelism_hint: { parallel_safe: true },
});

export const CONSENT_TOOLS: readonly ToolSpec[] = [
  READ,
  WRITE,
  FREE,
  ONCE,
  BARRIER,
  ASKS,
  ASKS_WRITE,
  ASKS_RUN,
  PERSON,
  ASKS_PERSON,
  TIMED_PERSON,
  PERSON_LOOKS,
  ...permissionTools(),
];

const packageWith = (tools: readonly ToolSpec[]): ToolPackage => ({
  registry: tools,
  profiles: [profileOf('all', tools)],
  provider_profiles: [{ provider_contains: '', profile_id: brand<'ProfileId'>('all') }],
});

/** A policy that allows every mode except for the given settings. */
export const policyOf = (rest: Partial<ConsentPolicy> = {}): ConsentPolicy => ({
  ...CONSENT_PRESETS.allow_all,
  ...rest,
});

/** A new session with these tools. */
export const asking = (
  policy: Partial<ConsentPolicy> = {},
  config: Partial<RunConfig> = {},
  tools: readonly ToolSpec[] = CONSENT_TOOLS,
): Session => session({ tool_package: packageWith(tools), consent: policyOf(policy), config });

/** A run in which the model has made these calls. */
export const calling = (of: Session, ...calls: ReturnType<typeof call>[]): Session => of.runRequested().observed(calls);

/** The owed effects in short: kind and call. */
export const owed = (of: Session): readonly string[] =>
  of.effects().map((effect) => ('call_id' in effect ? `${effect.kind} ${effect.call_id}` : effect.kind));

/** The status of each call of the open batch, in call order. */
export const statuses = (of: Session): readonly string[] =>
  of.state.active_tool_batch?.pages.flat().map((entry) => entry.status) ?? [];
