// A backup beside an engine that goes on, and what is restored from it.
import { mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import type { SessionId } from '../../schemas/ids.ts';
import { brand } from '../../schemas/ids.ts';
import { backupCommand, writeEpochs } from '../../src/cli/commands/backup.ts';
import { restoreCommand } from '../../src/cli/commands/restore.ts';
import { newOutput } from '../../src/cli/output.ts';
import { must } from '../../src/client/must.ts';
import { stateBytes } from '../../src/core/index.ts';
import { type Engine, openEngine } from '../../src/engine/engine.ts';
import { publishAddress } from '../../src/client/engine-address.ts';
import { serve } from '../../src/server/serve.ts';
import { openTokens } from '../../src/server/tokens.ts';
import { Talk } from '../support/engine/world.ts';
import { outcome } from '../support/journal/outcomes.ts';
import { fillDisk, freeDisk, mountSmallDisk } from '../support/journal/small-disk.ts';
import { inTemporaryDirectory } from '../support/journal/temporary-directory.ts';

const RUN = { kind: 'RunRequested', input: { text: 'go' } } as const;
const PAUSE = { kind: 'RunPaused', run_id: 'run-1' } as const;
const RESUME = { kind: 'RunResumed', run_id: 'run-1' } as const;

const quiet = () => {
  const stdout = new PassThrough();
  stdout.resume();
  return newOutput({ stdout, stderr: new PassThrough() }, false);
};

async function withServed<T>(dataDir: string, work: (engine: Engine) => Promise<T>): Promise<T> {
  const engine = await must(openEngine({ dataDir }));
  const serving = await serve(engine.client, { tokens: await openTokens(dataDir), port: 0 });
  await publishAddress(dataDir, { url: serving.url, pid: process.pid });
  return await work(engine).finally(async () => {
    await serving.close();
    await engine.close();
  });
}

const sessionNamed = (name: string): SessionId => brand<'SessionId'>(name);

describe('a backup', () => {
  test('beside a live engine is whole as of one moment, and its restored copy goes on', async () => {
    await inTemporaryDirectory(async (directory) => {
      const [data, target, restored] = ['data', 'backup', 'restored'].map((name) => join(directory, name)) as [
        string,
        string,
        string,
      ];
      const blob = await withServed(data, async ({ client }) => {
        const talks: Talk[] = [];
        for (let n = 0; n < 5; n += 1) talks.push(await new Talk(client, sessionNamed(`s-${n}`)).create());
        for (const talk of talks) await talk.submit([RUN]);
        await must(client.createSession({ session_id: sessionNamed('gone') }));
        await must(client.deleteSession(sessionNamed('gone')));
        const ref = await must(client.putBlob(new TextEncoder().encode('kept')));
        const appended = { going: true };
        const appending = (async () => {
          while (appended.going) for (const talk of talks) await talk.submit([PAUSE, RESUME]);
        })();
        expect(await backupCommand({ dataDir: data, target }, quiet())).toBe(0);
        appended.going = false;
        await appending;
        return ref;
      });
      expect((await readdir(directory)).sort()).toEqual(['backup', 'data']);
      expect((await readdir(target)).sort()).toEqual(['blobs', 'epochs', 'journal']);
      expect(await restoreCommand({ backup: target, dataDir: restored }, quiet())).toBe(0);
      const engine = await must(openEngine({ dataDir: restored }));
      expect(engine.notices).toEqual([]);
      const listed = (await must(engine.client.sessions())).sessions;
      expect(listed.map(({ session_id }) => session_id)).toEqual(['s-0', 's-1', 's-2', 's-3', 's-4']);
      expect((await must(engine.client.deletedSessions())).deleted).toMatchObject([{ session_id: 'gone' }]);
      expect(await outcome(engine.client.createSession({ session_id: sessionNamed('gone') }))).toBe('session_deleted');
      expect(new TextDecoder().decode(await must(engine.client.getBlob(blob)))).toBe('kept');
      const talk = new Talk(engine.client, sessionNamed('s-0'));
      const before = stateBytes(await talk.state());
      await talk.submit([PAUSE]);
      expect(stateBytes(await talk.state())).not.toEqual(before);
      await engine.close();
    });
  });

  test('that breaks off leaves nothing that looks whole, and the next one replaces what it left', async () => {
    await inTemporaryDirectory(async (directory) => {
      const [data, target] = [join(directory, 'data'), join(directory, 'backup')];
      const engine = await must(openEngine({ dataDir: data }));
      await new Talk(engine.client).create();
      const ref = await must(engine.client.putBlob(new TextEncoder().encode('x')));
      await engine.close();
      // A listing that fails in the middle: one of its directories is a file.
      const hex = ref.slice('sha256:'.length);
      const odd = join(data, 'blobs', hex.slice(0, 2), hex.slice(2, 4) === '00' ? '01' : '00');
      await writeFile(odd, '');
      await expect(backupCommand({ dataDir: data, target }, quiet())).rejects.toThrow('ENOTDIR');
      expect((await readdir(directory)).sort()).toEqual(['backup.partial', 'data']);
      await expect(
        restoreCommand({ backup: `${target}.partial`, dataDir: join(directory, 'restored') }, quiet()),
      ).rejects.toThrow('did not finish');
      await rm(odd);
      expect(await backupCommand({ dataDir: data, target }, quiet())).toBe(0);
      expect((await readdir(directory)).sort()).toEqual(['backup', 'data']);
    });
  });

  test('that does not verify does not get its name', async () => {
    await inTemporaryDirectory(async (directory) => {
      const [data, target] = [join(directory, 'data'), join(directory, 'backup')];
      const engine = await must(openEngine({ dataDir: data }));
      const talk = await new Talk(engine.client).create();
      const long = 'x'.repeat(9_000);
      await talk.submit([{ kind: 'RunRequested', input: { text: 'go' } }]);
      await talk.submit([
        {
          kind: 'ToolCallsObserved',
          run_id: 'run-1',
          turn: 1,
          calls: [{ call_id: 'c', tool_name: 'free', arguments: { text: long } }],
        },
      ]);
      await engine.close();
      for (const name of await readdir(join(data, 'blobs'), { recursive: true })) {
        if (name.length > 60) await writeFile(join(data, 'blobs', name), 'other bytes');
      }
      const stdout = new PassThrough();
      const said = text(stdout);
      expect(
        await backupCommand({ dataDir: data, target }, newOutput({ stdout, stderr: new PassThrough() }, false)),
      ).toBe(1);
      stdout.end();
      expect(await said).toContain('does not verify');
      expect((await readdir(directory)).sort()).toEqual(['backup.partial', 'data']);
    });
  });

  test.each(['journal', 'blobs'])(
    'whose %s is a link is not restored: it leads to files of another place',
    async (name) => {
      await inTemporaryDirectory(async (directory) => {
        const [data, target, other] = [join(directory, 'data'), join(directory, 'backup'), join(directory, 'other')];
        await withServed(data, async () => await backupCommand({ dataDir: data, target }, quiet()));
        await rename(join(target, name), other);
        await symlink(other, join(target, name));
        const restored = join(directory, 'restored');
        const restoring = restoreCommand({ backup: target, dataDir: restored }, quiet());
        await expect(restoring).rejects.toThrow('is not a directory');
        expect(await readdir(directory)).not.toContain('restored');
      });
    },
  );

  test.each(['backup', 'restore'] as const)('%s refuses a target that is not empty', async (what) => {
    await inTemporaryDirectory(async (directory) => {
      const [data, target] = [join(directory, 'data'), join(directory, 'target')];
      await (await must(openEngine({ dataDir: data }))).close();
      await mkdir(target);
      await writeFile(join(target, 'precious'), '');
      const asked =
        what === 'backup'
          ? backupCommand({ dataDir: data, target }, quiet())
          : restoreCommand({ backup: data, dataDir: target }, quiet());
      await expect(asked).rejects.toThrow('is not empty');
      expect(await readdir(target)).toEqual(['precious']);
    });
  });

  test.each(['backup', 'restore'] as const)(
    '%s on a full disk says so, and is made once there is space',
    async (what) => {
      const disk = await mountSmallDisk('2m');
      if ('reason' in disk) return;
      await inTemporaryDirectory(async (directory) => {
        const [data, target] = [join(directory, 'data'), join(disk.directory, 'target')];
        await (await must(openEngine({ dataDir: data }))).close();
        const make = (): Promise<number> =>
          what === 'backup'
            ? backupCommand({ dataDir: data, target }, quiet())
            : restoreCommand({ backup: data, dataDir: target }, quiet());
        await fillDisk(disk.directory);
        await expect(make()).rejects.toMatchObject({
          code: 'storage_full',
          message: expect.stringMatching(/target was not made; free some space/),
        });
        await freeDisk(disk.directory);
        expect(await make()).toBe(0);
        expect((await readdir(disk.directory)).sort()).toEqual(['target']);
      }).finally(disk.unmount);
    },
  );

  test.each(['backup', 'restore'] as const)('%s refuses a target inside its original', async (what) => {
    await inTemporaryDirectory(async (directory) => {
      const data = join(directory, 'data');
      await (await must(openEngine({ dataDir: data }))).close();
      for (const target of [join(data, 'journal', 'copy'), join(data, 'copy')]) {
        const asked =
          what === 'backup'
            ? backupCommand({ dataDir: data, target }, quiet())
            : restoreCommand({ backup: data, dataDir: target }, quiet());
        await expect(asked).rejects.toThrow('name a place outside it');
      }
      expect(await readdir(data)).not.toContain('copy.partial');
    });
  });

  test('is not made with epochs that may be granted again, when those of the original cannot be read', async () => {
    await inTemporaryDirectory(async (directory) => {
      const [from, to] = [join(directory, 'from'), join(directory, 'to')];
      await mkdir(join(from, 'epochs'), { recursive: true });
      await mkdir(to);
      await expect(writeEpochs(from, to)).rejects.toThrow('EISDIR');
    });
  });
});
