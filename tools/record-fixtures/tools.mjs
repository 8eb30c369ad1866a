// The tools of the recorded sessions: one for each kind of parallelism.
import { defineTool } from '../../dist/schemas/index.js';

/** A tool that takes anything; its id is its name unless it is given. */
export const tool = (tool_name, rest = {}) =>
  defineTool({ tool_id: tool_name, tool_name, description: `The tool ${tool_name}.`, input_schema: {}, ...rest });

const claiming = (access, form = 'path', argument = 'path') => ({
  parallel_safe: true,
  claims: [{ space: 'fs', argument, form, access }],
});

/** Read-only: its calls are repeated after a lost lease. */
export const READ = tool('read', { read_only: true, destructive: false, parallelism_hint: claiming('read') });
export const WRITE = tool('write', { parallelism_hint: claiming('write') });
export const PATCH = tool('patch', { parallelism_hint: claiming('write', 'patch', 'patch') });
export const TOPIC = tool('topic', { parallelism_hint: claiming('write', 'text', 'topic') });
/** Parallel-safe and claims nothing; must not run twice, and is cancelled by an interrupt. */
export const ONCE = tool('once', { parallelism_hint: { parallel_safe: true }, interrupt_behavior: 'cancel' });
/** Like `once`, but may run twice. */
export const AGAIN = tool('again', { parallelism_hint: { parallel_safe: true }, idempotent: true });
/** Waits for every earlier call, and every later call waits for it. */
export const BARRIER = tool('barrier');
export const OPEN = tool('open', { availability_rules: ['host_session_not_ready'] });
export const HOSTED = tool('hosted', { availability_rules: ['host_session_ready'] });
export const BROWSER = tool('browser', { availability_rules: ['host_session_ready', 'capability:browser'] });
export const WORKFLOW = tool('workflow', { executor: { kind: 'workflow', workflow: 'none-yet' } });

/** Always asks a person, under any policy for its mode. */
export const ASKS = tool('asks', { permission_policy: 'always_ask', parallelism_hint: claiming('write') });
/** The same, and its bridge can say what a call would do. */
export const SHOWS = tool('shows', {
  permission_policy: 'always_ask',
  parallelism_hint: claiming('write'),
  preview: true,
});
/** The same, but may run twice. */
export const SHOWS_AGAIN = tool('shows_again', {
  permission_policy: 'always_ask',
  parallelism_hint: claiming('write'),
  idempotent: true,
  preview: true,
});
/** Sends something and reports the result. */
export const SEND = tool('send', { output_schema: { type: 'object', properties: { ok: { type: 'boolean' } } } });
const byHand = { ownership: 'custom', executor: { kind: 'custom' } };
/** A person performs it. */
export const PERSON = tool('person', { ...byHand, parallelism_hint: { parallel_safe: true } });
/** A person performs it within a minute, on one file. */
export const TIMED = tool('timed', {
  ...byHand,
  answer_within_ms: 60_000,
  parallelism_hint: claiming('write'),
  output_schema: { type: 'object', properties: { ok: { type: 'boolean' } } },
});

/** A package whose only profile holds all its tools but `spare`. */
export const packageOf = (tools, spare = []) => ({
  registry: [...tools, ...spare],
  profiles: [profile('all', tools)],
  provider_profiles: [{ provider_contains: '', profile_id: 'all' }],
});

export const profile = (profile_id, tools) => ({ profile_id, tool_ids: tools.map((entry) => entry.tool_id) });
