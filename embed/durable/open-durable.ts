// The core that the adapters of frameworks share: a loop that is not refold's runs on the record of one session. The loop
// asks for turns and brings the functions of calls; everything that it is given comes from the record.
import { randomUUID } from 'node:crypto';
import { systemClock } from '../../bridge/index.ts';
import { type ConsentPolicy, type OwnerId, type RunConfigPatch, type SessionId, brand } from '../../schemas/index.ts';
import { CONSENT_PRESETS, type ConsentPreset } from '../../src/index.ts';
import type { EngineClient } from '../../src/client/index.ts';
import { chooseSession, runEventId } from '../runs/begin-run.ts';
import type { EnginePlace } from '../runs/engine-place.ts';
import { RunUnfinished } from '../runs/live-run.ts';
import type { LocalPorts } from '../runs/open-local.ts';
import { type Answer, type Question, type QuestionAddress, answerQuestion } from '../runs/questions.ts';
import type { BroughtCall } from './bound-call.ts';
import { type CallRequest, callResult } from './call-result.ts';
import { newForeignWords } from './foreign-words.ts';
import { newLoopCalls } from './loop-calls.ts';
import { questionAbout, waitingQuestions } from './loop-questions.ts';
import type { LoopSession } from './loop-session.ts';
import type { LoopTool } from './loop-tools.ts';
import { type TurnOptions, cancelLeftRun, nextTurn, takeUpRun } from './next-turn.ts';
import { newRendezvous } from './rendezvous.ts';
import { newRunEnds } from './run-ends.ts';
import { newRunLog } from './run-log.ts';
import { newSessionStart } from './session-start.ts';
import { type SharedEngine, shareEngine } from './shared-engine.ts';
import type { RecordedTurn, TurnFormat, TurnRequest } from './turn.ts';

/** Give `dataDir`, or `engine` with its `token`; and the session. Everything else has a default. */
export interface DurableOptions extends EnginePlace, LocalPorts {
  /** The session that the loop runs in, created when it does not exist: 1 to 64 characters of `A-Z a-z 0-9 _ . -`. */
  readonly session: string;
  /**
   * Names the run within the session. An unfinished one goes on, a finished one gives its record again, and a new name
   * begins a new one. Without it an unfinished run goes on, and a finished one is never given again.
   */
  readonly run?: string;
  /** Which calls ask a person, when the session is made: a preset or a policy. `default` when absent. */
  readonly consent?: ConsentPreset | ConsentPolicy;
  /** Fields of the config of the run, such as `turns_max` or `tokens_max`. A TypeError with `context`: the loop writes its prompts. */
  readonly config?: RunConfigPatch;
}

/** What an adapter gives its application, besides the model and the tools. */
export interface DurableRun {
  /** The id of the session, as it was given. */
  readonly session: string;
  /**
   * What waits for a person in this session: may a call run (`approval`), please do it (`task`), or what a running call asks
   * (`elicitation`, with `asked`).
   */
  readonly waiting: () => Promise<readonly Question[]>;
  /**
   * Answers a question that was shown: an `elicitation` with an `action`, and the `content` of an `accept`. Throws a `NotWaiting`
   * when it waits no more.
   */
  readonly answer: (question: QuestionAddress, answer: Answer) => Promise<void>;
  /** Ends the run as completed, when the loop stops before the model is done. Does nothing when it is over. */
  readonly complete: () => Promise<void>;
  /** Ends the run as cancelled, and stops its running calls. Does nothing when it is over. */
  readonly cancel: (reason?: string) => Promise<void>;
  /** The engine, for everything else. */
  readonly client: EngineClient;
  /** Where the engine listens; null for one of this process without `serve`. */
  readonly url: string | null;
  /** Stops. A run that is not over goes on when the session is opened again. */
  readonly close: () => Promise<void>;
}

/** What an adapter calls in place of its framework's model and functions. */
export interface Durable extends DurableRun {
  /**
   * Gives the next turn: from the record, or else the model is asked, and its answer is durable when this resolves. Throws
   * `PromptDiffers`, `RunEnded`, `SessionInUse`, `RunUnfinished` after `close()`, and what the model throws.
   */
  readonly turn: (request: TurnRequest) => Promise<RecordedTurn>;
  /**
   * Gives the result of a call of the last turn: from the record, or else `run` is called once the plan, the policy and a
   * person allow it. Resolves with the text of the result (`resultOfText` reads it). Throws a `CallNotSucceeded` otherwise, and
   * a `CallDiffers` when the loop brings another tool or other arguments than are on record: then nothing runs.
   */
  readonly call: (request: CallRequest) => Promise<string>;
  /** The open question about a call, or that it asks, by its id in the recorded turn; null when it waits for no person. */
  readonly question: (id: string) => Promise<Question | null>;
  /**
   * Takes up an unfinished run without asking for a turn, for a loop that keeps its own history and goes on with calls.
   * Resolves with the id by which the recorded turn names each call; null for a call that the record has not.
   */
  readonly takeUp: (calls: readonly BroughtCall[], tools: readonly LoopTool[]) => Promise<readonly (string | null)[]>;
}

