// The people of a simulated world: they do what the scenario says at its times, send it again until they are
// answered, and, once nothing goes wrong any more, let every paused run go on.
import { type Either, isLeft, isRight } from 'fp-ts/lib/Either.js';
import type { Ingress } from '../../schemas/event.ts';
import { type RunId, type SessionId, brand } from '../../schemas/ids.ts';
import { type Rejection, unreachable } from '../../schemas/rejection.ts';
import type { SessionState } from '../../schemas/state.ts';
import type { CreateSession } from '../../schemas/wire.ts';
import type { EngineClient } from '../client/client.ts';
import { answerTo } from './sim-answers.ts';
import type { Book } from './laws/book.ts';
import { owedEffects } from './laws/owed-effects.ts';
import { type Act, FAULTS_END_MS, type SessionScript } from './scenario.ts';
import type { ProcessClock } from './sim-time.ts';
import { SIM_CONSENT, SIM_PACKAGE, simToolId } from './sim-tools.ts';

/** How long a person waits before asking again, in milliseconds. */
const AGAIN_MS = 300;
/** How often a person looks after paused runs once the faults are over, in milliseconds. */
const ROUND_MS = 1_000;

export interface Person {
  /** How many things are not answered yet. */
  pending(): number;
}

interface PersonOptions {
  readonly client: EngineClient;
  readonly clock: ProcessClock;
  readonly id: SessionId;
  readonly script: SessionScript;
  /** What is durable of the session; null before it is created. */
  readonly book: () => Book | null;
  /** Whether there is a bridge that can undo anything. */
  readonly canUndo: () => boolean;
  /** The engine has confirmed this event. */
  readonly onConfirmed: (event_id: string) => void;
}

export function newPerson({ client, clock, id, script, book, canUndo, onConfirmed }: PersonOptions): Person {
  const state = (): SessionState | null => book()?.state() ?? null;
  let pending = 0;
  let sent = 0;
  const asked = new Set<string>();

  const sleep = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      clock.after(ms, resolve);
    });

  async function untilAnswered<A>(ask: () => Promise<Either<Rejection, A>>): Promise<Either<Rejection, A>> {
    for (;;) {
      const answer = await ask();
      if (isRight(answer) || !AWAY.has(answer.left.code)) return answer;
      await sleep(AGAIN_MS);
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
    const { concurrency, calls, tokens = null, wallMs = null } = script;
    const bounds = { repeats_max: 1_000, turns_max: 8, tokens_max: tokens, wall_ms_max: wallMs };
    const config = { tool_concurrency_max: concurrency, calls_max: calls, ...bounds };
    const request: CreateSession = { session_id: id, tool_package: SIM_PACKAGE, consent: SIM_CONSENT, config };
    const created = await untilAnswered(() => client.createSession(request)());
    pending -= 1;
    if (isLeft(created) && created.left.code !== 'session_exists') return;
    void submit({ kind: 'RunRequested', input: { text: 'begin' } });
    for (const act of script.acts) {
      clock.after(act.atMs, () => {
        const event =
          act.what === 'undo' ? undoOf(canUndo() ? book() : null) : ingressOf(act.what, state(), clock.now());
        if (event !== null) void submit(event);
      });
    }
  }

  /** Answers what is asked by now, the last question first, each once. */
  async function answer(): Promise<void> {
    const now = state();
    const owed = now === null ? [] : owedEffects(now).toReversed();
    await Promise.all(
      owed.flatMap((effect) => {
        if (asked.has(effect.effect_id)) return [];
        const answers = answerTo(effect);
        if (answers.length > 0) asked.add(effect.effect_id);
        return answers.map((event) => submit(event));
      }),
    );
    clock.after(ROUND_MS, () => void answer());
  }

  /** Whoever pauses a run must let it go on some time: else it would wait for ever, and rightly so. */
  async function lookAfter(): Promise<void> {
    const run = state()?.run;
    if (run?.phase.startsWith('paused_') === true) await submit({ kind: 'RunResumed', run_id: run.run_id });
    clock.after(ROUND_MS, () => void lookAfter());
  }

  clock.after(FAULTS_END_MS, () => void lookAfter());
  clock.after(ROUND_MS, () => void answer());
  void begin();
  return { pending: () => pending };
}

const AWAY: ReadonlySet<string> = new Set(['closing', 'storage_failed', 'storage_unknown', 'queue_full']);

/** What an act says of a session as it is; null when there is nothing to do it to. */
function ingressOf(what: Exclude<Act['what'], 'undo'>, state: SessionState | null, nowMs: number): Ingress | null {
  const input = { text: what };
  const write = simToolId('write');
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
    case 'steer':
    case 'pause':
    case 'resume':
    case 'interrupt':
    case 'interrupt_with':
    case 'cancel': {
      const run_id = state?.run?.run_id;
      return run_id === undefined ? null : TO_A_RUN[what](run_id);
    }
  }
  return unreachable(what);
}

/** Of the last call that has changed anything, be it undone already; else of the last one that ended. */
function undoOf(book: Book | null): Ingress | null {
  const ended = book?.events.filter((event) => event.kind === 'ToolCallSettled') ?? [];
  const call = ended.findLast(({ changes }) => changes !== undefined) ?? ended.at(-1);
  return call === undefined ? null : { kind: 'UndoRequested', call_id: call.call_id };
}

/** How long a host session lives that a person opened, in milliseconds. */
const HOST_LIFE_MS = 8_000;

type RunAct = 'steer' | 'pause' | 'resume' | 'interrupt' | 'interrupt_with' | 'cancel';

const TO_A_RUN: Readonly<Record<RunAct, (run_id: RunId) => Ingress>> = {
  steer: (run_id) => ({ kind: 'RunSteered', run_id, input: { text: 'steer' } }),
  pause: (run_id) => ({ kind: 'RunPaused', run_id }),
  resume: (run_id) => ({ kind: 'RunResumed', run_id }),
  interrupt: (run_id) => ({ kind: 'user.interrupt', run_id }),
  interrupt_with: (run_id) => ({ kind: 'user.interrupt', run_id, input: { text: 'rather this' } }),
  cancel: (run_id) => ({ kind: 'RunCancelled', run_id }),
};
