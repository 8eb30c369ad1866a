// The line to the engine. An engine that is away is waited for, however long it takes: what was finished here must
// reach it once. Every other refusal is an answer.
import { type Either, isRight, left } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import { type Rejection, type RejectionCode, reject } from '../../schemas/rejection.ts';
import { type BridgeClock, sleep } from '../../src/clock.ts';
import { backoffMs } from './backoff.ts';
import { BACKOFF_MS_BASE, BACKOFF_MS_MAX } from '../../schemas/limits.ts';
import type { Log } from '../log.ts';

export interface Link {
  /** Asks until there is an answer. A signal that aborts ends the waiting with `closing`. */
  ask<A>(during: string, request: () => TaskEither<Rejection, A>, signal?: AbortSignal): Promise<Either<Rejection, A>>;
}

/** The engine, or its storage, was not there: nothing is known, and the same request may be made again. */
const isAway = ({ code }: Rejection): boolean => AWAY.has(code);

const AWAY: ReadonlySet<RejectionCode> = new Set<RejectionCode>([
  'closing',
  'storage_failed',
  'storage_full',
  'storage_unknown',
  'queue_full',
]);

interface LinkOptions {
  readonly clock: BridgeClock;
  readonly random: () => number;
  readonly log: Log;
  /** Ends every waiting. */
  readonly signal: AbortSignal;
}

export function newLink({ clock, random, log, signal }: LinkOptions): Link {
  // Many requests wait for the same engine: only the first says that it is away.
  let away = false;

  function noteAway(during: string, { code, message }: Rejection): void {
    if (!away) log({ event: 'reconnecting', during, code, message });
    away = true;
  }

  function noteBack(during: string): void {
    if (away) log({ event: 'reconnected', during });
    away = false;
  }

  return {
    async ask(during, request, own = signal) {
      const isOver = (): boolean => signal.aborted || own.aborted;
      for (let attempt = 0; !isOver(); attempt += 1) {
        const answer = await answerOf(request);
        if (isRight(answer) || !isAway(answer.left)) {
          noteBack(during);
          return answer;
        }
        if (isOver()) break;
        noteAway(during, answer.left);
        const ms = backoffMs(attempt, random, { baseMs: BACKOFF_MS_BASE, maxMs: BACKOFF_MS_MAX });
        await (own === signal ? sleep(clock, ms, signal) : sleep(clock, ms, signal, own));
      }
      return left(reject('closing', '', 'the bridge no longer waits for an answer'));
    },
  };
}

// A client must not throw; one that does has not answered.
async function answerOf<A>(request: () => TaskEither<Rejection, A>): Promise<Either<Rejection, A>> {
  try {
    return await request()();
  } catch (error) {
    return left(reject('closing', '', error instanceof Error ? error.message : 'the request threw'));
  }
}
