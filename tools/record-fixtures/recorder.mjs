// Records one session through the pure core. Every event gets the next id and the next second, so the same script gives the
// same bytes. An event is a commit of its own unless the script groups events with `together`. A refused event or a failed
// expectation stops the recording: a fixture must show what it is for.
import assert from 'node:assert/strict';
import {
  defaultGenesis,
  effects,
  eventDigest,
  genesisChain,
  initialState,
  nextChain,
  stateDigest,
  stepNew,
} from '../../dist/src/core/index.js';
import { EVENT_VERSION, canonicalText, digest, digestText } from '../../dist/schemas/index.js';
import { EVENTS_PER_COMMIT_MAX } from '../../dist/schemas/limits.js';
import { CONSENT_PRESETS } from '../../dist/src/toolsets/consent-presets.js';

/** 2026-01-01T00:00:00Z; event n is recorded n seconds later. */
const EPOCH_MS = 1_767_225_600_000;

export const say = (text) => ({ text });

/** One observed call, as the engine's edge records it. */
export const call = (call_id, tool_name, args = {}, rest = {}) => ({
  call_id,
  tool_name,
  arguments: args,
  arguments_digest: digest(args),
  arguments_verdict: { valid: true },
  ...rest,
});

/** Text kept as a blob, as events refer to it. */
export const blob = (text) => ({
  ref: digestText(text),
  bytes: new TextEncoder().encode(text).length,
  head: text.slice(0, 512).toWellFormed(),
  tail: text.slice(-512).toWellFormed(),
});

export class Recorder {
  lines = [];
  events = 0;
  /** The clock of the recording: never before a time that was reached. */
  nowMs = 0;
  /** The events of the commit that `together` is making; null outside of it. */
  #group = null;

  /** Without a policy, no call asks. */
  constructor(session_id, { tool_package, ...overrides }) {
    const given = { consent: CONSENT_PRESETS.allow_all, ...overrides, tool_package };
    const made = defaultGenesis({ session_id, created_at_ms: EPOCH_MS, ...given });
    // Most sessions were recorded before an offer was cut.
    const { offer_max: _cut, ...uncut } = made.config;
    const genesis = overrides.config?.offer_max === undefined ? { ...made, config: uncut } : made;
    this.state = initialState(genesis, tool_package);
    this.chain = genesisChain(this.state);
    this.#write({ kind: 'package', digest: genesis.tool_package_digest, tool_package });
    this.#write({ kind: 'genesis', format: 2, genesis, state_digest: stateDigest(this.state), chain: this.chain });
  }

  get text() {
    return `${this.lines.join('\n')}\n`;
  }

  /** Records one fact; throws when it is refused. */
  takes(kind, fields) {
    const number = this.events + 1;
    const given = {
      kind,
      v: EVENT_VERSION,
      event_id: `e-${number}`,
      at_ms: Math.max(this.nowMs, EPOCH_MS + 1_000 * number),
      ...fields,
    };
    const stepped = stepNew(this.state, given);
    assert.equal(stepped._tag, 'Right', `${kind} is refused: ${JSON.stringify(stepped.left)}`);
    const { event, state } = stepped.right;
    this.state = state;
    this.events = number;
    if (this.#group === null) this.#commit([event]);
    else this.#group.push(event);
    return this;
  }

  /** Whatever the script records is one commit, as when an engine appends together what came together. */
  together(script) {
    assert.equal(this.#group, null, 'a commit contains no other commit');
    this.#group = [];
    script(this);
    const events = this.#group;
    this.#group = null;
    return this.#commit(events);
  }

  #commit(events) {
    const { length } = events;
    assert.ok(length >= 1 && length <= EVENTS_PER_COMMIT_MAX, `a commit cannot have ${length} events`);
    const state_digest = stateDigest(this.state);
    this.chain = nextChain(this.chain, events.map(eventDigest), state_digest);
    this.#write({ kind: 'commit', position: this.events - length, events, state_digest, chain: this.chain });
    return this;
  }

  #write(record) {
    this.lines.push(canonicalText(record));
  }

  // ── the run ──

  runs(text, rest = {}) {
    return this.takes('RunRequested', { input: say(text), ...rest });
  }

  /** A fact about the live run. */
  ofRun(kind, rest = {}) {
    return this.takes(kind, { run_id: this.state.run.run_id, ...rest });
  }

  observes(calls, rest = {}) {
    return this.ofRun('ToolCallsObserved', { turn: this.state.run.turn, calls, ...rest });
  }

