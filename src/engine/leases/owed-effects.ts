// The effects that one session owes to bridges, kept up to date event by event. They are those of `effects(state)`;
// deriving them anew after each report would cost a pass over the whole batch for every call in it.
import { callStateAt, callStateOf } from '../../../reducers/batch-index.ts';
import { detachedCall } from '../../../reducers/detached.ts';
import { isTerminal } from '../../../reducers/call-status.ts';
import { openWaitsIn } from '../../../reducers/waits.ts';
import type { Effect, EffectOfKind } from '../../../schemas/effect.ts';
import type { IngressEvent } from '../../../schemas/event.ts';
import { type CallId, type EffectId, type OwnerId, brand } from '../../../schemas/ids.ts';
import type { SessionState } from '../../../schemas/state.ts';
import { effects } from '../../core/effects.ts';
import { type PersonEffect, isPersonEffect } from '../../core/status.ts';
import { effectOfCall } from './reports.ts';

/** True when an undo waits or a detached call runs: both are held by bridges, also without a live run. */
export const hasWorkOutsideRun = ({ undos, detached }: SessionState): boolean =>
  undos !== undefined || detached !== undefined;

/** An effect for a bridge; the others are for the clock or for a person. */
export type BridgeEffect = Exclude<Effect, { readonly kind: 'wake' } | PersonEffect>;

const isForBridge = (effect: Effect): effect is BridgeEffect => effect.kind !== 'wake' && !isPersonEffect(effect);

/** Identifies one attempt of a call. */
export type CallKey = Pick<EffectOfKind<'tool.call'>, 'batch_id' | 'call_id' | 'attempt'>;

export interface RunningCall extends CallKey {
  readonly owner: OwnerId | null;
}

export class OwedEffects {
  #state: SessionState;
  #effects: Map<EffectId, BridgeEffect> | null = null;
  #samples: ReadonlyMap<string, BridgeEffect> = new Map();

  constructor(state: SessionState) {
    this.#state = state;
  }

  state(): SessionState {
    return this.#state;
  }

  /** Adopts the state after these events. True when anything but the reported calls may have changed. */
  update(state: SessionState, events: readonly IngressEvent[]): boolean {
    const before = this.#state;
    this.#state = state;
    if (onlyReportsCalls(before, state, events) && this.#removeSettled(before, events)) return false;
    this.#effects = null;
    return true;
  }

  /** Removes the settled calls; false when one of them was not owed, because then other effects may have become owed. */
  #removeSettled(before: SessionState, events: readonly IngressEvent[]): boolean {
    const known = this.#effects;
    return (
      known === null ||
      events.every(
        (event) =>
          event.kind !== 'ToolCallSettled' ||
          (known.delete(effectOfCall(event)) &&
            !known.has(brand(`${effectOfCall(event)}/cancel`)) &&
            !isOwedAnswer(before, event)),
      )
    );
  }

  has(id: EffectId): boolean {
    return this.#all().has(id);
  }

  find(id: EffectId): BridgeEffect | undefined {
    return this.#all().get(id);
  }

  /** Every effect, in the order of `effects(state)`; {@link openAfter} returns what a call still waits for. */
  list(): Iterable<BridgeEffect> {
    return this.#all().values();
  }

  /** Of each kind of work one effect: of each kind, tool and workspace. Some of it may have been reported meanwhile. */
  samples(): Iterable<BridgeEffect> {
    this.#all();
    return this.#samples.values();
  }

  /** The calls that this one still waits for. */
  openAfter({ after, call_id }: EffectOfKind<'tool.call'>): EffectOfKind<'tool.call'>['after'] {
    const batch = this.#state.active_tool_batch;
    if (batch === null || after.length === 0) return after;
    const isOpen = (id: CallId): boolean => !isTerminal(callStateOf(batch, id)?.status ?? 'queued');
    return after.every(isOpen) ? after : openWaitsIn(batch, call_id);
  }

  /** The calls whose start is recorded and whose settlement is not. */
  running(): ReadonlyMap<EffectId, RunningCall> {
    const running = new Map<EffectId, RunningCall>();
    for (const { owner, batch_id, call_id, attempt } of this.#state.detached ?? []) {
      const key = { batch_id, call_id, attempt };
      running.set(effectOfCall(key), { ...key, owner });
    }
    const batch = this.#state.active_tool_batch;
    if (batch === null || batch.running === 0) return running;
    for (const [position, { call_id }] of batch.observed.entries()) {
      const call = callStateAt(batch, position);
      if (call?.status !== 'running') continue;
      const key = { batch_id: batch.batch_id, call_id, attempt: call.attempt };
      running.set(effectOfCall(key), { ...key, owner: call.owner });
    }
    return running;
  }

  isRunning({ batch_id, call_id, attempt }: CallKey): boolean {
    const batch = this.#state.active_tool_batch;
    if (detachedCall(this.#state, { batch_id, call_id })?.attempt === attempt) return true;
    if (batch?.batch_id !== batch_id) return false;
    const call = callStateOf(batch, call_id);
    return call?.status === 'running' && call.attempt === attempt;
  }

  #all(): Map<EffectId, BridgeEffect> {
    if (this.#effects !== null) return this.#effects;
    this.#effects = new Map();
    const samples = new Map<string, BridgeEffect>();
    // Frozen, because the same object may be granted to several bridges in turn.
    for (const effect of effects(this.#state)) {
      if (!isForBridge(effect)) continue;
      this.#effects.set(effect.effect_id, Object.freeze(effect));
      samples.set(workOf(effect), effect);
    }
    this.#samples = samples;
    return this.#effects;
  }
}

/** What a request may ask for. */
function workOf(effect: BridgeEffect): string {
  if (effect.kind === 'tool.call' || effect.kind === 'call.preview') return `${effect.kind} ${effect.tool_id}`;
  return effect.kind === 'call.undo' ? `${effect.kind} ${effect.workspace}` : effect.kind;
}

/** Whether a call was owed the answer to a question, which goes with its end. */
const isOwedAnswer = ({ active_tool_batch: batch }: SessionState, { call_id }: { readonly call_id: CallId }): boolean =>
  batch !== null && callStateOf(batch, call_id)?.answer !== undefined;

/** True when these events only start and settle calls of a batch that stays open. */
function onlyReportsCalls(before: SessionState, after: SessionState, events: readonly IngressEvent[]): boolean {
  const batch = after.active_tool_batch;
  return (
    batch !== null &&
    batch.queued + batch.running + (batch.waiting ?? 0) > 0 &&
    before.active_tool_batch?.batch_id === batch.batch_id &&
    // A report may change which tools there are, and have calls ask a person.
    before.effective_tools === after.effective_tools &&
    before.active_tool_batch.waiting === batch.waiting &&
    before.active_tool_batch.previews === batch.previews &&
    before.active_tool_batch.questions === batch.questions &&
    before.run?.phase === 'executing' &&
    after.run?.phase === 'executing' &&
    events.every(({ kind }) => kind === 'ToolCallStarted' || kind === 'ToolCallSettled')
  );
}
