// What an operator sees of a data directory's stores: blobs that nothing refers to, and last writes that were torn.
import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, rm, stat, truncate, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Digest, brand } from '../../schemas/index.ts';
import { openEngine } from '../../src/engine/engine.ts';
import { must } from '../../src/client/must.ts';
import { type Finished, freshDirectory, jsonLines, refold, start } from '../support/e2e/refold.ts';

let home: string;
let data: string;
let crashed: string;
let kept: Digest;
let orphan: Digest;
const id = brand<'SessionId'>('s');

const onData = (directory: string, ...args: readonly string[]): Promise<Finished> =>
  refold([...args, '--json', '--data-dir', directory]);

beforeAll(async () => {
  home = await freshDirectory();
  data = join(home, 'data');
  crashed = join(home, 'crashed');
  await mkdir(data);
  const engine = await must(openEngine({ dataDir: data }));
  const { client } = engine;
  const bytes = new TextEncoder().encode('referred to');
  kept = await must(client.putBlob(bytes));
  orphan = await must(client.putBlob(new TextEncoder().encode('nobody refers to this')));
  await must(client.createSession({ session_id: id }));
  const input = { ref: kept, bytes: bytes.length, head: '', tail: '' };
  await must(client.submit(id, { events: [{ kind: 'RunRequested', input }] }));
  await must(client.submit(id, { events: [{ kind: 'SessionConfigured', config: { turns_max: 3 } }] }));
  // As a crash would leave it: nothing was closed, and the last write is torn.
  await cp(data, crashed, { recursive: true });
  await engine.close();
  const log = (await readdir(join(crashed, 'journal'))).find((name) => name.endsWith('.log')) ?? '';
  const path = join(crashed, 'journal', log);
  await truncate(path, (await stat(path)).size - 5);
});
afterAll(() => rm(home, { recursive: true }));

describe('refold gc', () => {
  test('leaves alone what was put lately', async () => {
    expect(jsonLines((await onData(data, 'gc', '--delete')).stdout)).toEqual([
      { referenced: 1, young: 1, unreferenced: [], deleted: 0 },
    ]);
  });

  test('tells what nothing refers to, and deletes it when told to', async () => {
    const hex = orphan.slice('sha256:'.length);
    await utimes(join(data, 'blobs', hex.slice(0, 2), hex.slice(2, 4), hex), 1, 1);
    const found = { referenced: 1, young: 0, unreferenced: [orphan] };
    expect(jsonLines((await onData(data, 'gc')).stdout)).toEqual([{ ...found, deleted: 0 }]);
    expect((await refold(['gc', '--data-dir', data])).stdout).toContain('nothing was deleted; add --delete');
    expect(jsonLines((await onData(data, 'gc', '--delete')).stdout)).toEqual([{ ...found, deleted: 1 }]);
    expect(jsonLines((await onData(data, 'gc')).stdout)).toEqual([
      { referenced: 1, young: 0, unreferenced: [], deleted: 0 },
    ]);
    const verified = await onData(data, 'verify', '--all');
    expect(verified.code).toBe(0);
    expect(jsonLines(verified.stdout)[0]).toMatchObject({ blobs: { checked: 1, bad: [] } });
  });

  test('does not work beside an engine', async () => {
    const engine = await start(['serve', '--port', '0', '--data-dir', data]);
    const { code, stdout } = await onData(data, 'gc');
    await engine.kill();
    expect(code).toBe(2);
    expect(jsonLines(stdout)[0]).toMatchObject({ error: { code: 'engine_running' } });
  });
});

describe('refold import', () => {
  test('tells which blobs an export does not bring, and they are found once they are copied', async () => {
    const [file, other] = [join(home, 's.jsonl'), join(home, 'other')];
    await onData(data, 'export', id, '-o', file);
    const imported = await onData(other, 'import', file);
    expect(jsonLines(imported.stdout)).toMatchObject([{ session_id: id, blobs: { referred: 1, missing: 1 } }]);
    expect((await onData(other, 'verify', id)).code).toBe(1);
    const told = await refold(['import', file, '--data-dir', join(home, 'third')]);
    expect(told.stdout).toContain('1 of the 1 blobs that it refers to are not here');
    await cp(join(data, 'blobs'), join(other, 'blobs'), { recursive: true });
    expect((await onData(other, 'verify', id)).code).toBe(0);
  });

  test('of a file that is not there makes no data directory', async () => {
    const missing = join(home, 'missing');
    expect((await onData(missing, 'import', join(home, 'nothing.jsonl'))).code).toBe(2);
    expect(existsSync(missing)).toBe(false);
  });
});

describe('a torn last write', () => {
  test('is told by refold verify, and no fault', async () => {
    const { code, stdout } = await onData(crashed, 'verify', '--all');
    const lines = jsonLines(stdout);
    expect(code).toBe(0);
    expect(lines[0]).toMatchObject({ source: id, verified: true, events: 1 });
    expect(lines[1]).toMatchObject({ torn_tails: [{ file: expect.stringMatching(/\.log$/) }] });
    // Also later on, when the journal itself has long been whole again.
    expect((await refold(['verify', '--all', '--data-dir', crashed])).stdout).toMatch(
      /cut back +a crash tore the last write of/,
    );
  });
});

describe('a table that is gone', () => {
  let damaged: string;

  beforeAll(async () => {
    damaged = join(home, 'damaged');
    // Each closing leaves a table with what came since the one before.
    for (const session_id of ['a', 'b', 'c']) {
      const engine = await must(openEngine({ dataDir: damaged }));
      await must(engine.client.createSession({ session_id: brand(session_id) }));
      await engine.close();
    }
    await (await must(openEngine({ dataDir: damaged }))).close();
    const [first = ''] = (await readdir(join(damaged, 'journal'))).filter((name) => name.endsWith('.ldb')).sort();
    await rm(join(damaged, 'journal', first));
  });

  test('fails refold verify --all, though everything that is left verifies', async () => {
    for (const _ of ['while it is rebuilt', 'and from then on']) {
      const { code, stdout } = await onData(damaged, 'verify', '--all');
      const lines = jsonLines(stdout);
      expect(lines.at(-2)).toMatchObject({
        rebuilt: [
          expect.stringContaining('.ldb of the journal was damaged: it is missing'),
          expect.stringContaining('every remaining session is whole'),
          expect.stringMatching(/may be gone without a trace.*restore the data directory from a backup$/),
        ],
      });
      expect(lines.at(-1)).toEqual({ summary: { streams: 2, verified: 2, bad: 0, unreadable: 0, events: 0, gone: 1 } });
      expect(code).toBe(1);
    }
    const { stdout } = await refold(['verify', '--all', '--data-dir', damaged]);
    expect(stdout).toMatch(/\ngone\? +sessions with ids between [^]*: all verified, and sessions may be gone\n$/);
  });

  test('is no fault of the sessions that are there', async () => {
    expect((await onData(damaged, 'verify', 'c')).code).toBe(0);
  });
});
