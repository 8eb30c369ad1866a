// The core that the adapters of frameworks share: a loop that is not refold's runs on the record of one session. The loop
// asks for turns and brings the functions of calls; everything that it is given comes from the record.
import { systemClock } from '../../bridge/index.ts';
import type { ConsentPolicy, RunConfigPatch, SessionId } from '../../schemas/index.ts';
import { CONSENT_PRESETS, type ConsentPreset } from '../../src/index.ts';
import { type EngineClient, RejectedError, must } from '../../src/client/index.ts';
import { beginRun, chooseSession, makeSession, runEventId } from '../runs/begin-run.ts';
import { storeText, wholeText } from '../runs/contents.ts';
import type { EnginePlace } from '../runs/engine-place.ts';
import { RunUnfinished } from '../runs/live-run.ts';
import type { LocalPorts } from '../runs/open-local.ts';
import { type Answer, type Question, type QuestionAddress, answerQuestion, openQuestions } from '../runs/questions.ts';
import { askModel } from './asking.ts';
import { CallNotSucceeded, RunEnded, SessionInUse } from './errors.ts';
import { endLeftCalls, hasEnded, modelIdOf } from './left-calls.ts';
import { type LoopFunction, newLoopCalls } from './loop-calls.ts';
import { type LoopTool, loopPackage, registryFor } from './loop-tools.ts';
import { newRendezvous } from './rendezvous.ts';
import { findTurn } from './replay.ts';
import { type LoggedRun, newRunLog } from './run-log.ts';
import { type SessionBridge, startBridge } from './session-bridge.ts';
import { shareEngine } from './shared-engine.ts';
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
  /** Fields of the config of the run, such as `turns_max` or `tokens_max`. */
  readonly config?: RunConfigPatch;
}

/** What an adapter gives its application, besides the model and the tools. */
export interface DurableRun {
  readonly session: string;
  /** The calls of this session that wait for a person. */
  readonly waiting: () => Promise<readonly Question[]>;
  /** Answers a question that was shown. Throws a `NotWaiting` when it waits no more. */
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
   * person allow it. Resolves with the text of the result (`resultOfText` reads it). Throws a `CallNotSucceeded` otherwise.
   */
  readonly call: (request: CallRequest) => Promise<string>;
  /** The open question about a call, by the id that the model gave it; null when it waits for no person. */
  readonly question: (id: string) => Promise<Question | null>;
  /**
   * Takes up an unfinished run without asking for a turn, for a loop that keeps its own history and goes on with calls.
   * Resolves with whether the record has a call of this id.
   */
  readonly takeUp: (id: string, tools: readonly LoopTool[]) => Promise<boolean>;
}

export interface CallRequest {
  /** As the model named the call. */
  readonly id: string;
  readonly run: LoopFunction;
  /** Whether a tool with `ask` really asks for this call; when it says no, and no policy asks, the call is allowed. */
  readonly asks?: () => boolean | Promise<boolean>;
  /** Cancels the run when it aborts. */
  readonly signal?: AbortSignal | undefined;
}

/** Twice the time that a lease outlives its process by default. */
const TAKEN_AFTER_MS = 30_000;

