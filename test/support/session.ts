// Given, when, then over `step`: a session that folds facts. Every event gets the next id (`e-1`, `e-2`, …) and the next
// time, so that the same lines give the same bytes. A session is immutable: each method returns the next one.
//
//   const run = session().runRequested().observed([call('a', 'read_file', { path: 'x' })]);
//   run.settled('a').state; run.refusal('ToolBatchSettled', run.batchFields()).code;
import { isLeft } from 'fp-ts/lib/Either.js';
import {
  type SchemaVerdict,
  type CallId,
  type Digest,
  type Effect,
  type EffectOfKind,
  type Genesis,
  type IngressEvent,
  type IngressKind,
  type NewEvent,
  type Rejection,
  type RunConfigPatch,
  type SessionState,
  type ToolCallObserved,
  type ToolPackage,
  type ToolResult,
  type TranscriptEntry,
} from '../../schemas/index.ts';
import {
  type GenesisOverrides,
  defaultGenesis,
  effects,
  initialState,
  stateBytes,
  type NewStep,
  stepNew,
} from '../../src/core/index.ts';
import type { Origin } from '../../src/core/initial-state.ts';
import { foldEvent } from '../../src/core/step.ts';
import { type FieldsOf, type Loose, call, eventOf, say } from '../../src/testing/facts.ts';
import { previewDigest } from '../../schemas/consent.ts';
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { testPackage } from './tools.ts';

export { type FieldsOf, type Loose, call, eventOf, say };

export const INVALID: SchemaVerdict = { valid: false, message: 'must have a path', path: '/path' };

/** The state after all events. Throws, naming the event, when one is refused. */
export function fold({ genesis, tool_package }: Origin, events: readonly IngressEvent[]): SessionState {
  let state = initialState(genesis, tool_package);
  for (const event of events) state = accepted(state, event);
  return state;
}

/** The state after one event; throws when it is refused. */
export function accepted(state: SessionState, event: IngressEvent): SessionState {
  const folded = foldEvent(state, event);
  if (isLeft(folded)) throw new Error(`${event.kind} was refused: ${JSON.stringify(folded.left)}`);
  return folded.right.state;
}

/** The event as it is recorded, and the state after it; throws when it is refused. */
export function recorded(state: SessionState, event: NewEvent): NewStep {
  const stepped = stepNew(state, event);
  if (isLeft(stepped)) throw new Error(`${event.kind} was refused: ${JSON.stringify(stepped.left)}`);
  return stepped.right;
}

/** The rejection of the event; throws when it is accepted. */
export function rejectionOf(state: SessionState, event: NewEvent): Rejection {
  const stepped = stepNew(state, event);
  if (!isLeft(stepped)) throw new Error(`${event.kind} was accepted`);
  return stepped.left;
}

export const textOf = (state: SessionState): string => new TextDecoder().decode(stateBytes(state));

/** The fields of a settlement that a test may set. */
export interface Settlement {
  readonly success?: boolean;
  readonly outcome?: 'succeeded' | 'failed' | 'cancelled' | 'unknown';
  readonly output?: string;
  readonly code?: string;
  readonly attempt?: number;
  readonly result?: ToolResult;
  readonly host_session?: NonNullable<FieldsOf<'ToolCallSettled'>['host_session']>;
}

export class Session {
  readonly genesis: Genesis;
  readonly tool_package: ToolPackage;
  readonly events: readonly IngressEvent[];
  readonly state: SessionState;

  constructor({ genesis, tool_package }: Origin, events: readonly IngressEvent[], state: SessionState) {
    this.genesis = genesis;
    this.tool_package = tool_package;
    this.events = events;
    this.state = state;
  }

  /** The next event of this session, not folded: `taking` and `refusing` complete it with what follows from state. */
  next<K extends IngressKind>(kind: K, fields: FieldsOf<K>): IngressEvent {
    return eventOf(kind, fields, this.events.length + 1) as IngressEvent;
  }

  /** The session after a fact; throws when it is refused. */
  takes<K extends IngressKind>(kind: K, fields: FieldsOf<K>): Session {
    return this.taking(this.next(kind, fields));
  }

  taking(given: NewEvent): Session {
    const { event, state } = recorded(this.state, given);
    return new Session(this, [...this.events, event], state);
  }

