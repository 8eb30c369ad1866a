// The tools of a simulated world: one for each kind of parallelism and repeatability. The arguments of a call, which the
// scenario sets, decide how the call behaves.
import { defineTool } from '../../schemas/define-tool.ts';
import { type CallId, type OwnerId, type SessionId, brand } from '../../schemas/ids.ts';
import type { JsonObject } from '../../schemas/json.ts';
import { INLINE_CHARS_MAX } from '../../schemas/limits.ts';
import { sealJson } from '../../schemas/json/sealed.ts';
import type { ToolPackage } from '../../schemas/tool-set.ts';
import type { ToolSpec } from '../../schemas/tool-spec.ts';
import { CONSENT_PRESETS } from '../toolsets/consent-presets.ts';
import type { ToolAnswer } from './bridge-world.ts';
import type { CallScript, SessionScript, SimToolName } from './scenario.ts';
import { type ProcessClock, never } from './sim-time.ts';

const onPath = (access: 'read' | 'write'): ToolSpec['parallelism_hint'] => ({
  parallel_safe: true,
  claims: [{ space: 'fs', argument: 'path', form: 'path', access }],
});

const SPECS: Readonly<Record<Exclude<SimToolName, 'none'>, Partial<ToolSpec>>> = {
  read: { mode: 'read', read_only: true, destructive: false, parallelism_hint: onPath('read') },
  /** Must not run twice; is cancelled when its run is interrupted. */
  write: { parallelism_hint: onPath('write'), interrupt_behavior: 'cancel' },
  put: { idempotent: true, parallelism_hint: onPath('write') },
  /** Runs alone, and must not run twice. */
  solo: {},
  free: { idempotent: true, parallelism_hint: { parallel_safe: true } },
  /** A person is asked whether it may run. */
  ask: { permission_policy: 'always_ask', parallelism_hint: onPath('write') },
  /** A person performs it. */
  hand: { ownership: 'custom', executor: { kind: 'custom' }, parallelism_hint: onPath('write') },
  /** Available once a person has made the host ready. */
  spare: { parallelism_hint: { parallel_safe: true }, availability_rules: ['host_session_ready'] },
};

/** The pattern that matches the ids of these tools. */
export const SIM_TOOLS = 'sim.*';

export const simToolId = (name: SimToolName): ToolSpec['tool_id'] => brand(`sim.${name}`);

const REGISTRY = Object.entries(SPECS).map(([name, spec]) =>
  defineTool({
    tool_id: `sim.${name}`,
    tool_name: name,
    description: name,
    input_schema: { type: 'object', properties: { path: { type: 'string' } } },
    timeout_ms: 20_000,
    ...spec,
  }),
);

/** The same, of which the tool that asks makes previews. */
const PREVIEWING = REGISTRY.map((tool) => (tool.tool_name === 'ask' ? defineTool({ ...tool, preview: true }) : tool));

const made: ToolPackage = {
  registry: REGISTRY,
  profiles: [{ profile_id: brand('all'), tool_ids: REGISTRY.map(({ tool_id }) => tool_id) }],
  provider_profiles: [{ provider_contains: '', profile_id: brand('all') }],
};

/** Sealed once, because every session of every simulation is created with one of them. */
const SEALED = { plain: sealJson(made), previewing: sealJson({ ...made, registry: PREVIEWING }) };

/** The tools; with `previews`, that which asks makes previews. */
export const simPackage = (previews: boolean): typeof SEALED.plain => (previews ? SEALED.previewing : SEALED.plain);

/** The same tools, of which those that write have another definition. */
export const simRedefined = (nth: number, previews: boolean): ToolPackage['registry'] =>
  (previews ? PREVIEWING : REGISTRY).map((tool) =>
    SIM_WRITERS.has(tool.tool_id) ? defineTool({ ...tool, description: `${tool.tool_name}, version ${nth}` }) : tool,
  );

/** Only tools that require it ask a person. */
export const SIM_CONSENT = CONSENT_PRESETS.allow_all;

/** The arguments that make a call behave as scripted. */
export const scriptedArguments = ({ path, ms, does, fails, grants, preview, outside }: CallScript): JsonObject => ({
  path: does === 'misshapen' ? 7 : path,
  ms,
  does,
  ...(fails === undefined ? {} : { fails }),
  ...(grants === undefined ? {} : { grants }),
  ...(preview === undefined ? {} : { preview: { ...preview } }),
  ...(outside === undefined ? {} : { outside: { ...outside } }),
});

/** Whether the people of a session request undos: then its tools report the files they change. */
export const isUndoneIn = ({ acts }: SessionScript): boolean => acts.some(({ what }) => what === 'undo');

/** Tools that change the file at their `path`. */
export const SIM_WRITERS: ReadonlySet<string> = new Set([simToolId('write'), simToolId('put')]);

/** One time that a tool ran. */
export interface Execution {
  readonly session_id: SessionId;
  readonly call_id: CallId;
  /** Null when the bridge did not name the attempt. */
  readonly attempt: number | null;
  readonly owner: OwnerId;
  readonly process: ProcessClock;
  /** Unique among all executions; the text of a success begins with it. */
  readonly token: string;
  /** Null while it runs. */
  succeeded: boolean | null;
  /** It failed for a transient reason. */
  transient: boolean;
}

interface Attempted {
  readonly signal: AbortSignal;
  /** How many times the call has failed for a transient reason before. */
  readonly failed: number;
}

/** Runs a tool for as long as its arguments say, or until it is stopped. In a dead process it never returns. */
export async function runSimTool(
  execution: Execution,
  args: JsonObject,
  { signal, failed }: Attempted,
): Promise<ToolAnswer> {
  const { ms, does, fails = 0 } = args as unknown as CallScript;
  const { process, token } = execution;
  const stopped = await stoppedWithin(process, ms, does === 'stubborn' ? null : signal);
  if (process.isDead()) return await never();
  execution.transient = !stopped && failed < fails;
  execution.succeeded = !stopped && !execution.transient && does !== 'throw' && does !== 'fail';
  if (stopped) return { success: false, code: 'stopped', text: 'stopped half-way' };
  if (execution.transient) return { success: false, code: 'busy', text: 'busy for now', retryable: true };
  if (does === 'throw') throw new Error('made to throw');
  if (does === 'fail') return { success: false, code: 'made_to_fail', text: 'made to fail' };
  return { success: true, text: does === 'large' ? token.padEnd(INLINE_CHARS_MAX + 100, '.') : token };
}

/** Waits; true when the signal aborted first. */
export function stoppedWithin(process: ProcessClock, ms: number, signal: AbortSignal | null): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) {
      resolve(true);
      return;
    }
    const cancel = process.after(ms, () => {
      signal?.removeEventListener('abort', stop);
      resolve(false);
    });
    function stop(): void {
      cancel();
      resolve(true);
    }
    signal?.addEventListener('abort', stop, { once: true });
  });
}