/** Twice the time that a lease outlives its process by default. */
const TAKEN_AFTER_MS = 30_000;

/** Opens a session for one loop. Throws a `SessionInUse` when another one has it. */
export async function openDurable(options: DurableOptions, format: TurnFormat): Promise<Durable> {
  const session: SessionId = chooseSession({ clock: systemClock, newId: () => '' }, options.session);
  const consent = policyOf(options.consent ?? 'default');
  checkConfig(options.config);
  const engine = await shareEngine(options, session);
  const { client, url } = engine;
  const parts = partsOf({ ...options, consent }, format, { session, engine });
  const { loop, words, ends, start } = parts;
  const inOrder = newOrder();
  let closing: Promise<void> | null = null;

  async function turn(request: TurnRequest): Promise<RecordedTurn> {
    // An abort of the loop before this one is still on its way.
    await ends.settled();
    if (closing !== null) throw new RunUnfinished(session, undefined);
    if (request.signal?.aborted === true) {
      await cancelLeftRun(parts, request.tools);
      throw request.signal.reason;
    }
    return await nextTurn(parts, request);
  }

  async function end(): Promise<void> {
    loop.log.fail(new RunUnfinished(session, undefined));
    await start.close();
    await ends.settled();
    await words.settled();
    await loop.log.close();
    await engine.close();
  }

  return {
    session,
    client,
    url,
    turn: (request) => inOrder(() => turn(request)),
    call: (request) => callResult(loop, ends, request),
    question: (id) => questionAbout(loop, id),
    takeUp: (calls, tools) => inOrder(() => takeUpRun(parts, calls, tools)),
    waiting: () => waitingQuestions(loop),
    answer: (question, answer) => answerQuestion(client, question, answer),
    complete: ends.complete,
    cancel: ends.cancel,
    close: () => (closing ??= end()),
  };
}

interface Opened {
  readonly session: SessionId;
  readonly engine: SharedEngine;
}

function partsOf(
  options: DurableOptions & { readonly consent: ConsentPolicy },
  format: TurnFormat,
  { session, engine }: Opened,
): TurnOptions {
  const { clock = systemClock, run: name = null, consent, config = {}, leaseTtlMs } = options;
  const { client } = engine;
  const words = newForeignWords({ client, session });
  const log = newRunLog({ client, session, key: name === null ? null : runEventId(name), onEvent: words.see });
  const rendezvous = newRendezvous(log.look);
  const calls = newLoopCalls();
  const loop: LoopSession = { session, client, log, calls, name, at: 0 };
  const { provider } = rendezvous;
  const owner: OwnerId = brand(options.owner ?? `loop-${process.pid}-${randomUUID().slice(0, 8)}`);
  const bridge = { ...options, engine, session, owner, provider, executor: calls.executor, onFailure: log.fail };
  const takenAfterMs = leaseTtlMs === undefined ? TAKEN_AFTER_MS : 2 * leaseTtlMs;
  return {
    loop,
    words,
    ends: newRunEnds(loop),
    start: newSessionStart({ loop, consent, config, bridge }),
    asking: { session, client, owner, log, rendezvous, clock, format, takenAfterMs },
  };
}

/** Runs one piece of work after the other, whatever became of the one before it. */
function newOrder(): <A>(work: () => Promise<A>) => Promise<A> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  };
}

/** A summary of the conversation would be asked of the loop, which asks for turns alone. */
function checkConfig({ context = null }: RunConfigPatch = {}): void {
  if (context === null) return;
  throw new TypeError(
    'config.context is not for the loop of a framework: shorten its prompts there, or let createAgent run it',
  );
}

function policyOf(consent: ConsentPreset | ConsentPolicy): ConsentPolicy {
  if (typeof consent !== 'string') return consent;
  if (Object.hasOwn(CONSENT_PRESETS, consent)) return CONSENT_PRESETS[consent];
  const names = Object.keys(CONSENT_PRESETS).join(', ');
  throw new TypeError(`consent "${consent as string}" is no preset: give one of ${names}, or a policy`);
}