  /** The rejection of a fact; throws when it is accepted, or when the refusal changed the state. */
  refusal<K extends IngressKind>(kind: K, fields: FieldsOf<K>): Rejection {
    return this.refusing(this.next(kind, fields));
  }

  refusing(event: NewEvent): Rejection {
    const before = textOf(this.state);
    const rejection = rejectionOf(this.state, event);
    if (textOf(this.state) !== before) throw new Error(`${event.kind} was refused and changed the state`);
    return rejection;
  }

  // ── the run ──

  runRequested(run_overrides: Loose<RunConfigPatch> = {}, rest: Partial<FieldsOf<'RunRequested'>> = {}): Session {
    return this.takes('RunRequested', { input: say('go'), run_overrides, ...rest });
  }

  steered(text: string): Session {
    return this.takes('RunSteered', { run_id: this.runId(), input: say(text) });
  }

  followUp(text: string, rest: Omit<FieldsOf<'FollowUpQueued'>['follow_up'], 'input'> = {}): Session {
    return this.takes('FollowUpQueued', { follow_up: { input: say(text), ...rest } });
  }

  paused(): Session {
    return this.takes('RunPaused', { run_id: this.runId() });
  }

  resumed(): Session {
    return this.takes('RunResumed', { run_id: this.runId() });
  }

  interrupted(reason = 'stop'): Session {
    return this.takes('user.interrupt', { run_id: this.runId(), reason });
  }

  cancelled(reason = 'no more'): Session {
    return this.takes('RunCancelled', { run_id: this.runId(), reason });
  }

  failed(code = 'gave_up', message = 'too hard'): Session {
    return this.takes('RunFailed', { run_id: this.runId(), code, message });
  }

  completed(output?: string): Session {
    return this.takes('RunCompleted', {
      run_id: this.runId(),
      ...(output === undefined ? {} : { output: say(output) }),
    });
  }

  // ── the model ──

  observed(calls: readonly ToolCallObserved[], rest: Partial<FieldsOf<'ToolCallsObserved'>> = {}): Session {
    return this.takes('ToolCallsObserved', { ...this.turnFields(), calls, ...rest });
  }

  answered(text: string): Session {
    return this.observed([], { content: say(text) });
  }

  generateFailed(code = 'provider_error', message = 'it said no'): Session {
    return this.takes('GenerateFailed', { ...this.turnFields(), code, message });
  }

  /** The summary of the pages that are to be compacted. */
  compacted(summary: string, rest: Partial<FieldsOf<'ContextCompacted'>> = {}): Session {
    const through = this.effectsOf('llm.compact')[0]?.through ?? this.state.run?.compact?.through ?? ZERO_DIGEST;
    return this.takes('ContextCompacted', { ...this.turnFields(), through, summary: say(summary), ...rest });
  }

  compactFailed(code = 'no_answer', message = 'it said no', rest: Partial<FieldsOf<'CompactFailed'>> = {}): Session {
    return this.takes('CompactFailed', { ...this.turnFields(), code, message, ...rest });
  }

  // ── the bridge ──

  started(call_id: string, owner = 'bridge-1'): Session {
    return this.takes('ToolCallStarted', { ...this.callFields(call_id), owner });
  }

  /** Settles a call; records its start first when it must be on record and is not. */
  settled(call_id: string, settlement: Settlement = {}): Session {
    const { outcome } = settlement;
    const now = outcome === 'cancelled' || outcome === 'unknown' ? this : this.begun(call_id);
    return now.takes('ToolCallSettled', now.settlementFields(call_id, settlement));
  }

  /** The session in which the call may settle: its start is recorded, or need not be. */
  begun(call_id: string): Session {
    const planned = this.state.active_tool_batch?.plan.planned_calls.find((entry) => entry.call_id === call_id);
    const queued = this.callState(call_id)?.status === 'queued';
    return queued && planned?.read_only === false && planned.executor.kind !== 'custom' ? this.started(call_id) : this;
  }

  leaseExpired(call_id: string): Session {
    const { batch_id, attempt } = this.callFields(call_id);
    return this.takes('LeaseExpired', { batch_id, call_id, attempt });
  }

  /** What the call would do: one file, or why it is not known. */
  previewed(call_id: string, preview: FieldsOf<'CallPreviewed'>['preview'] = PREVIEW): Session {
    return this.takes('CallPreviewed', { ...this.previewFields(call_id), preview });
  }

