// The network between the processes of a simulated world. Messages have separate delays, so they can overtake each other;
// requests and answers can be lost, duplicated, delayed or altered. A client without an answer gets the rejection that an
// HTTP client gets: the engine did not answer and the outcome is unknown.
import { type Either, left, right } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { LeaseGrant, SubmitReceipt } from '../../schemas/wire.ts';
import type { EngineClient } from '../client/client.ts';
import type { Random } from './random.ts';
import type { MessageFault } from './scenario.ts';
import { type ProcessClock, type SimTime, never } from './sim-time.ts';

/** A running engine process. */
export interface SimEngine {
  readonly client: EngineClient;
  readonly clock: ProcessClock;
  /** Resolves when the engine has stopped. */
  readonly gone: Promise<void>;
}

/** One request that an engine has answered, as the engine sees it. */
export interface Exchange {
  readonly from: string;
  readonly method: string;
  readonly request: readonly unknown[];
  readonly answer: Either<Rejection, unknown>;
  /** When the request reached the engine, in milliseconds since the start. */
  readonly deliveredMs: number;
}

interface SimNetworkOptions {
  readonly time: SimTime;
  readonly random: Random;
  /** Decides what happens to deltas, which are not counted as messages: with and without them the rest is the same. */
  readonly deltaRandom: Random;
  readonly faults: readonly MessageFault[];
  readonly engine: () => SimEngine | null;
  /** Called for each answer of an engine, before the network carries it. */
  readonly onAnswer: (exchange: Exchange) => void;
  /** Called for each fault of a message. */
  readonly onFault: (from: string, fault: MessageFault) => void;
}

export interface SimNetwork {
  /** A request that reaches the engine at once and whole, if it runs. */
  direct(from: string, method: keyof EngineClient, request: readonly unknown[]): Promise<void>;
  /** The client of a process. */
  clientOf(name: string, process: ProcessClock): EngineClient;
}

type Answer = Either<Rejection, unknown>;
type Method = (...args: unknown[]) => TaskEither<Rejection, unknown>;

export function newSimNetwork(options: SimNetworkOptions): SimNetwork {
  const { time, random } = options;
  const faultOf = new Map(options.faults.map((fault) => [fault.nth, fault]));
  let messages = 0;
  let tampers = 0;

  async function deliver(from: string, method: string, request: readonly unknown[]): Promise<Answer> {
    const engine = options.engine();
    if (engine === null) return left(unanswered('is not running'));
    const deliveredMs = time.passedMs();
    const ask = (engine.client[method as keyof EngineClient] as Method)(...request);
    const away = engine.gone.then((): Answer => left(unanswered('stopped before it answered')));
    const answer = await Promise.race([ask(), away]);
    if (!engine.clock.isDead()) options.onAnswer({ from, method, request, answer, deliveredMs });
    return answer;
  }

  async function onWay(fault: MessageFault | undefined, way: MessageFault['what']): Promise<void> {
    if (fault?.what === way) await time.sleep(fault.ms);
    else if (random.oneIn(4)) await time.sleep(1 + random.below(8));
  }

  async function exchange(from: string, method: string, request: readonly unknown[]): Promise<Answer> {
    messages += 1;
    const fault = faultOf.get(messages);
    if (fault !== undefined) options.onFault(from, fault);
    if (fault?.what === 'tamper') tampers += 1;
    await onWay(fault, 'delay_request');
    if (fault?.what === 'lose_request') return await lost(fault);
    if (fault?.what === 'duplicate' && REPEATABLE.has(method)) {
      time.after(fault.ms, () => void deliver(from, method, request));
    }
    const answer = await deliver(from, method, request);
    if (fault?.what === 'lose_answer') return await lost(fault);
    await onWay(fault, 'delay_answer');
    // A tamper fault applies to the next answer that carries a call.
    const altered = tampers > 0 && CARRY_CALLS.has(method) ? tamper(answer) : null;
    if (altered !== null) tampers -= 1;
    return altered ?? answer;
  }

  async function lost({ ms }: MessageFault): Promise<Answer> {
    await time.sleep(ms);
    return left(unanswered('does not answer'));
  }

  return {
    async direct(from, method, request) {
      await deliver(from, method, request);
    },
    clientOf(name, process) {
      const ask =
        (method: string): Method =>
        (...request) =>
        async () => {
          if (process.isDead()) return await never();
          const answer =
            method === 'postDeltas'
              ? await carryDeltas(options, () => deliver(name, method, request))
              : await exchange(name, method, request);
          await process.awake();
          return answer;
        };
      const methods = METHODS.map((method) => [method, ask(method)]);
      return {
        ...(Object.fromEntries(methods) as EngineClient),
        follow: () => {
          throw new Error('a simulated client cannot follow a stream');
        },
        close: () => Promise.resolve(),
      };
    },
  };
}

/** Deltas are delayed, overtake each other and are lost, as often as the random numbers that are drawn for them say. */
async function carryDeltas({ time, deltaRandom }: SimNetworkOptions, deliver: () => Promise<Answer>): Promise<Answer> {
  const fate = deltaRandom.below(8);
  if (fate < 3) await time.sleep(1 + deltaRandom.below(60));
  return fate === 0 ? left(unanswered('does not answer')) : await deliver();
}

const unanswered = (what: string): Rejection => reject('closing', '', `the engine ${what}`);

/** Methods whose messages the network may deliver twice. */
const REPEATABLE: ReadonlySet<string> = new Set(['submit', 'heartbeat', 'release', 'putBlob']);

const METHODS = [
  'info',
  'createSession',
  'sessions',
  'session',
  'submit',
  'postDeltas',
  'records',
  'lease',
  'heartbeat',
  'release',
  'putBlob',
  'getBlob',
] as const satisfies readonly (keyof EngineClient)[];

/** Methods whose answers may carry a call. */
const CARRY_CALLS: ReadonlySet<string> = new Set(['lease', 'submit']);

/** Alters the arguments of the last call in an answer, as a hostile proxy would; null when it carries no call. */
function tamper(answer: Answer): Answer | null {
  if (answer._tag === 'Left') return null;
  const { granted } = answer.right as SubmitReceipt;
  const isGrant = 'effects' in (answer.right as object);
  const altered = isGrant ? alter(answer.right as LeaseGrant) : granted === undefined ? null : alter(granted);
  if (isGrant && altered !== null) return right(altered);
  return altered === null ? null : right({ ...(answer.right as SubmitReceipt), granted: altered });
}

function alter(grant: LeaseGrant): LeaseGrant | null {
  const at = grant.effects.findLastIndex(({ kind }) => kind === 'tool.call');
  const effect = grant.effects[at];
  if (effect?.kind !== 'tool.call') return null;
  const { arguments_ref: _ref, ...rest } = effect;
  const altered = { ...rest, arguments: { ...effect.arguments, path: 'elsewhere' } };
  return { ...grant, effects: grant.effects.with(at, altered) };
}
