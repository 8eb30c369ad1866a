// Finds out whether writes took effect whose connection was lost before the answer. A look-up alone would not do: it may say
// "absent", and the write commit a second later. So the epochs are raised first, which waits for the write and shuts out
// what has not begun; what is looked up after it is final. Nothing is inferred from the version of a stream.
import { left, right } from 'fp-ts/lib/Either.js';
import type { Version } from '../../schemas/ids.ts';
import { type RejectionCode, reject, unreachable } from '../../schemas/rejection.ts';
import { rejectionOf } from '../journal/refusal.ts';
import { type Given, type Lost, isLost } from './driver.ts';
import { eventKeysOf } from './event-key.ts';
import type { Pool } from './pool.ts';
import { type WriteAnswer, versionOf } from './rounds.ts';
import type { Tenures } from './tenures.ts';
import type { StreamWrite } from './writes.ts';

export interface DoubtPorts {
  readonly pool: Pool;
  readonly tenures: Tenures;
}

/** The answers to writes that were cut off. */
export async function answerInDoubt(
  { pool, tenures }: DoubtPorts,
  writes: readonly StreamWrite[],
  cause: Lost,
): Promise<readonly WriteAnswer[]> {
  const partitions = writes.map(({ partition }) => partition);
  tenures.doubt(partitions);
  try {
    await tenures.settle(partitions);
    const recorded = await Promise.all(writes.map((write) => isRecorded(pool, write)));
    return writes.map((write, index) =>
      recorded[index] === true ? right(answerTo(write)) : left(reject('storage_failed', '', notRecorded(cause))),
    );
  } catch (error) {
    const why = isLost(error) ? error.message : rejectionOf(error).message;
    const code: RejectionCode = 'storage_unknown';
    return writes.map(({ session }) =>
      left(
        reject(
          code,
          '',
          `a write to session ${session} was cut off (${cause.message}), and so was finding out whether it was recorded (${why}); look the event id up`,
        ),
      ),
    );
  }
}

const notRecorded = ({ message }: Lost): string => `${message}; nothing was recorded`;

function answerTo(write: StreamWrite): Version {
  if (write.kind === 'append') return versionOf(write);
  return write.kind === 'create' ? (0 as Version) : (write.tombstone.version ?? (0 as Version));
}

async function isRecorded(pool: Pool, write: StreamWrite): Promise<boolean> {
  switch (write.kind) {
    case 'create':
      return hasRow(pool, GENESIS, [write.session, write.genesis]);
    case 'append': {
      const { session, commits, head } = write;
      const last = commits.at(-1);
      const event = last?.events.at(-1);
      // A head that says the same is as good as one that was written.
      if (event === undefined) {
        const facts = [JSON.stringify(head.card), head.owing, head.wake_at_ms];
        return hasRow(pool, HEAD, [session, versionOf(write), ...facts]);
      }
      return hasRow(pool, EVENT, [eventKeysOf(session)(event.event_id).toString('hex'), versionOf(write) - 1]);
    }
    case 'delete':
      return hasRow(pool, TOMBSTONE, [write.session, write.tombstone.deleted_at_ms]);
    default:
      return unreachable(write);
  }
}

const hasRow = async (pool: Pool, ...[statement, given]: [string, readonly Given[]]): Promise<boolean> =>
  (await pool.query(statement, given)).length > 0;

const GENESIS = `SELECT FROM refold.stream s JOIN refold.genesis g ON g.stream = s.id WHERE s.session = $1 AND g.content = $2`;
const HEAD = `SELECT FROM refold.stream s WHERE s.session = $1 AND s.version = $2 AND s.card = $3
   AND s.owing = $4 AND s.wake_at_ms IS NOT DISTINCT FROM $5`;
const EVENT = `SELECT FROM refold.event_id WHERE key = $1::uuid AND position = $2`;
const TOMBSTONE = `SELECT FROM refold.tombstone WHERE session = $1 AND deleted_at_ms = $2`;
