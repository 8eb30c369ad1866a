// Picks the next fact of a random stream from a few numbers: mostly one that the phase waits for, sometimes another one.
import { effects } from '../core/effects.ts';
import type { Effect } from '../../schemas/effect.ts';
import type { JsonObject } from '../../schemas/json.ts';
import type { SessionState } from '../../schemas/state.ts';
import type { ToolSpec } from '../../schemas/tool-spec.ts';
import { type Fact, call, say } from './facts.ts';

/** The numbers that decide: `what` (0 to 99) picks the kind of fact, `a` and `b` its details. */
export interface Draw {
  readonly what: number;
  readonly a: number;
  readonly b: number;
}

/** The share of facts that the phase waits for, in percent. */
const PLAUSIBLE_PERCENT = 80;

export const plausibleFact = (state: SessionState, draw: Draw): Fact =>
  draw.what < PLAUSIBLE_PERCENT ? nextOf(state, draw) : otherFact(state, draw);

const pick = <T>(values: readonly T[], at: number): T | undefined => values[at % Math.max(1, values.length)];

/** One of the owed effects; a wake-up only when nothing else is owed. */
function owedTo(state: SessionState, at: number): Effect | undefined {
  const all = effects(state);
  const work = all.filter(({ kind }) => kind !== 'wake');
  return pick(work.length === 0 ? all : work, at);
}

function nextOf(state: SessionState, draw: Draw): Fact {
  const { run } = state;
  const { a, b } = draw;
  if (run === null) return { kind: 'RunRequested', input: say(`go ${a}`) };
  const owed = owedTo(state, a);
  switch (owed?.kind) {
    case 'llm.generate':
      return { kind: 'ToolCallsObserved', run_id: owed.run_id, turn: owed.turn, calls: someCalls(state, draw) };
    case 'tool.call': {
      const { batch_id, call_id, plan_hash, attempt } = owed;
      const named = { batch_id, call_id, plan_hash, attempt };
      if (b % 4 === 0) return { kind: 'ToolCallStarted', ...named, owner: `bridge-${b % 2}` };
      if (b % 9 === 1) return { kind: 'LeaseExpired', batch_id, call_id, attempt };
      return {
        kind: 'ToolCallSettled',
        ...named,
        result: { success: b % 5 > 0 },
        output: say(`of ${call_id}`),
        ...retryable(b),
      };
    }
    case 'agent.tool_use': {
      const { batch_id, call_id, arguments_digest } = owed;
      const result = b % 3 === 0 ? 'deny' : 'allow';
      return { kind: 'user.tool_confirmation', batch_id, call_id, arguments_digest, result };
    }
    case 'agent.custom_tool_use': {
      const { batch_id, call_id, arguments_digest } = owed;
      const answer = { result: { success: b % 5 > 0 }, output: say(`of ${call_id}, by hand`) };
      return { kind: 'user.custom_tool_result', batch_id, call_id, arguments_digest, ...answer };
    }
    case 'batch.settle':
      return { kind: 'ToolBatchSettled', batch_id: owed.batch_id, plan_hash: owed.plan_hash };
    case 'wake':
      return { kind: 'TimeReached', due_at_ms: owed.at_ms };
    case 'host_session.open':
    case 'tool.cancel':
    case 'call.undo':
    case undefined:
    default:
      return { kind: 'RunResumed', run_id: run.run_id };
  }
}

/** Half of the failures are retryable. */
const retryable = (b: number): { readonly retryable?: true; readonly jitter_permille?: number } =>
  b % 10 === 0 ? { retryable: true, jitter_permille: 1_000 } : {};

function someCalls(state: SessionState, { a, b }: Draw): readonly ReturnType<typeof call>[] {
  const tools = Object.values(state.tool_registry);
  return Array.from({ length: b % 5 }, (_, index) => {
    const name = pick(tools, a + index * b)?.tool_name ?? 'no_such_tool';
    return call(`c${index}`, name, withClaimed(tools, name, { path: `p${(a + index) % 3}`, n: b + index }));
  });
}

/** The arguments, plus those that the tool's claims name, which get the value of `path`. */
export function withClaimed(
  tools: readonly ToolSpec[],
  name: string,
  args: { readonly path: string; readonly n: number },
): JsonObject {
  const { claims = [] } = tools.find(({ tool_name }) => tool_name === name)?.parallelism_hint ?? {};
  return { ...Object.fromEntries(claims.map(({ argument }) => [argument, args.path])), ...args };
}

function otherFact(state: SessionState, { a, b }: Draw): Fact {
  const run_id = state.run?.run_id ?? 'run-1';
  const some = pick(Object.keys(state.tool_registry), b) ?? 'none';
  const others: readonly Fact[] = [
    { kind: 'FollowUpQueued', follow_up: { input: say('then') } },
    { kind: 'RunSteered', run_id, input: say('left') },
    { kind: 'RunPaused', run_id },
    { kind: 'RunResumed', run_id },
    { kind: 'user.interrupt', run_id },
    { kind: 'user.interrupt', run_id, input: say('rather this') },
    { kind: 'RunCancelled', run_id, reason: 'no' },
    { kind: 'RunFailed', run_id, code: 'gave_up', message: 'no' },
    { kind: 'GenerateFailed', run_id, turn: state.run?.turn ?? 1, code: 'no_answer', message: 'none', ...retryable(b) },
    { kind: 'ToolOverridesSet', scope: 'session', disable: [some] },
    { kind: 'ToolOverridesSet', scope: 'session', force: [some] },
    { kind: 'HostSessionUpdated', host_session: { host_session_status: b % 3 === 0 ? 'closed' : 'ready' } },
    { kind: 'SessionConfigured', config: { turns_max: 1 + b } },
  ];
  return pick(others, a) as Fact;
}
