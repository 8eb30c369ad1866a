// An engine that was killed on a full disk opens for reading, and continues without a restart once there is space.
import { randomBytes } from 'node:crypto';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { must } from '../../src/client/must.ts';
import { stateBytes } from '../../src/core/index.ts';
import { openEngine } from '../../src/engine/engine.ts';
import { SESSION, Talk } from '../support/engine/world.ts';
import { outcome } from '../support/journal/outcomes.ts';
import { fillDisk, freeDisk, mountSmallDisk } from '../support/journal/small-disk.ts';
import { inTemporaryDirectory } from '../support/journal/temporary-directory.ts';

const RUN = { kind: 'RunRequested', input: { text: 'go' } } as const;
const PAUSE = { kind: 'RunPaused', run_id: 'run-1' } as const;

describe('a data directory on a full disk, after its engine was killed', () => {
  test('opens for reading, refuses every write as storage_full, and takes writes once there is space', async (context) => {
    const disk = await mountSmallDisk('8m');
    if ('reason' in disk) {
      process.stdout.write(`full disk at an opening: not run, ${disk.reason}\n`);
      context.skip(disk.reason);
      return;
    }
    try {
      await inTemporaryDirectory(async (directory) => {
        const [live, data] = [join(directory, 'live'), join(disk.directory, 'data')];
        const engine = await must(openEngine({ dataDir: live }));
        const talk = await new Talk(engine.client).create();
        await talk.submit([RUN]);
        const before = stateBytes(await talk.state());
        const blob = await must(engine.client.putBlob(new TextEncoder().encode('kept')));
        // What a kill leaves: the files as they are, none of them closed.
        await cp(live, data, { recursive: true });
        await engine.close();
        await fillDisk(disk.directory);

        const again = await must(openEngine({ dataDir: data }));
        const { client } = again;
        const resumed = new Talk(client);
        expect(stateBytes(await resumed.state())).toEqual(before);
        expect((await must(client.sessions())).sessions).toHaveLength(1);
        expect(await must(client.records(SESSION))).toHaveLength(3);
        expect(new TextDecoder().decode(await must(client.getBlob(blob)))).toBe('kept');
        for (let attempt = 0; attempt < 2; attempt += 1) {
          expect(await resumed.outcome(PAUSE)).toBe('storage_full');
          expect(await outcome(client.createSession({}))).toBe('storage_full');
          expect(await outcome(client.fork(SESSION))).toBe('storage_full');
          expect(await outcome(client.putBlob(randomBytes(4_096)))).toBe('storage_full');
          expect(stateBytes(await resumed.state())).toEqual(before);
        }
        await freeDisk(disk.directory);
        expect(await outcome(client.putBlob(randomBytes(4_096)))).toBe('done');
        expect(await outcome(client.createSession({}))).toBe('done');
        expect(await resumed.outcome(PAUSE)).toBe('done');
        await again.close();
        const last = await must(openEngine({ dataDir: data }));
        expect(last.notices).toEqual([]);
        expect((await must(last.client.sessions())).sessions).toHaveLength(2);
        await last.close();
      });
    } finally {
      await disk.unmount();
    }
  });
});
