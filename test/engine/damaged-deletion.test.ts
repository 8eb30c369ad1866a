// A session that cannot be loaded can be deleted, and does not end the backups of the others.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { brand, type SessionId } from '../../schemas/ids.ts';
import { backupCommand } from '../../src/cli/commands/backup.ts';
import { restoreCommand } from '../../src/cli/commands/restore.ts';
import { newOutput } from '../../src/cli/output.ts';
import { must } from '../../src/client/must.ts';
import { openEngine } from '../../src/engine/engine.ts';
import { openLevelStore } from '../../src/journal/level/store.ts';
import { putLost, putRebuilding } from '../../src/journal/salvage/damage-record.ts';
import { genesisKey, streamRange } from '../../src/journal/keys.ts';
import { Talk } from '../support/engine/world.ts';
import { outcome } from '../support/journal/outcomes.ts';
import { inTemporaryDirectory } from '../support/journal/temporary-directory.ts';

const named = (name: string): SessionId => brand<'SessionId'>(name);
const CONFIGURED = { kind: 'SessionConfigured', config: { turns_max: 7 } } as const;

const quiet = () => {
  const stdout = new PassThrough();
  stdout.resume();
  const stderr = new PassThrough();
  stderr.resume();
  return newOutput({ stdout, stderr }, false);
};

/** What damage leaves of the session `bad`. */
const WAYS = {
  'recorded as lost by a rebuild': async (directory: string) => {
    const store = await openLevelStore(directory);
    await store.write([
      putRebuilding({ aside: 'journal.damaged-1', vanished: [] }),
      putLost(named('bad'), { first: 0, last: 0 }),
    ]);
    await store.close();
  },
  'without its genesis': async (directory: string) => {
    const store = await openLevelStore(directory);
    await store.write([{ key: genesisKey(named('bad')), value: null }]);
    await store.close();
  },
  'without its commits': async (directory: string) => {
    const store = await openLevelStore(directory);
    const commits = await store.view((view) => view.scan(streamRange(named('bad')), {}));
    await store.write(commits.map(({ key }) => ({ key, value: null })));
    await store.close();
  },
};

test.each(Object.entries(WAYS))('a session %s is deleted, and does not end backups before that', (how, damage) =>
  inTemporaryDirectory(async (directory) => {
    const dataDir = join(directory, 'data');
    const first = await must(openEngine({ dataDir }));
    for (const name of ['bad', 'good']) await (await new Talk(first.client, named(name)).create()).submit([CONFIGURED]);
    await first.close();
    await damage(join(dataDir, 'journal'));

    expect(await backupCommand({ dataDir, target: join(directory, 'backup') }, quiet())).toBe(1);
    const restored = { backup: join(directory, 'backup'), dataDir: join(directory, 'restored') };
    expect(await restoreCommand(restored, quiet())).toBe(1);
    expect((await readdir(directory)).sort()).toEqual(['backup', 'data', 'restored']);

    const engine = await must(openEngine({ dataDir }));
    expect(await outcome(engine.client.session(named('bad')))).toBe('damaged');
    const tombstone = await must(engine.client.deleteSession(named('bad')));
    expect(tombstone).toMatchObject({ session_id: 'bad', version: 1 });
    expect(tombstone.chain === null).toBe(how === 'without its commits');
    expect(await outcome(engine.client.session(named('bad')))).toBe('session_deleted');
    await engine.close();
    const again = await must(openEngine({ dataDir }));
    expect(await outcome(again.client.session(named('bad')))).toBe('session_deleted');
    expect((await must(again.client.sessions())).sessions.map(({ session_id }) => session_id)).toEqual(['good']);
    expect((await must(again.client.deletedSessions())).deleted).toEqual([tombstone]);
    await again.close();
    expect(await backupCommand({ dataDir, target: join(directory, 'whole') }, quiet())).toBe(0);
  }),
);
