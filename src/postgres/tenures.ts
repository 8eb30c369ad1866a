// The tenures of one engine: which partitions it owns, and at which epoch. Every write names the epoch of its partition, and
// the database refuses it once the epoch was raised, so clocks only decide when another engine may claim a partition.
import { TENURE_MS, TENURE_RENEWED_MS } from '../../schemas/limits.ts';
import { reject } from '../../schemas/rejection.ts';
import type { Clock } from '../clock.ts';
import { Refusal } from '../journal/refusal.ts';
import { smalls } from './binary-array.ts';
import type { Pool } from './pool.ts';
import { PARTITIONS } from './schema-tables.ts';

export interface Tenures {
  /** The epoch at which a partition is held; null when it is not. */
  epochOf(partition: number): number | null;
  /** A partition turned out to belong to another engine. */
  lose(partition: number): void;
  /** A write to these partitions was cut off: whether it takes effect is open until their epochs are raised. */
  doubt(partitions: Iterable<number>): void;
  /**
   * Raises the epochs of those of these partitions that are in doubt, which waits for the writes that were cut off. What is
   * looked up after it is final. Throws when the database cannot be asked.
   */
  settle(partitions: Iterable<number>): Promise<void>;
  /** Gives the partitions up, so that another engine may claim them at once. */
  close(): Promise<void>;
}

interface TenurePorts {
  readonly pool: Pool;
  readonly clock: Clock;
  /** Unique to this opening. */
  readonly engine: string;
  /** Lease epochs in the block of each claim. */
  readonly leaseEpochs: number;
}

/** Claims every partition; refuses as `in_use` when another engine keeps one for longer than a tenure lasts. */
export async function claimAll(ports: TenurePorts): Promise<Tenures> {
  const { pool, clock, engine } = ports;
  const epochs = new Map<number, number>();
  const doubtful = new Set<number>();
  const endMs = clock.elapsed() + TENURE_MS + TENURE_RENEWED_MS;
  for (;;) {
    for (const { partition, epoch } of await claim(ports)) epochs.set(Number(partition), Number(epoch));
    if (epochs.size === PARTITIONS) break;
    if (clock.elapsed() > endMs) {
      await release(pool, engine);
      throw new Refusal(reject('in_use', '', await describeHolder(pool)));
    }
    await new Promise<void>((resolve) => clock.after(CLAIM_EVERY_MS, resolve));
  }

  async function renew(): Promise<void> {
    const sent = new Map(epochs);
    const rows = await pool.query(RENEW, [smalls([...sent.keys()]), engine, TENURE_MS]);
    const kept = new Set(rows.map(({ partition }) => Number(partition)));
    for (const [partition, epoch] of sent) {
      if (!kept.has(partition) && epochs.get(partition) === epoch) epochs.delete(partition);
    }
  }

  let closed = false;
  let renewing: Promise<void> = Promise.resolve();
  let stopTimer = (): void => undefined;
  function renewLater(): void {
    stopTimer = clock.after(TENURE_RENEWED_MS, () => {
      // A database that cannot be asked is asked again; a tenure that ends meanwhile is found by the next write.
      renewing = renew().catch(() => undefined);
      void renewing.then(() => (closed ? undefined : renewLater()));
    });
  }
  renewLater();

  return {
    epochOf: (partition) => epochs.get(partition) ?? null,
    lose: (partition) => void epochs.delete(partition),
    doubt: (partitions) => {
      for (const partition of partitions) doubtful.add(partition);
    },
    settle: async (partitions) => {
      const asked = [...new Set(partitions)].filter((partition) => doubtful.has(partition));
      if (asked.length === 0) return;
      const raised = new Map(
        (await pool.query(RAISE, [smalls(asked), engine])).map((row) => [
          Number(row['partition']),
          Number(row['epoch']),
        ]),
      );
      for (const partition of asked) {
        doubtful.delete(partition);
        const epoch = raised.get(partition);
        if (epoch === undefined) epochs.delete(partition);
        else epochs.set(partition, epoch);
      }
    },
    close: async () => {
      closed = true;
      stopTimer();
      await renewing;
      await release(pool, engine).catch(() => undefined);
    },
  };
}

const CLAIM_EVERY_MS = 100;

const claim = ({ pool, engine, leaseEpochs }: TenurePorts): ReturnType<Pool['query']> =>
  pool.query('SELECT * FROM refold.claim($1, NULL, $2, $3, $4)', [engine, TENURE_MS, PARTITIONS, leaseEpochs]);

// An engine is one opening, so every epoch under its name is its own: also one that it raised without seeing the answer.
const LOCK_OWN = (strength: string): string => `WITH own AS MATERIALIZED (
  SELECT partition FROM refold.partition WHERE partition = ANY ($1::smallint[]) AND engine = $2
   ORDER BY partition FOR ${strength})`;

const RENEW = `${LOCK_OWN('NO KEY UPDATE')}
UPDATE refold.partition p SET expires_at = clock_timestamp() + $3 * interval '1 millisecond'
  FROM own WHERE p.partition = own.partition RETURNING p.partition`;

const RAISE = `${LOCK_OWN('UPDATE')}
UPDATE refold.partition p SET epoch = p.epoch + 1 FROM own WHERE p.partition = own.partition
RETURNING p.partition, p.epoch`;

const release = (pool: Pool, engine: string): ReturnType<Pool['query']> =>
  pool.query(`UPDATE refold.partition SET engine = NULL, url = NULL, expires_at = '-infinity' WHERE engine = $1`, [
    engine,
  ]);

async function describeHolder(pool: Pool): Promise<string> {
  const [row] = await pool.query(
    `SELECT count(*)::integer AS held, max(expires_at)::text AS until FROM refold.partition WHERE expires_at > clock_timestamp()`,
  );
  return `another refold engine owns ${String(row?.['held'])} of ${PARTITIONS} partitions of this journal, until ${String(row?.['until'])} at least; stop it, or use it through its client`;
}
