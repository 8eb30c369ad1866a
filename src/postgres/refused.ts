// What a failing database means to the caller of a port.
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { Refusal, catchRefusal } from '../journal/refusal.ts';
import { isLost } from './driver.ts';

/** A task that runs `work`. A connection that was lost becomes `storage_failed`: for reads, and for writes that may be repeated. */
export const catchLost = <T>(work: () => Promise<T>): TaskEither<Rejection, T> =>
  catchRefusal(async () => {
    try {
      return await work();
    } catch (error) {
      throw isLost(error) ? new Refusal(reject('storage_failed', '', `${error.message}; try again`)) : error;
    }
  });
