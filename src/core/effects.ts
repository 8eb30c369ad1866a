// The effects owed to a session, derived from its state and nothing else (docs/design.md, law 2): computed twice they are
// the same, and after a crash they are computed again.
import { callStateAt, callStateOf, plannedOf, positionOf } from '../../reducers/batch-index.ts';
import { argumentsOf } from '../../schemas/tool-call.ts';
import { isTerminal } from '../../reducers/call-status.ts';
import { compactedPart, owesCompaction } from '../../reducers/compaction.ts';
import { openWaitsIn } from '../../reducers/waits.ts';
import { nextDeadline } from '../../reducers/deadlines.ts';
import { answersTo, elicitation } from './question-effects.ts';
import type { Effect, EffectOfKind, OfferedTool } from '../../schemas/effect.ts';
import { type CallId, brand } from '../../schemas/ids.ts';
import { invariant } from '../../schemas/rejection.ts';
import type { PlannedToolCall } from '../../schemas/plan.ts';
import { type RunConfig, type RunState, isExternal, modelFields } from '../../schemas/run.ts';
import type { ActiveToolBatch, CallState, SessionState } from '../../schemas/state.ts';
import type { ToolCallObserved } from '../../schemas/tool-call.ts';

/** Every effect owed now; for an open batch, one for every call that may be worked on, with the calls it waits for. */
export function effects(state: SessionState): readonly Effect[] {
  const { run, active_tool_batch: batch } = state;
  return [
    ...(run === null ? [] : runEffects(state, run)),
    ...(run === null || batch === null ? [] : batchEffects(state, run, batch)),
    ...answersTo(state),
    ...undos(state),
    ...wakes(state),
  ];
}

function runEffects(state: SessionState, run: RunState): readonly Effect[] {
  const { session_id } = state;
  if (run.phase === 'opening') {
    return [{ kind: 'host_session.open', effect_id: brand(`${run.run_id}/open`), session_id, run_id: run.run_id }];
  }
  // The host of an external run calls when it likes: nothing is owed before.
  if (isExternal(run)) return [];
  // After a temporary failure the model is asked again when its time is reached.
  const waits = (run.retry?.not_before_ms ?? null) !== null;
  if (run.phase !== 'generating' || waits) return [];
  return [owesCompaction(run) ? compact(state, run) : generate(state, run)];
}

const retryOf = ({ retry }: RunState): string => (retry === undefined ? '' : `/retry-${retry.failures}`);

function compact(state: SessionState, run: RunState): EffectOfKind<'llm.compact'> {
  const { config, turn, run_id, compact: asked } = run;
  invariant(asked?.through !== undefined, 'a compaction that is owed ends with a sealed page');
  return {
    kind: 'llm.compact',
    effect_id: brand(`${run_id}/turn-${turn}/compact${retryOf(run)}`),
    session_id: state.session_id,
    run_id,
    turn,
    through: asked.through,
    provider: config.provider,
    model: config.model,
    instructions: config.instructions,
    output_tokens_max: config.output_tokens_max,
    transcript: compactedPart(state, asked),
  };
}

function generate(state: SessionState, run: RunState): EffectOfKind<'llm.generate'> {
  const { config, turn, run_id } = run;
  return {
    kind: 'llm.generate',
    effect_id: brand(`${run_id}/turn-${turn}${retryOf(run)}`),
    session_id: state.session_id,
    run_id,
    turn,
    provider: config.provider,
    model: config.model,
    instructions: config.instructions,
    output_tokens_max: config.output_tokens_max,
    tools: run.offer === null ? [] : offeredTools(run.offer.ordered_tools),
    transcript: state.transcript,
    tool_concurrency_max: config.tool_concurrency_max,
    ...modelSettings(config),
  };
}

/** What the config says to the model, without the fields that are absent or null. */
function modelSettings(config: RunConfig): Partial<Pick<EffectOfKind<'llm.generate'>, ModelField>> {
  const given = MODEL_FIELDS.filter((field) => (config[field] ?? null) !== null);
  return given.length === 0 ? NO_SETTINGS : Object.fromEntries(given.map((field) => [field, config[field]]));
}

type ModelField = keyof typeof modelFields;
const MODEL_FIELDS = Object.keys(modelFields) as readonly ModelField[];
const NO_SETTINGS = {} as const;

type Offered = NonNullable<RunState['offer']>['ordered_tools'];

// Offers are frozen, and mostly the same as in the turn before.
const offered = new WeakMap<Offered, readonly OfferedTool[]>();

/** The tools of an offer as the model sees them. */
function offeredTools(tools: Offered): readonly OfferedTool[] {
  const known = offered.get(tools);
  if (known !== undefined) return known;
  const made = Object.freeze(
    tools.map(({ tool_id, tool_ref, tool_name, description, input_schema }) =>
      Object.freeze({ tool_id, tool_ref, tool_name, description, input_schema }),
    ),
  );
  if (Object.isFrozen(tools)) offered.set(tools, made);
  return made;
}

