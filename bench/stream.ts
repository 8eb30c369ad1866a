// A long session as the engine would record it, made without an engine: each turn has a generate with five calls, their
// settlements and the end of the batch. A run ends after a fixed number of turns and the next one begins.
import { CONSENT_PRESETS } from '../src/toolsets/consent-presets.ts';
import type { SealedPage } from '../reducers/transcript.ts';
import { digestJson } from '../schemas/canonical.ts';
import type { IngressEvent, NewEvent } from '../schemas/event.ts';
import type { Genesis } from '../schemas/genesis.ts';
import { type CallId, type EventId, brand } from '../schemas/ids.ts';
import type { SessionState } from '../schemas/state.ts';
import type { ToolCallObserved } from '../schemas/tool-call.ts';
import { defaultGenesis, initialState } from '../src/core/index.ts';
import { mustBe } from '../src/client/must.ts';
import { foldNew } from '../src/core/step.ts';
import { benchPackage } from './tools.ts';

/** Calls of one turn; with them a turn has seven events. */
export const TURN_CALLS = 5;
export const TURN_EVENTS = TURN_CALLS + 2;

/** The turns of a run: real runs are bounded as well. */
const TURNS_PER_RUN = 1_000;

export interface Recorded {
  readonly event: IngressEvent;
  /** The state after it. */
  readonly state: SessionState;
  readonly sealed: SealedPage | null;
}

export const UNBOUNDED = { provider: 'bench', turns_max: 100_000, calls_max: 10_000_000 } as const;

export const benchGenesis = (session_id = 'bench'): Genesis =>
  defaultGenesis({ session_id, tool_package: benchPackage(), config: UNBOUNDED, consent: CONSENT_PRESETS.allow_all });

/** Yields the first `events` events of a session, with the state after each. */
export function* recordStream(genesis: Genesis, events: number): Generator<Recorded> {
  let state = initialState(genesis, benchPackage());
  for (let position = 0; position < events; position += 1) {
    const next = mustBe(foldNew(state, nextEvent(state)));
    ({ state } = next);
    yield next;
  }
}

/** The texts of the calls of a turn, as a model would vary them. */
export const pathOf = (turn: number, call: number): string => `src/module-${turn % 97}/part-${call}/file-${turn}.ts`;

export const outputOf = (path: string): string =>
  `${path}: 42 lines, 1 312 bytes; nothing was read of it, and this line says so at the length of a short answer.`;

/** The next event of this session. */
function nextEvent(state: SessionState): NewEvent {
  const { run, active_tool_batch: batch } = state;
  if (run === null) return event(state, 'requested', { kind: 'RunRequested', input: { text: 'go on' } });
  const { run_id, turn } = run;
  if (run.phase === 'generating') {
    const calls = turn > TURNS_PER_RUN ? [] : observedCalls(turn);
    return event(state, `${run_id}/turn-${turn}/observed`, { kind: 'ToolCallsObserved', run_id, turn, calls });
  }
  if (batch === null) throw new Error(`a run in the phase ${run.phase} has no batch`);
  const { batch_id, plan, queued } = batch;
  const { plan_hash } = plan;
  if (queued === 0) {
    return event(state, `${batch_id}/settle/settled`, { kind: 'ToolBatchSettled', batch_id, plan_hash });
  }
  const call = batch.observed[batch.observed.length - queued] as ToolCallObserved;
  return event(state, `${batch_id}/${call.call_id}/1/settled`, {
    kind: 'ToolCallSettled',
    batch_id,
    call_id: call.call_id,
    plan_hash,
    attempt: 1,
    result: { success: true },
    output: { text: outputOf(call.call_id) },
    outcome: 'succeeded',
    duration_ms: 1,
  });
}

function observedCalls(turn: number): readonly ToolCallObserved[] {
  return Array.from({ length: TURN_CALLS }, (_, index) => {
    const args = { path: pathOf(turn, index) };
    return {
      call_id: brand<'CallId'>(`call-${turn}-${index}`) satisfies CallId,
      tool_name: 'noop',
      arguments: args,
      arguments_digest: digestJson(args),
      arguments_verdict: { valid: true },
    };
  });
}

type FieldsByKind = { readonly [K in NewEvent['kind']]: Omit<Extract<NewEvent, { kind: K }>, keyof Envelope> };
type Envelope = Pick<IngressEvent, 'v' | 'event_id' | 'at_ms'>;

function event(state: SessionState, name: string, fields: FieldsByKind[NewEvent['kind']]): NewEvent {
  const event_id: EventId = brand(name === 'requested' ? `requested-${state.runs_started + 1}` : name);
  return { ...fields, v: 1, event_id, at_ms: state.updated_at_ms + 7 };
}