  answers(text) {
    return this.observes([], { content: say(text) });
  }

  // ── the batch ──

  get batch() {
    const { batch_id, plan } = this.state.active_tool_batch;
    return { batch_id, plan_hash: plan.plan_hash };
  }

  /** The recorded state of a call of the open batch (of two with one id, the first). */
  callState(call_id) {
    const { observed, pages } = this.state.active_tool_batch;
    return pages.flat()[observed.findIndex((entry) => entry.call_id === call_id)];
  }

  starts(call_id, owner = 'bridge-1') {
    const { attempt } = this.callState(call_id);
    return this.takes('ToolCallStarted', { ...this.batch, call_id, attempt, owner });
  }

  /** Settles a call; records its start first when it must be on record and is not. */
  settles(call_id, { output = `output of ${call_id}`, ...rest } = {}) {
    const planned = this.state.active_tool_batch.plan.planned_calls.find((entry) => entry.call_id === call_id);
    const ran = rest.outcome !== 'cancelled' && rest.outcome !== 'unknown';
    if (ran && !planned.read_only && this.callState(call_id).status === 'queued') this.starts(call_id);
    const { attempt } = this.callState(call_id);
    const settled = { ...this.batch, call_id, attempt, result: { success: true }, output: say(output) };
    return this.takes('ToolCallSettled', { ...settled, ...rest });
  }

  loses(call_id) {
    const { batch_id } = this.batch;
    return this.takes('LeaseExpired', { batch_id, call_id, attempt: this.callState(call_id).attempt });
  }

  /** The answer of a person to a question about a call. */
  confirms(call_id, result, rest = {}) {
    return this.takes('user.tool_confirmation', { ...this.#named(call_id), result, ...rest });
  }

  /** A person has performed a custom call. */
  fulfils(call_id, rest = {}) {
    const answer = { ...this.#named(call_id), result: { success: true }, output: say(`by hand: ${call_id}`) };
    return this.takes('user.custom_tool_result', { ...answer, ...rest });
  }

  #named(call_id) {
    const { batch_id, plan } = this.state.active_tool_batch;
    const { arguments_digest } = plan.planned_calls.find((planned) => planned.call_id === call_id);
    return { batch_id, call_id, arguments_digest };
  }

  /** The next time that the state waits for is reached. */
  passes(rest = {}) {
    const { at_ms } = effects(this.state).find((effect) => effect.kind === 'wake');
    this.nowMs = Math.max(this.nowMs, at_ms);
    return this.takes('TimeReached', { due_at_ms: at_ms, ...rest });
  }

  settlesBatch() {
    return this.takes('ToolBatchSettled', this.batch);
  }

  /** Settles every owed call, then the batch. */
  finishesBatch() {
    for (const effect of effects(this.state)) if (effect.kind === 'tool.call') this.settles(effect.call_id);
    return this.settlesBatch();
  }

  // ── what the recording must show ──

  /** `idle`, or the phase of the live run. */
  isNow(phase) {
    assert.equal(this.state.run?.phase ?? 'idle', phase);
    return this;
  }

  /** The outcome and code of the last ended run. */
  ended(outcome, code = null) {
    const { ending } = this.state.run_history.at(-1);
    assert.deepEqual([ending.outcome, ending.code], [outcome, code]);
    return this;
  }

  /** The codes of the rejected calls of the open batch, in call order. */
  refused(...codes) {
    assert.deepEqual(
      this.state.active_tool_batch.plan.rejected.map((entry) => entry.code),
      codes,
    );
    return this;
  }

  /** The status of calls of the open batch. */
  calls(expected) {
    for (const [id, status] of Object.entries(expected)) assert.equal(this.callState(id).status, status, id);
    return this;
  }

  /** The call ids of the owed effects of one kind. */
  owes(kind, ...call_ids) {
    const owed = effects(this.state).filter((effect) => effect.kind === kind);
    assert.deepEqual(
      owed.map((effect) => effect.call_id),
      call_ids,
    );
    return this;
  }

  /** The names of the effective tools, in order. */
  offers(...names) {
    assert.deepEqual(
      this.state.effective_tools.ordered_tools.map((tool) => tool.tool_name),
      names,
    );
    return this;
  }

  /** Any other expectation, as a predicate over the state. */
  shows(what, holds) {
    assert.ok(holds(this.state), `${this.state.session_id} does not show: ${what}`);
    return this;
  }
}