function batchEffects(state: SessionState, run: RunState, batch: ActiveToolBatch): readonly Effect[] {
  if (run.phase === 'cancelling' || run.phase === 'interrupting') return cancels(state, run, batch);
  if (run.phase !== 'executing' && run.phase !== 'paused_executing') return [];
  if (batch.queued + batch.running + (batch.waiting ?? 0) === 0) {
    const { batch_id, plan } = batch;
    const effect_id = brand<'EffectId'>(`${batch_id}/settle`);
    const settle = { kind: 'batch.settle' as const, effect_id, session_id: state.session_id, batch_id };
    return [{ plan_hash: plan.plan_hash, ...settle }];
  }
  return [...stops(state, batch), ...callEffects(state, run, batch)];
}

/** The running calls to stop although their run goes on, because they are denied by now. */
function stops(state: SessionState, batch: ActiveToolBatch): readonly Effect[] {
  if (batch.running === 0) return [];
  return batch.plan.planned_calls.flatMap(({ call_id }) => {
    const call = callStateOf(batch, call_id);
    return call?.stopping === true ? [cancel(state, batch, { call_id, call, ends: false })] : [];
  });
}

/** The effects of every open call. */
function callEffects(state: SessionState, run: RunState, batch: ActiveToolBatch): readonly Effect[] {
  const owed: Effect[] = [];
  // Calls that cannot start before a person has answered.
  const waitForPerson = new Set<CallId>();
  for (const [position, { call_id }] of batch.observed.entries()) {
    const call = callStateAt(batch, position);
    const planned = plannedOf(batch.plan, call_id)?.call;
    if (call === undefined || planned === undefined || isTerminal(call.status)) continue;
    if (positionOf(batch, call_id) !== position || planned.shares !== undefined) continue;
    const open = openWaitsIn(batch, call_id);
    const effect = owedNow(state, { batch, planned, call, ready: open.length === 0 });
    if (effect !== null) owed.push(effect);
    owed.push(...askedBy(state, batch, planned, call));
    if (call.preview_until_ms !== undefined) owed.push(previewOf(state, { batch, planned, call, position }));
    if (effect !== null || isForPerson(planned, call) || open.some((id) => waitForPerson.has(id)))
      waitForPerson.add(call_id);
    // Its next attempt is owed when its time is reached. Calls that wait for it stay owed, as in a pause.
    else if (call.not_before_ms !== undefined) continue;
    // A paused run starts no call. Running calls continue, so they stay owed to the bridge that holds them.
    else if (call.status === 'running' || run.phase !== 'paused_executing') {
      owed.push(callEffect(state, run, batch, position));
    }
  }
  return owed;
}

/** What a call asks that keeps running. */
const askedBy = (state: SessionState, batch: ActiveToolBatch, planned: PlannedToolCall, call: CallState) =>
  call.status === 'running' && call.question !== undefined ? [elicitation(state, batch, planned, call)] : [];

interface OpenCall {
  readonly batch: ActiveToolBatch;
  readonly planned: PlannedToolCall;
  readonly call: CallState;
  /** Everything the call waits for has settled. */
  readonly ready: boolean;
}

/** The effect of a call for a person now; null when there is none. */
function owedNow(state: SessionState, { batch, planned, call, ready }: OpenCall): Effect | null {
  if (call.status === 'waiting') {
    return call.question === undefined ? question(state, batch, planned) : elicitation(state, batch, planned, call);
  }
  return planned.executor.kind === 'custom' && call.status === 'queued' && ready
    ? customUse(state, batch, planned)
    : null;
}

const isForPerson = (planned: PlannedToolCall, call: CallState): boolean =>
  call.status === 'queued' && planned.executor.kind === 'custom';

function question(state: SessionState, batch: ActiveToolBatch, planned: PlannedToolCall): Effect {
  const askedSince = callStateOf(batch, planned.call_id)?.asked;
  const consent = askedSince ?? planned.consent ?? { ask: 'person', mode: 'external', reasons: [] };
  return {
    kind: 'agent.tool_use',
    effect_id: brand(`${batch.batch_id}/${planned.call_id}/confirm`),
    ...asked(state, batch, planned),
    ...shown(callStateOf(batch, planned.call_id)),
    consent,
  };
}

/** What the call would do, as far as it is known. */
function shown({ preview, preview_until_ms }: Partial<CallState> = {}) {
  return {
    ...(preview === undefined ? {} : { preview }),
    ...(preview_until_ms === undefined ? {} : { preview_until_ms }),
  };
}

function previewOf(
  { session_id }: SessionState,
  { batch, planned, call, position }: Omit<OpenCall, 'ready'> & { readonly position: number },
): EffectOfKind<'call.preview'> {
  const { call_id, tool_id, tool_name, executor, arguments_digest } = planned;
  return {
    kind: 'call.preview',
    effect_id: brand(`${batch.batch_id}/${call_id}/${call.attempt}/preview`),
    session_id,
    batch_id: batch.batch_id,
    call_id,
    attempt: call.attempt,
    tool_id,
    tool_name,
    executor,
    arguments_digest,
    ...argumentsOf(batch.observed[position] as ToolCallObserved),
    until_ms: call.preview_until_ms as number,
  };
}