/** Opens a session for one loop. Throws a {@link SessionInUse} when another one has it. */
export async function openDurable(options: DurableOptions, format: TurnFormat): Promise<Durable> {
  const session: SessionId = chooseSession({ clock: systemClock, newId: () => '' }, options.session);
  const consent = policyOf(options.consent ?? 'default');
  const engine = await shareEngine(options, session);
  const { client, url } = engine;
  const { clock = systemClock, run: name } = options;
  const log = newRunLog(client, name === undefined ? null : runEventId(name));
  const rendezvous = newRendezvous(log.look);
  const calls = newLoopCalls();
  const background = new Set<Promise<void>>();
  const takenAfterMs = options.leaseTtlMs === undefined ? TAKEN_AFTER_MS : 2 * options.leaseTtlMs;
  const asking = { session, log, rendezvous, clock, format, takenAfterMs };
  let isRead = false;
  let bridge: Promise<SessionBridge> | null = null;
  let at = 0;
  let queue: Promise<unknown> = Promise.resolve();

  async function readLog(): Promise<void> {
    if (isRead) return;
    const found = await client.session(session)();
    if (found._tag === 'Left') {
      if (found.left.code === 'unknown_session') return;
      throw new RejectedError(found.left);
    }
    isRead = true;
    await log.read(session, found.right.state.version);
  }

  /** Once for each process: the tools and the config are those of the program that runs now. */
  async function begin(request: Pick<TurnRequest, 'tools'>): Promise<void> {
    if (bridge !== null) return;
    const state = log.state();
    const tool_package = loopPackage(registryFor(request.tools, state));
    await makeSession(client, { tool_package, consent, config: options.config ?? {} }, session);
    await readLog();
    bridge = startBridge({
      ...options,
      engine,
      session,
      provider: rendezvous.provider,
      executor: calls.executor,
      onFailure: log.fail,
    });
    await bridge;
  }

  async function newRun(request: TurnRequest): Promise<LoggedRun> {
    const old = log.run();
    if (old !== null && old.ended === null) await cancel('replaced before its first turn');
    if (old !== null) await log.until(() => (log.run()?.ended === null ? undefined : true));
    log.leave();
    at = 0;
    const { state } = await must(client.session(session));
    const tool_package = loopPackage(registryFor(request.tools, state));
    const instructions = request.instructions === null ? null : await storeText(client, request.instructions);
    const setup = { tool_package, consent, config: options.config ?? {} };
    await beginRun(client, setup, {
      prompt: request.input,
      session,
      resume: false,
      wasUnfinished: false,
      overrides: { model: format.model.slice(0, 128), instructions },
      ...(name === undefined ? {} : { key: name }),
    }).catch((error: unknown) => {
      const taken = error instanceof RejectedError && error.rejection.code === 'run_already_active';
      throw taken
        ? new SessionInUse(session, 'it has another run, which is not over. Name that one, or end it', error)
        : error;
    });
    return await log.until(() => log.run() ?? undefined, request.signal);
  }

  async function nextTurn(request: TurnRequest): Promise<RecordedTurn> {
    request.signal?.throwIfAborted();
    // An abort of the loop before this one is still on its way.
    await Promise.all(background);
    if (closing !== null) throw new RunUnfinished(session, undefined);
    await readLog();
    await begin(request);
    try {
      const found = findTurn(log.run(), request, { session, at, named: name !== undefined });
      if (typeof found === 'number') return given(found, true);
      const run = found === 'begin' ? await newRun(request) : (log.run() as LoggedRun);
      await endLeftCalls({ client, log, calls }, run, request.results);
      const index = run.turns.length;
      await cancelledBy(request.signal, () => askModel(asking, run, request));
      return given(index, false);
    } catch (error) {
      // The loop has been told: what it asks next is a new run.
      if (error instanceof RunEnded && name === undefined) {
        log.leave();
        at = 0;
      }
      throw error;
    }
  }

  function given(index: number, replayed: boolean): RecordedTurn {
    at = index + 1;
    const turn = log.run()?.turns[index] as LoggedRun['turns'][number];
    return { ...turn.recorded, replayed };
  }

  /** An abort of the loop cancels the run: what was begun ends as cancelled, and is not taken up again. */
  async function cancelledBy<A>(signal: AbortSignal | undefined, work: () => Promise<A>): Promise<A> {
    const onAbort = (): void => {
      const cancelling = cancel('aborted by the application').catch(() => undefined);
      background.add(cancelling);
      void cancelling.finally(() => background.delete(cancelling));
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      return await work();
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  async function cancel(reason = 'cancelled by the application'): Promise<void> {
    const { run } = await stateNow();
    if (run === null || run.phase === 'cancelling' || !isFollowed(run.run_id)) return;
    await must(client.submit(session, { events: [{ kind: 'RunCancelled', run_id: run.run_id, reason }] }));
    await log.until(() => (log.run()?.ended === null ? undefined : true));
  }

  async function complete(): Promise<void> {
    const { run } = await stateNow();
    if (run === null || !isFollowed(run.run_id)) return;
    await must(client.submit(session, { events: [{ kind: 'RunCompleted', run_id: run.run_id }] }));
    await log.until(() => (log.run()?.ended === null ? undefined : true));
  }

  async function stateNow(): Promise<{ readonly run: { readonly run_id: never; readonly phase: string } | null }> {
    await readLog();
    if (!isRead) return { run: null };
    return (await must(client.session(session))).state as never;
  }

  const isFollowed = (run_id: string): boolean => log.run()?.run_id === run_id;

  const madeCall = (id: string) =>
    log
      .run()
      ?.calls()
      .findLast((made) => modelIdOf(made) === id && made.turn <= at);

  async function question(id: string): Promise<Question | null> {
    const made = madeCall(id);
    if (made?.status !== 'waiting') return null;
    const open = await openQuestions(client, session);
    return open.find(({ call }) => call === made.call.call_id) ?? null;
  }

  /** None before the session is made. */
  async function openOnes(): Promise<readonly Question[]> {
    const found = await client.session(session)();
    const isUnknown = found._tag === 'Left' && found.left.code === 'unknown_session';
    return isUnknown ? [] : await openQuestions(client, session);
  }

  async function takeUp(id: string, tools: readonly LoopTool[]): Promise<boolean> {
    await readLog();
    const run = log.run();
    if (run === null) return false;
    at = Math.max(at, run.turns.length);
    if (madeCall(id) === undefined) return false;
    await begin({ tools });
    return true;
  }

  async function call({ id, run, asks, signal }: CallRequest): Promise<string> {
    const find = () => madeCall(id);
    const made = find();
    if (made === undefined) throw new Error(`the model has made no call "${id}" in this run of session ${session}`);
    const { call_id } = made.call;
    const withdraw = hasEnded(made) ? () => undefined : calls.offer(call_id, run);
    if (asks !== undefined && !hasEnded(made)) void allowUnasked(call_id, asks).catch(log.fail);
    try {
      const ended = await cancelledBy(signal, () =>
        log.until(() => {
          const now = find();
          const isOver = now === undefined || hasEnded(now) || log.run()?.ended !== null;
          return isOver ? (now ?? made) : undefined;
        }, signal),
      );
      const text = ended.output === null ? '' : await wholeText(client, ended.output);
      if (ended.status === 'succeeded') return text;
      const status = hasEnded(ended) ? ended.status : 'cancelled';
      throw new CallNotSucceeded(id, status, ended.code, text === '' ? `the call ended as ${status}` : text);
    } finally {
      withdraw();
    }
  }

  /** A tool that asks of itself, but not for this call. What the policy asks, a person answers. */
  async function allowUnasked(call: string, asks: () => boolean | Promise<boolean>): Promise<void> {
    const question = await log.until(() => (isOpen(call) ? true : isClosed(call) ? false : undefined));
    if (!question || (await asks())) return;
    const asked = (await openQuestions(client, session)).find((one) => one.call === call);
    if (asked?.reasons.every((reason) => reason === 'tool_asks') === true)
      await asked.answer({ allow: true, by: 'needsApproval' });
  }

  const statusOf = (call: string) =>
    log
      .run()
      ?.calls()
      .findLast((made) => made.call.call_id === call)?.status;
  const isOpen = (call: string): boolean => statusOf(call) === 'waiting';
  const isClosed = (call: string): boolean => statusOf(call) !== 'waiting' && statusOf(call) !== undefined;

  let closing: Promise<void> | null = null;
  async function end(): Promise<void> {
    log.fail(new RunUnfinished(session, undefined));
    await (await bridge)?.close();
    await Promise.all(background);
    await log.close();
    await engine.close();
  }

  return {
    session,
    client,
    url,
    turn(request) {
      const mine = queue.then(() => nextTurn(request));
      queue = mine.catch(() => undefined);
      return mine;
    },
    call,
    question,
    takeUp(id, tools) {
      const mine = queue.then(() => takeUp(id, tools));
      queue = mine.catch(() => undefined);
      return mine;
    },
    waiting: openOnes,
    answer: (question, answer) => answerQuestion(client, question, answer),
    complete,
    cancel,
    close: () => (closing ??= end()),
  };
}

function policyOf(consent: ConsentPreset | ConsentPolicy): ConsentPolicy {
  if (typeof consent !== 'string') return consent;
  if (Object.hasOwn(CONSENT_PRESETS, consent)) return CONSENT_PRESETS[consent];
  const names = Object.keys(CONSENT_PRESETS).join(', ');
  throw new TypeError(`consent "${consent as string}" is no preset: give one of ${names}, or a policy`);
}
