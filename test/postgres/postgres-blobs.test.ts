import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { digestText } from '../../schemas/canonical.ts';
import { BLOB_PART_BYTES } from '../../schemas/limits.ts';
import type { Blobs } from '../../src/blobs/blobs.ts';
import { must } from '../../src/client/must.ts';
import { newPool } from '../../src/postgres/pool.ts';
import { openPostgresBlobs } from '../../src/postgres/postgres-blobs.ts';
import { blobsContract } from '../support/journal/blobs-contract.ts';
import { outcome } from '../support/journal/outcomes.ts';
import { numbersFrom } from '../support/journal/samples.ts';
import { connectTo } from '../support/postgres/connect.ts';
import {
  type Database,
  type Server,
  createDatabase,
  describePostgres,
  openServer,
} from '../support/postgres/database.ts';

describePostgres('on a server', () => {
  let server: Server;
  let database: Database;
  beforeAll(async () => {
    server = await openServer();
    database = await createDatabase(server);
  }, 120_000);
  afterAll(async () => {
    await database.drop();
    await server.stop();
  });

  async function opened(): Promise<{ readonly blobs: Blobs; readonly close: () => Promise<void> }> {
    const pool = newPool(await connectTo(database.url), 4);
    const blobs = openPostgresBlobs(pool);
    return { blobs, close: () => blobs.close().then(() => pool.close()) };
  }

  blobsContract('blobs in PostgreSQL', async () => {
    await database.empty();
    let current = await opened();
    return {
      blobs: current.blobs,
      reopen: async () => {
        await current.close();
        current = await opened();
        return current.blobs;
      },
      dispose: () => current.close(),
    };
  });

  describe('blobs in PostgreSQL', () => {
    const noise = (length: number): Uint8Array => {
      const next = numbersFrom(length);
      return Uint8Array.from({ length }, () => next(256));
    };

    test('return both ends of a blob of any number of rows', async () => {
      const { blobs, close } = await opened();
      for (const length of [1, BLOB_PART_BYTES - 1, BLOB_PART_BYTES, BLOB_PART_BYTES + 1, 3 * BLOB_PART_BYTES + 7]) {
        const bytes = noise(length);
        const ref = await must(blobs.put(bytes));
        for (const asked of [1, 300, BLOB_PART_BYTES]) {
          const size = Math.min(asked, length);
          const ends = await must(blobs.ends(ref, asked));
          expect(ends.bytes).toBe(length);
          expect(Buffer.compare(ends.head, bytes.subarray(0, size)), `${length} ${asked}`).toBe(0);
          expect(Buffer.compare(ends.tail, bytes.subarray(length - size)), `${length} ${asked}`).toBe(0);
        }
        expect(Buffer.compare(await must(blobs.get(ref)), bytes)).toBe(0);
      }
      await close();
    });

    test('are damaged when a row is changed or lost, and replaced when they are put again', async () => {
      const { blobs, close } = await opened();
      const bytes = noise(2 * BLOB_PART_BYTES);
      const digest = Buffer.from(digestText(bytes).slice('sha256:'.length), 'hex');
      for (const damage of [
        `UPDATE refold.blob_part SET content = set_byte(content, 5, 255 - get_byte(content, 5)) WHERE digest = $1`,
        `DELETE FROM refold.blob_part WHERE digest = $1 AND part = 1`,
        `DELETE FROM refold.blob_part WHERE digest = $1`,
      ]) {
        const ref = await must(blobs.put(bytes));
        await database.query(damage, [digest]);
        expect([damage, await outcome(blobs.get(ref))]).toEqual([damage, 'damaged']);
        await must(blobs.put(bytes, { durable: false }));
        expect(Buffer.compare(await must(blobs.get(ref)), bytes)).toBe(0);
      }
      await close();
    });
  });
});