  previewFields(call_id: string): Omit<FieldsOf<'CallPreviewed'>, 'preview'> {
    return { ...this.answerFields(call_id), attempt: this.callState(call_id)?.attempt ?? 1 };
  }

  /** Notes what the work of a running call is called. */
  noted(call_id: string, handle = `task of ${call_id}`): Session {
    return this.takes('ToolCallNoted', { ...this.attemptFields(call_id), handle });
  }

  /** A running call asks; with `resume` its attempt is over. */
  asked(call_id: string, question: Partial<FieldsOf<'ToolCallAsked'>['question']> = {}, resume?: string): Session {
    return this.takes('ToolCallAsked', {
      ...this.attemptFields(call_id),
      question: { message: `which ${call_id}?`, ...question },
      ...(resume === undefined ? {} : { resume: say(resume) }),
    });
  }

  /** The fields that name an attempt of a call. */
  attemptFields(call_id: string): { readonly batch_id: string; readonly call_id: string; readonly attempt: number } {
    const { batch_id, attempt } = this.callFields(call_id);
    return { batch_id, call_id, attempt };
  }

  batchSettled(): Session {
    return this.takes('ToolBatchSettled', this.batchFields());
  }

  /** Settles every owed call, in an order the plan allows, and then the batch. */
  batchDone(settlement: Settlement = {}): Session {
    let now = new Session(this, this.events, this.state);
    for (const { call_id } of this.effectsOf('tool.call')) now = now.settled(call_id, settlement);
    return now.batchSettled();
  }

  host(host_session: FieldsOf<'HostSessionUpdated'>['host_session'], detail?: string): Session {
    return this.takes('HostSessionUpdated', { host_session, ...(detail === undefined ? {} : { detail }) });
  }

  hostReady(): Session {
    return this.host({ host_session_id: 'host-1', host_session_status: 'ready' });
  }

  // ── people ──

  allowed(call_id: string, rest: Partial<FieldsOf<'user.tool_confirmation'>> = {}): Session {
    return this.takes('user.tool_confirmation', { ...this.answerFields(call_id), result: 'allow', ...rest });
  }

  denied(call_id: string, rest: Partial<FieldsOf<'user.tool_confirmation'>> = {}): Session {
    return this.takes('user.tool_confirmation', { ...this.answerFields(call_id), result: 'deny', ...rest });
  }

  fulfilled(call_id: string, rest: Partial<FieldsOf<'user.custom_tool_result'>> = {}): Session {
    const output = say(`answer to ${call_id}`);
    const answer = { ...this.answerFields(call_id), result: { success: true }, output };
    return this.takes('user.custom_tool_result', { ...answer, ...rest });
  }

  /** Answers the open question of a call. */
  elicited(
    call_id: string,
    action: FieldsOf<'user.elicitation_result'>['action'] = 'accept',
    rest: Partial<FieldsOf<'user.elicitation_result'>> = {},
  ): Session {
    return this.takes('user.elicitation_result', { ...this.elicitedFields(call_id), action, ...rest });
  }

  /** The fields by which a person names the question that a call asks. */
  elicitedFields(call_id: string): Omit<FieldsOf<'user.elicitation_result'>, 'action'> {
    return { ...this.attemptFields(call_id), question: this.callState(call_id)?.question?.digest ?? ZERO_DIGEST };
  }

  /** The fields by which a person names a call. */
  answerFields(call_id: string): {
    readonly batch_id: string;
    readonly call_id: string;
    readonly arguments_digest: string;
  } {
    const planned = this.state.active_tool_batch?.plan.planned_calls.find((entry) => entry.call_id === call_id);
    const { batch_id } = this.batchFields();
    return { batch_id, call_id, arguments_digest: planned?.arguments_digest ?? ZERO_DIGEST };
  }

  // ── views ──

  runId(): string {
    return this.state.run?.run_id ?? 'run-404';
  }

  turnFields(): { readonly run_id: string; readonly turn: number } {
    return { run_id: this.runId(), turn: this.state.run?.turn ?? 1 };
  }

  batchFields(): { readonly batch_id: string; readonly plan_hash: string } {
    const batch = this.state.active_tool_batch;
    return { batch_id: batch?.batch_id ?? 'batch-404', plan_hash: batch?.plan.plan_hash ?? ZERO_DIGEST };
  }

