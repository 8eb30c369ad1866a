// A session of large events: every read of its stream takes little of it at a time, and yet reads all of it.
import { Buffer } from 'node:buffer';
import { describe, expect, test } from 'vitest';
import { READ_PAGE_BYTES } from '../../schemas/limits.ts';
import type { StreamRecord } from '../../schemas/record.ts';
import { readSession } from '../../src/cli/stream-file.ts';
import type { EngineClient } from '../../src/client/client.ts';
import { must } from '../../src/client/must.ts';
import { replay } from '../../src/core/index.ts';
import { openEngine } from '../../src/engine/engine.ts';
import { serveClient } from '../support/engine/serving.ts';
import { SESSION, Talk, packageOf } from '../support/engine/world.ts';
import { inTemporaryDirectory } from '../support/journal/temporary-directory.ts';
import { eventsOf } from '../support/records.ts';
import { tool } from '../support/tools.ts';

const EVENTS = 4;
const EVENT_BYTES = Math.ceil(0.6 * READ_PAGE_BYTES);

async function whole(client: EngineClient, id = SESSION): Promise<readonly StreamRecord[]> {
  const records: StreamRecord[] = [];
  for await (const record of readSession(client, id)) records.push(record);
  expect(replay(records).divergence).toBeNull();
  return records;
}

async function sizesOfParts(client: EngineClient): Promise<readonly number[]> {
  const sizes: number[] = [];
  for await (const { entries = [] } of client.backup()) {
    sizes.push(entries.reduce((sum, { value }) => sum + Buffer.from(value, 'base64').length, 0));
  }
  return sizes;
}

/** A session of EVENTS events, each a registry of this size. */
async function fill(client: EngineClient): Promise<void> {
  const talk = await new Talk(client, SESSION).create();
  for (let n = 0; n < EVENTS; n += 1) {
    const input_schema = { type: 'object', description: String(n) + 'y'.repeat(EVENT_BYTES) };
    const { registry, profiles, provider_profiles } = packageOf([tool(`t-${n}`, { input_schema })]);
    await talk.submit([{ kind: 'ToolRegistrySet', registry, profiles, provider_profiles }]);
  }
}

describe('a session of large events', () => {
  test('is read, followed, forked, backed up and loaded whole, and little of it at a time', async () => {
    await inTemporaryDirectory(async (dataDir) => {
      const engine = await must(openEngine({ dataDir }));
      const { client } = engine;
      await fill(client);
      const served = await serveClient(client);
      for (const reader of [client, served.client]) {
        expect(eventsOf(await must(reader.records(SESSION)))).toHaveLength(2);
        expect(eventsOf(await must(reader.records(SESSION, 1, 100)))).toHaveLength(2);
        expect(eventsOf(await whole(reader))).toHaveLength(EVENTS);
        const followed: number[] = [];
        for await (const { position } of reader.follow(SESSION)) if (followed.push(position) === EVENTS) break;
        expect(followed).toEqual([0, 1, 2, 3]);
      }
      await served.close();
      const fork = await must(client.fork(SESSION, { at: EVENTS - 1 }));
      expect(eventsOf(await whole(client, fork.session_id)).length).toBeGreaterThanOrEqual(EVENTS - 1);
      const largest = Math.max(...(await sizesOfParts(client)));
      expect(largest).toBeGreaterThan(EVENT_BYTES);
      expect(largest).toBeLessThan(READ_PAGE_BYTES + 2 * EVENT_BYTES);
      await engine.close();
      const again = await must(openEngine({ dataDir }));
      expect((await must(again.client.session(SESSION))).state.version).toBe(EVENTS);
      await again.close();
    });
  });
});
