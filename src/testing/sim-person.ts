// The people of a simulated world. They act at the times of the scenario, repeat a request until it is answered, and resume
// every paused run after the last fault.
import { type Either, isLeft, isRight } from 'fp-ts/lib/Either.js';
import type { Effect } from '../../schemas/effect.ts';
import type { Ingress } from '../../schemas/event.ts';
import { type RunId, type SessionId, brand } from '../../schemas/ids.ts';
import { type Rejection, unreachable } from '../../schemas/rejection.ts';
import type { SessionState } from '../../schemas/state.ts';
import type { CreateSession } from '../../schemas/wire.ts';
import type { EngineClient } from '../client/client.ts';
import { answerTo, answerToCall, awaitsPreview } from './sim-answers.ts';
import type { StoredSession } from './laws/stored-session.ts';
import { owedEffects } from './laws/owed-effects.ts';
import { type Act, FAULTS_END_MS, type SessionScript } from './scenario.ts';
import type { ProcessClock } from './sim-time.ts';
import { SIM_CONSENT, simPackage, simRedefined, simToolId } from './sim-tools.ts';
import { type ToolsetAct, toolsetIngress } from './toolset-script.ts';
import { CONSENT_PRESETS } from '../toolsets/consent-presets.ts';

/** How long a person waits before repeating a request, in milliseconds. */
const REPEAT_MS = 300;
/** How often a person answers questions, and resumes paused runs after the last fault, in milliseconds. */
const ROUND_MS = 1_000;
/** A person waits for a preview in so many rounds. */
const PREVIEW_ROUNDS = 3;

export interface Person {
  /** How many requests are not answered yet. */
  pending(): number;
}

interface PersonOptions {
  readonly client: EngineClient;
  readonly clock: ProcessClock;
  readonly id: SessionId;
  readonly script: SessionScript;
  /** What is durable of the session; null before it is created. */
  readonly stored: () => StoredSession | null;
  /** Whether the tool that asks makes previews. */
  readonly previews: boolean;
  /** Whether a bridge leases undos. */
  readonly canUndo: () => boolean;
  /** The engine has confirmed this event. */
  readonly onConfirmed: (event_id: string) => void;
}

export function newPerson(options: PersonOptions): Person {
  const { client, clock, id, script, stored, previews, canUndo, onConfirmed } = options;
  const state = (): SessionState | null => stored()?.state() ?? null;
  let pending = 0;
  let sent = 0;
  const asked = new Set<string>();
  const isAwaited = newPatience();
  const policies = (): number => stored()?.events.filter(({ kind }) => kind === 'ConsentPolicySet').length ?? 0;

  async function untilAnswered<A>(ask: () => Promise<Either<Rejection, A>>): Promise<Either<Rejection, A>> {
    for (;;) {
      const answer = await ask();
      if (isRight(answer) || !UNAVAILABLE.has(answer.left.code)) return answer;
      await sleep(clock, REPEAT_MS);
    }
  }

  async function submit(event: Ingress): Promise<void> {
    pending += 1;
    sent += 1;
    const event_id = brand<'EventId'>(`person-${sent}`);
    const named = { ...event, event_id };
    const answer = await untilAnswered(() => client.submit(id, { events: [named] })());
    if (isRight(answer)) onConfirmed(event_id);
    pending -= 1;
  }

  async function begin(): Promise<void> {
    pending += 1;
    const request = requestFor(script, id, previews);
    const created = await untilAnswered(() => client.createSession(request)());
    pending -= 1;
    if (isLeft(created) && created.left.code !== 'session_exists') return;
    const acts = actsOf(script, perform, (what) => submit(toolsetIngress(what, state())));
    for (const act of acts.filter(({ atMs }) => atMs === 0)) await act.perform();
    void submit({ kind: 'RunRequested', input: { text: 'begin' } });
    for (const act of acts.filter(({ atMs }) => atMs > 0)) clock.after(act.atMs, () => void act.perform());
  }

  async function perform({ what }: Act): Promise<void> {
    const event =
      what === 'undo'
        ? undoOf(canUndo() ? stored() : null)
        : ingressOf(what, state(), { nowMs: clock.now(), previews });
    if (event !== null) await submit(event);
  }

  /** Answers the open questions, the last one first, each once under each policy. */
  async function answer(): Promise<void> {
    const now = state();
    const owed = now === null ? [] : owedEffects(now).toReversed();
    await Promise.all(
      owed.flatMap((effect) => {
        // A question may be asked again when the policy has changed.
        const question = `${effect.effect_id} ${policies()}`;
        if (asked.has(question) || isAwaited(effect, question)) return [];
        const { answers, afterMs } =
          effect.kind === 'agent.elicitation'
            ? answerToCall(effect, stored())
            : { answers: answerTo(effect), afterMs: 0 };
        if (answers.length > 0) asked.add(question);
        if (afterMs > 0) clock.after(afterMs, () => answers.forEach((event) => void submit(event)));
        return afterMs > 0 ? [] : answers.map((event) => submit(event));
      }),
    );
    clock.after(ROUND_MS, () => void answer());
  }

  /** A run that a person paused waits until a person resumes it. */
  async function resumePaused(): Promise<void> {
    const run = state()?.run;
    if (run?.phase.startsWith('paused_') === true) await submit({ kind: 'RunResumed', run_id: run.run_id });
    clock.after(ROUND_MS, () => void resumePaused());
  }

  clock.after(FAULTS_END_MS, () => void resumePaused());
  clock.after(ROUND_MS, () => void answer());
  void begin();
  return { pending: () => pending };
}

