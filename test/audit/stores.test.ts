// What an operator sees of the stores of a data directory: unreferenced blobs, torn last writes, missing tables.
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
  orphan = await must(client.putBlob(new TextEncoder().encode('no session refers to this')));
  await must(client.createSession({ session_id: id }));
  const input = { ref: kept, bytes: bytes.length, head: '', tail: '' };
  await must(client.submit(id, { events: [{ kind: 'RunRequested', input }] }));
  await must(client.submit(id, { events: [{ kind: 'SessionConfigured', config: { turns_max: 3 } }] }));
  // As a crash leaves it: nothing was closed, and the last write is torn.
  await cp(data, crashed, { recursive: true });
  await engine.close();
  const log = (await readdir(join(crashed, 'journal'))).find((name) => name.endsWith('.log')) ?? '';
  const path = join(crashed, 'journal', log);
  await truncate(path, (await stat(path)).size - 5);
});
afterAll(() => rm(home, { recursive: true }));

describe('refold gc', () => {
  test('ignores recently stored blobs', async () => {
    expect(jsonLines((await onData(data, 'gc', '--delete')).stdout)).toEqual([
      { referenced: 1, young: 1, unreferenced: [], deleted: 0 },
    ]);
  });

  test('lists unreferenced blobs, and deletes them with --delete', async () => {
    const hex = orphan.slice('sha256:'.length);
    await utimes(join(data, 'blobs', hex.slice(0, 2), hex.slice(2, 4), hex), 1, 1);
    const found = { referenced: 1, young: 0, unreferenced: [orphan] };
    expect(jsonLines((await onData(data, 'gc')).stdout)).toEqual([{ ...found, deleted: 0 }]);
    expect((await refold(['gc', '--data-dir', data])).stdout).toContain(
      'nothing was deleted. To delete them: --delete',
    );
    expect(jsonLines((await onData(data, 'gc', '--delete')).stdout)).toEqual([{ ...found, deleted: 1 }]);
    expect(jsonLines((await onData(data, 'gc')).stdout)).toEqual([
      { referenced: 1, young: 0, unreferenced: [], deleted: 0 },
    ]);
    const verified = await onData(data, 'verify', '--all');
    expect(verified.code).toBe(0);
    expect(jsonLines(verified.stdout)[0]).toMatchObject({ blobs: { checked: 1, bad: [] } });
  });

  test('refuses to work while an engine runs', async () => {
    const engine = await start(['serve', '--port', '0', '--data-dir', data]);
    const { code, stdout } = await onData(data, 'gc');
    await engine.kill();
    expect(code).toBe(2);
    expect(jsonLines(stdout)[0]).toMatchObject({ error: { code: 'engine_running' } });
  });
});

describe('refold import', () => {
  test('reports blobs that an export does not contain, and finds them once they are copied', async () => {
    const [file, other] = [join(home, 's.jsonl'), join(home, 'other')];
    await onData(data, 'export', id, '-o', file);
    const imported = await onData(other, 'import', file, '--as-recorded');
    expect(jsonLines(imported.stdout)).toMatchObject([{ session_id: id, blobs: { referred: 1, missing: 1 } }]);
    expect((await onData(other, 'verify', id)).code).toBe(1);
    const again = await refold(['import', file, '--data-dir', join(home, 'third')]);
    expect(again.stdout).toContain('1 of the 1 blobs that it refers to are missing');
    await cp(join(data, 'blobs'), join(other, 'blobs'), { recursive: true });
    expect((await onData(other, 'verify', id)).code).toBe(0);
  });

  test('creates no data directory when the file does not exist', async () => {
    const missing = join(home, 'missing');
    expect((await onData(missing, 'import', join(home, 'nothing.jsonl'))).code).toBe(2);
    expect(existsSync(missing)).toBe(false);
  });
});

describe('a torn last write', () => {
  test('is reported by refold verify, and is no fault', async () => {
    const { code, stdout } = await onData(crashed, 'verify', '--all');
    const lines = jsonLines(stdout);
    expect(code).toBe(0);
    expect(lines[0]).toMatchObject({ source: id, verified: true, events: 1 });
    expect(lines[1]).toMatchObject({ torn_tails: [{ file: expect.stringMatching(/\.log$/) }] });
    // Also later, after an opening has cut the write off.
    expect((await refold(['verify', '--all', '--data-dir', crashed])).stdout).toMatch(
      /cut back +a crash tore the last write of/,
    );
  });
});

describe('a missing table', () => {
  let damaged: string;
  let lostPackage: string;

  beforeAll(async () => {
    damaged = join(home, 'damaged');
    lostPackage = join(home, 'lost-package');
    // Each close leaves a table with the records since the previous one. That of z also has the tool package of them all;
    // that of a spans no key that b or z may have lost with it.
    for (const session_id of ['z', 'a', 'b']) {
      const engine = await must(openEngine({ dataDir: damaged }));
      await must(engine.client.createSession({ session_id: brand(session_id) }));
      await engine.close();
    }
    await (await must(openEngine({ dataDir: damaged }))).close();
    await cp(damaged, lostPackage, { recursive: true });
    await removeTable(lostPackage, 0);
    await removeTable(damaged, 1);
  });

  async function removeTable(directory: string, index: number): Promise<void> {
    const names = await readdir(join(directory, 'journal'));
    const table = names.filter((name) => name.endsWith('.ldb')).sort()[index];
    await rm(join(directory, 'journal', String(table)));
  }

  test('fails refold verify --all although all remaining sessions verify', async () => {
    for (const _ of ['during the rebuild', 'and afterwards']) {
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

  test('is no fault of the remaining sessions', async () => {
    expect((await onData(damaged, 'verify', 'b')).code).toBe(0);
  });

  test('that held a tool package costs every session that names it', async () => {
    const { code, stdout } = await onData(lostPackage, 'verify', '--all');
    expect(code).toBe(1);
    const lines = jsonLines(stdout);
    expect(lines.filter((line) => line['source'] !== undefined)).toMatchObject([
      { source: 'a', verified: false, fault: { position: -1, message: expect.stringContaining('restore') } },
      { source: 'b', verified: false, fault: { position: -1, message: expect.stringContaining('restore') } },
    ]);
    expect(lines.at(-2)).toMatchObject({
      rebuilt: expect.arrayContaining([expect.stringContaining('damaged sessions: 2')]),
    });
  });
});