  callFields(call_id: string): {
    readonly batch_id: string;
    readonly plan_hash: string;
    readonly call_id: string;
    readonly attempt: number;
  } {
    return { ...this.batchFields(), call_id, attempt: this.callState(call_id)?.attempt ?? 1 };
  }

  settlementFields(call_id: string, settlement: Settlement = {}): FieldsOf<'ToolCallSettled'> {
    const success = settlement.success ?? (settlement.outcome === undefined || settlement.outcome === 'succeeded');
    const fields = this.callFields(call_id);
    return {
      ...fields,
      attempt: settlement.attempt ?? fields.attempt,
      result: settlement.result ?? { success },
      output: say(settlement.output ?? `output of ${call_id}`),
      ...(settlement.outcome === undefined ? {} : { outcome: settlement.outcome }),
      ...(settlement.code === undefined ? {} : { code: settlement.code }),
      ...(settlement.host_session === undefined ? {} : { host_session: settlement.host_session }),
    };
  }

  /** The state of a call of the open batch; of two with one id, the first. */
  callState(call_id: string): CallStateOf {
    const batch = this.state.active_tool_batch;
    const index = batch?.observed.findIndex((observed) => observed.call_id === call_id) ?? -1;
    return index === -1 ? undefined : batch?.pages.flat()[index];
  }

  effects(): readonly Effect[] {
    return effects(this.state);
  }

  effectsOf<K extends Effect['kind']>(kind: K): readonly EffectOfKind<K>[] {
    return this.effects().filter((effect): effect is EffectOfKind<K> => effect.kind === kind);
  }

  phase(): string {
    return this.state.run?.phase ?? 'idle';
  }

  /** The names of the effective tools, in order. */
  toolNames(): readonly string[] {
    return this.state.effective_tools.ordered_tools.map((entry) => entry.tool_name);
  }

  toolIds(): readonly string[] {
    return this.state.effective_tools.ordered_tools.map((entry) => entry.tool_id);
  }

  /** The open page of the transcript in short: `user TEXT`, `assistant TEXT [a b]`, `tool a TEXT`, `tool! a TEXT`. */
  transcript(): readonly string[] {
    return this.state.transcript.open.map((entry) => inShort(entry));
  }

  /** How the last run ended. */
  ending(): SessionState['run_history'][number]['ending'] | null {
    return this.state.run_history.at(-1)?.ending ?? null;
  }

  plan(): NonNullable<SessionState['active_tool_batch']>['plan'] {
    const plan = this.state.active_tool_batch?.plan;
    if (plan === undefined) throw new Error('no batch is open');
    return plan;
  }

  /** The code of every rejected call of the open batch, by index. */
  rejections(): Readonly<Record<number, string>> {
    return Object.fromEntries(this.plan().rejected.map(({ index, code }) => [index, code]));
  }
}

type CallStateOf = NonNullable<SessionState['active_tool_batch']>['pages'][number][number] | undefined;

export const ZERO_DIGEST = `sha256:${'0'.repeat(64)}` as Digest;

function inShort({ role, content, calls, call_id, is_error }: TranscriptEntry): string {
  const words = [
    is_error === true ? `${role}!` : role,
    ...(call_id === undefined ? [] : [call_id]),
    ...(content === undefined ? [] : ['text' in content ? content.text : content.ref]),
    ...(calls === undefined ? [] : [`[${calls.map((entry): CallId => entry.call_id).join(' ')}]`]),
  ];
  return words.join(' ');
}

/** A preview of a call that would make the file `a`. */
export const PREVIEW = { diff: say('» a: new file, 1 line\n+new'), files: [{ path: 'a', before: null }] };
export const PREVIEW_DIGEST = previewDigest(PREVIEW);

/** A new session of the test package that asks no one; `session({ tool_package: defaultToolPackage() })` has the real tools. */
export function session(overrides: GenesisOverrides = {}): Session {
  const { tool_package = testPackage(), ...rest } = overrides;
  const genesis = defaultGenesis({ consent: CONSENT_PRESETS.allow_all, ...rest, tool_package });
  return new Session({ genesis, tool_package }, [], initialState(genesis, tool_package));
}