/** The request for the session of a script. */
function requestFor(script: SessionScript, session_id: SessionId, previews: boolean): CreateSession {
  const { concurrency, calls, tokens = null, wallMs = null, askedMs = null, model } = script;
  const mark = model?.mark ?? null;
  const bounds = { repeats_max: 1_000, turns_max: 8, tokens_max: tokens, wall_ms_max: wallMs };
  const context = mark === null ? {} : { context: { mark } };
  const config = { tool_concurrency_max: concurrency, calls_max: calls, ...bounds, ...context };
  const consent = askedMs === null ? SIM_CONSENT : { ...SIM_CONSENT, approval_ttl_ms: askedMs };
  return { session_id, tool_package: simPackage(previews), consent, config };
}

interface PlannedAct {
  readonly atMs: number;
  readonly perform: () => Promise<void>;
}

/** The acts of a person, and what happens to the toolset of the session. */
const actsOf = (
  { acts, toolset = [] }: SessionScript,
  perform: (act: Act) => Promise<void>,
  performOnToolset: (what: ToolsetAct['what']) => Promise<void>,
): readonly PlannedAct[] => [
  ...acts.map((act) => ({ atMs: act.atMs, perform: () => perform(act) })),
  ...toolset.map(({ atMs, what }) => ({ atMs, perform: () => performOnToolset(what) })),
];

const sleep = (clock: ProcessClock, ms: number): Promise<void> =>
  new Promise((resolve) => {
    clock.after(ms, resolve);
  });

/** Says whether a person still waits for the preview of a question, which the answer would name. Asked once a round. */
function newPatience(): (effect: Effect, question: string) => boolean {
  const waited = new Map<string, number>();
  return (effect, question) => {
    if (!awaitsPreview(effect)) return false;
    const rounds = (waited.get(question) ?? 0) + 1;
    waited.set(question, rounds);
    return rounds <= PREVIEW_ROUNDS;
  };
}

const UNAVAILABLE: ReadonlySet<string> = new Set([
  'closing',
  'internal',
  'storage_failed',
  'storage_unknown',
  'queue_full',
]);

interface Known {
  readonly nowMs: number;
  readonly previews: boolean;
}

/** The event of an act, given the state of the session; null when the act needs a run and there is none. */
function ingressOf(
  what: Exclude<Act['what'], 'undo'>,
  state: SessionState | null,
  { nowMs, previews }: Known,
): Ingress | null {
  const input = { text: what };
  const write = simToolId('write');
  if (isChange(what)) return CHANGED[what](state?.version ?? 0, previews);
  if (isRunAct(what)) {
    const run_id = state?.run?.run_id;
    return run_id === undefined ? null : TO_A_RUN[what](run_id);
  }
  switch (what) {
    case 'run':
      return { kind: 'RunRequested', input };
    case 'follow_up':
      return { kind: 'FollowUpQueued', follow_up: { input } };
    case 'disable_write':
      return { kind: 'ToolOverridesSet', scope: 'session', disable: [write] };
    case 'force_write':
      return { kind: 'ToolOverridesSet', scope: 'session', disable: [write], force: [write, simToolId('put')] };
    case 'host_ready': {
      const expires_at_ms = nowMs + HOST_LIFE_MS;
      return { kind: 'HostSessionUpdated', host_session: { host_session_status: 'ready', expires_at_ms } };
    }
  }
  return unreachable(what);
}

/** An undo of the last call that changed files, even if it is undone already; else of the last settled call. */
function undoOf(stored: StoredSession | null): Ingress | null {
  const ended = stored?.events.filter((event) => event.kind === 'ToolCallSettled') ?? [];
  const call = ended.findLast(({ changes }) => changes !== undefined) ?? ended.at(-1);
  return call === undefined ? null : { kind: 'UndoRequested', call_id: call.call_id };
}

/** How long a host session that a person opened lives, in milliseconds. */
const HOST_LIFE_MS = 8_000;

type ChangeAct = 'host_close' | 'brake' | 'ask_all' | 'allow_all' | 'redefine';

/** Changes of what is allowed, at a version of the session. */
const CHANGED: Readonly<Record<ChangeAct, (version: number, previews: boolean) => Ingress>> = {
  host_close: () => ({ kind: 'HostSessionUpdated', host_session: { host_session_status: 'closed' } }),
  brake: () => ({ kind: 'ConsentPolicySet', policy: CONSENT_PRESETS.read_only }),
  ask_all: () => ({ kind: 'ConsentPolicySet', policy: CONSENT_PRESETS.careful }),
  allow_all: () => ({ kind: 'ConsentPolicySet', policy: CONSENT_PRESETS.allow_all }),
  redefine: (version, previews) => ({ kind: 'ToolRegistrySet', registry: simRedefined(version, previews) }),
};

const isRunAct = (what: Act['what']): what is RunAct => Object.hasOwn(TO_A_RUN, what);

const isChange = (what: Act['what']): what is ChangeAct => Object.hasOwn(CHANGED, what);

type RunAct = 'steer' | 'pause' | 'resume' | 'interrupt' | 'interrupt_with' | 'cancel';

const TO_A_RUN: Readonly<Record<RunAct, (run_id: RunId) => Ingress>> = {
  steer: (run_id) => ({ kind: 'RunSteered', run_id, input: { text: 'steer' } }),
  pause: (run_id) => ({ kind: 'RunPaused', run_id }),
  resume: (run_id) => ({ kind: 'RunResumed', run_id }),
  interrupt: (run_id) => ({ kind: 'user.interrupt', run_id }),
  interrupt_with: (run_id) => ({ kind: 'user.interrupt', run_id, input: { text: 'rather this' } }),
  cancel: (run_id) => ({ kind: 'RunCancelled', run_id }),
};
