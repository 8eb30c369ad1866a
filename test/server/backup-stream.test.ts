// A backup whose reader takes nothing ends, so that it does not hold the journal.
import { expect, test } from 'vitest';
import { reject } from '../../schemas/rejection.ts';
import { BACKUP_UNREAD_MS_MAX } from '../../schemas/limits.ts';
import type { BackupPart } from '../../schemas/wire.ts';
import { FollowRefused } from '../../src/client/follow-refused.ts';
import { connect } from '../../src/client/http-client.ts';
import { streamBackup } from '../../src/server/backup-stream.ts';
import { serve } from '../../src/server/serve.ts';
import { fixedTokens } from '../../src/server/tokens.ts';
import { TOKEN } from '../support/engine/serving.ts';
import { newWorld } from '../support/engine/world.ts';
import { newVirtualClock } from '../support/engine/virtual-clock.ts';

function watchedParts() {
  const seen = { released: false };
  async function* parts(): AsyncGenerator<BackupPart> {
    try {
      for (let n = 0; n < 5; n += 1) yield { blobs: [] };
      yield { end: { entries: 0, blobs: 0 } };
    } finally {
      seen.released = true;
    }
  }
  return { seen, parts: parts() };
}

test('a backup whose reader takes no part is ended after its limit, and the reader sees that', async () => {
  const { seen, parts } = watchedParts();
  const clock = newVirtualClock();
  const reader = (await streamBackup(parts, { isCurrent: () => true }, clock)).body?.getReader();
  await reader?.read();
  await clock.advance(BACKUP_UNREAD_MS_MAX - 1);
  expect(seen.released).toBe(false);
  await clock.advance(1);
  expect(seen.released).toBe(true);
  await expect(reader?.read()).rejects.toThrow('took nothing');
});

test('a reader that takes every part within the limit gets them all, and leaves no timer', async () => {
  const { seen, parts } = watchedParts();
  const clock = newVirtualClock();
  const reader = (await streamBackup(parts, { isCurrent: () => true }, clock)).body?.getReader();
  let lines = 0;
  while ((await reader?.read())?.done === false) {
    lines += 1;
    await clock.advance(BACKUP_UNREAD_MS_MAX - 1);
  }
  expect([lines, seen.released, clock.pending()]).toEqual([6, true, 0]);
});

test('a backup that fails in the middle breaks its connection off, and says why to the operator', async () => {
  async function* failing(): AsyncGenerator<BackupPart> {
    yield { blobs: [] };
    throw new FollowRefused(reject('storage_failed', '', 'reading the journal failed'));
  }
  const told: unknown[] = [];
  const { client } = (await newWorld()).engine;
  const serving = await serve(
    { ...client, backup: failing },
    {
      tokens: fixedTokens({ operator: TOKEN }),
      port: 0,
      onError: (error) => told.push(error),
    },
  );
  const remote = connect(serving.url, TOKEN);
  const reading = async (): Promise<void> => {
    for await (const part of remote.backup()) expect(part.blobs).toEqual([]);
  };
  await expect(reading()).rejects.toThrow('broke off');
  expect(told.map(String).join()).toContain('reading the journal failed');
  await remote.close();
  await serving.close();
});
