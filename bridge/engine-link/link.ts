// Requests to the engine. While the engine is away, a request is repeated without limit, because finished work must be
// reported eventually. Every other refusal is an answer.
import { type Either, isRight, left } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import { type Rejection, type RejectionCode, reject } from '../../schemas/rejection.ts';
import { type BridgeClock, sleep } from '../../src/clock.ts';
import { backoffMs } from './backoff.ts';
import { BACKOFF_MS_BASE, BACKOFF_MS_MAX } from '../../schemas/limits.ts';
import type { Log } from '../log.ts';

export interface Link {
  /** Repeats the request until there is an answer. When the signal aborts, answers left with `closing`. */
  ask<A>(during: string, request: () => TaskEither<Rejection, A>, signal?: AbortSignal): Promise<Either<Rejection, A>>;
}

/** The engine or its storage was not available: the outcome is unknown, and the same request may be sent again. */
const isAway = ({ code }: Rejection): boolean => AWAY.has(code);

const AWAY: ReadonlySet<RejectionCode> = new Set<RejectionCode>([
  'closing',
  'internal',
  'storage_failed',
  'storage_full',
  'storage_unknown',
  'queue_full',
]);

interface LinkOptions {
  readonly clock: BridgeClock;
  readonly random: () => number;
  readonly log: Log;
  /** Ends every wait. */
  readonly signal: AbortSignal;
}

export function newLink({ clock, random, log, signal }: LinkOptions): Link {
  // Many requests wait for the same engine: only the first logs that it is away, and only the last that it is back. One that is
  // answered meanwhile shows nothing: on a full disk the engine still grants leases.
  let waiting = 0;

  function noteAway(during: string, { code, message }: Rejection): void {
    if (waiting === 0) log({ event: 'reconnecting', during, code, message });
    waiting += 1;
  }

  function noteBack(during: string): void {
    waiting -= 1;
    if (waiting === 0) log({ event: 'reconnected', during });
  }

  return {
    async ask(during, request, requestSignal = signal) {
      const isAborted = (): boolean => signal.aborted || requestSignal.aborted;
      let waits = false;
      for (let attempt = 0; !isAborted(); attempt += 1) {
        const answer = await answerOf(request);
        if (isRight(answer) || !isAway(answer.left)) {
          if (waits) noteBack(during);
          return answer;
        }
        if (isAborted()) break;
        if (!waits) noteAway(during, answer.left);
        waits = true;
        const ms = backoffMs(attempt, random, { baseMs: BACKOFF_MS_BASE, maxMs: BACKOFF_MS_MAX });
        await (requestSignal === signal ? sleep(clock, ms, signal) : sleep(clock, ms, signal, requestSignal));
      }
      if (waits) waiting -= 1;
      return left(reject('closing', '', 'the bridge no longer waits for an answer'));
    },
  };
}

// A client must not throw; an exception counts as no answer.
async function answerOf<A>(request: () => TaskEither<Rejection, A>): Promise<Either<Rejection, A>> {
  try {
    return await request()();
  } catch (error) {
    return left(reject('closing', '', error instanceof Error ? error.message : 'the request threw'));
  }
}