function customUse(state: SessionState, batch: ActiveToolBatch, planned: PlannedToolCall): Effect {
  const spec = state.tool_registry[planned.tool_id];
  const schema = spec?.tool_ref === planned.tool_ref ? spec.output_schema : undefined;
  return {
    kind: 'agent.custom_tool_use',
    effect_id: brand(`${batch.batch_id}/${planned.call_id}/fulfil`),
    ...asked(state, batch, planned),
    ...(schema === undefined ? {} : { output_schema: schema }),
  };
}

/** What a person reads about the call. */
function asked(state: SessionState, batch: ActiveToolBatch, planned: PlannedToolCall) {
  const { call_id, tool_id, tool_name, arguments_digest, consent } = planned;
  const position = positionOf(batch, call_id) as number;
  const due = callStateAt(batch, position)?.due_at_ms;
  return {
    session_id: state.session_id,
    batch_id: batch.batch_id,
    call_id,
    plan_hash: batch.plan.plan_hash,
    tool_id,
    tool_name,
    mode: consent?.mode ?? state.tool_registry[tool_id]?.mode ?? 'external',
    arguments_digest,
    ...runArguments(batch.observed[position] as ToolCallObserved),
    ...(due === undefined ? {} : { due_at_ms: due }),
  };
}

/** What a planned call runs with. One whose arguments are unreadable text is never planned. */
function runArguments(observed: ToolCallObserved) {
  const given = argumentsOf(observed);
  return 'arguments_text' in given ? { arguments: {} } : given;
}

function callEffect(
  state: SessionState,
  run: RunState,
  batch: ActiveToolBatch,
  position: number,
): EffectOfKind<'tool.call'> {
  const observed = batch.observed[position] as ActiveToolBatch['observed'][number];
  const { call, group } = plannedOf(batch.plan, observed.call_id) as NonNullable<ReturnType<typeof plannedOf>>;
  const attempt = callStateAt(batch, position)?.attempt ?? 1;
  // Field by field: this runs for every call, and spreading would cost more than everything else in it.
  const effect: Mutable<EffectOfKind<'tool.call'>> = {
    kind: 'tool.call',
    effect_id: brand(`${batch.batch_id}/${call.call_id}/${attempt}`),
    session_id: state.session_id,
    batch_id: batch.batch_id,
    call_id: call.call_id,
    plan_hash: batch.plan.plan_hash,
    attempt,
    tool_id: call.tool_id,
    tool_name: call.tool_name,
    executor: call.executor,
    arguments_digest: call.arguments_digest,
    after: openWaitsIn(batch, call.call_id),
    group,
    read_only: call.read_only,
    repeatable: call.repeatable,
    timeout_ms: call.timeout_ms,
    output_bytes_max: call.output_bytes_max,
    tool_concurrency_max: run.config.tool_concurrency_max,
  };
  const given = runArguments(observed);
  if ('arguments_ref' in given) effect.arguments_ref = given.arguments_ref;
  else effect.arguments = given.arguments;
  const { previewed, resume } = callStateAt(batch, position) ?? {};
  if (previewed !== undefined) effect.previewed = previewed;
  if (resume !== undefined) effect.resume = resume;
  return effect;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** The running calls to stop: all when the run is cancelled, those with `interrupt_behavior: cancel` on an interrupt. */
function cancels(state: SessionState, run: RunState, batch: ActiveToolBatch): readonly Effect[] {
  return batch.plan.planned_calls.flatMap((planned) => {
    const call = callStateOf(batch, planned.call_id);
    if (call?.status !== 'running') return [];
    if (run.phase === 'interrupting' && planned.interrupt_behavior !== 'cancel') return [];
    return [cancel(state, batch, { call_id: planned.call_id, call, ends: true })];
  });
}

interface Cancelled {
  readonly call_id: CallId;
  readonly call: CallState;
  /** The run ends. */
  readonly ends: boolean;
}

const cancel = (
  { session_id }: SessionState,
  { batch_id }: ActiveToolBatch,
  { call_id, call: { attempt, owner }, ends }: Cancelled,
): EffectOfKind<'tool.cancel'> => ({
  kind: 'tool.cancel',
  effect_id: brand(`${batch_id}/${call_id}/${attempt}/cancel`),
  session_id,
  batch_id,
  call_id,
  attempt,
  owner,
  run_ends: ends,
});

const undos = ({ session_id, undos = [] }: SessionState): readonly EffectOfKind<'call.undo'>[] =>
  undos.map((undo) => ({ kind: 'call.undo', effect_id: brand(`undo/${undo.position}`), session_id, ...undo }));

function wakes(state: SessionState): readonly Effect[] {
  const at_ms = nextDeadline(state);
  if (at_ms === null) return [];
  return [{ kind: 'wake', effect_id: brand(`wake/${at_ms}`), session_id: state.session_id, at_ms }];
}
