// A catalog that is read again: on request over HTTP, and by its watch. A fault keeps what is in force.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { right } from 'fp-ts/lib/Either.js';
import { expect, onTestFinished, test, vi } from 'vitest';
import { WATCH_LOOK_MS, WATCH_SETTLE_MS } from '../../schemas/limits.ts';
import { type CatalogOptions, type OpenCatalog, openCatalog } from '../../src/catalog/open-catalog.ts';
import { reloadOf } from '../../src/cli/sources/served-catalog.ts';
import { serve } from '../../src/server/serve.ts';
import { fixedTokens } from '../../src/server/tokens.ts';
import { newWorld } from '../support/engine/world.ts';
import { temporaryDirectory } from '../support/skills/skill-folders.ts';

const entry = (name: string) => ({
  name,
  description: 'Run a line. command: the line.',
  input_schema: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
  implementation: { kind: 'platform', ref: 'host.exec' },
});

async function opened(entries: readonly object[], more: Partial<CatalogOptions> = {}) {
  const root = temporaryDirectory();
  const file = join(root, 'catalog.json');
  const write = (content: unknown): void => writeFileSync(file, JSON.stringify(content));
  write(entries);
  let timers: { readonly ms: number; readonly run: () => void }[] = [];
  const end = (ms: number): void => {
    const due = timers.filter((timer) => timer.ms === ms);
    timers = timers.filter((timer) => timer.ms !== ms);
    for (const { run } of due) run();
  };
  const applied: string[][] = [];
  const onFaults = vi.fn<CatalogOptions['onFaults']>();
  const catalog = await openCatalog({
    path: file,
    apply: ({ tools }) => {
      applied.push(tools.map(({ name }) => name));
      return Promise.resolve();
    },
    onFaults,
    onError: () => undefined,
    after: (ms, run) => {
      const timer = { ms, run };
      timers.push(timer);
      return () => void (timers = timers.filter((other) => other !== timer));
    },
    ...more,
  });
  if (!('current' in catalog)) throw new Error(JSON.stringify(catalog));
  onTestFinished(() => catalog.close());
  return { catalog, write, applied, onFaults, end, file };
}

const namesOf = (catalog: OpenCatalog): readonly string[] => catalog.current().tools.map(({ name }) => name);

test('a reload puts another catalog in force as a whole, and a fault keeps the one before', async () => {
  const { catalog, write, applied } = await opened([entry('one')]);
  expect(await catalog.reload()).toMatchObject({ changed: false, faults: [] });
  write([entry('one'), entry('two')]);
  expect(await catalog.reload()).toMatchObject({ changed: true, faults: [] });
  write([entry('three'), { ...entry('four'), timeout_ms: 0 }]);
  const { changed, faults } = await catalog.reload();
  expect([changed, faults.map(({ at }) => at)]).toEqual([false, ['/1/timeout_ms']]);
  expect(namesOf(catalog)).toEqual(['one', 'two']);
  expect(applied).toEqual([['one', 'two']]);
});

test('reloads at the same time come one after the other', async () => {
  let running = 0;
  let most = 0;
  const { catalog, write } = await opened([entry('one')], {
    apply: async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
    },
  });
  write([entry('two')]);
  const first = catalog.reload();
  write([entry('three')]);
  await Promise.all([first, catalog.reload(), catalog.reload()]);
  expect(most).toBe(1);
  expect(namesOf(catalog)).toEqual(['three']);
});

test('the watch finds a change, says a fault once, and says when it is mended', async () => {
  const { catalog, write, onFaults, end } = await opened([entry('one')]);
  end(WATCH_SETTLE_MS);
  await catalog.reload();
  const looked = async (): Promise<void> => {
    for (const ms of [WATCH_LOOK_MS, WATCH_SETTLE_MS]) {
      end(ms);
      await catalog.reload();
    }
  };
  write([entry('two')]);
  await vi.waitFor(async () => {
    await looked();
    expect(namesOf(catalog)).toEqual(['two']);
  });
  write('broken');
  await vi.waitFor(async () => {
    await looked();
    expect(onFaults).toHaveBeenCalledTimes(1);
  });
  expect(namesOf(catalog)).toEqual(['two']);
  write([entry('two')]);
  await vi.waitFor(async () => {
    await looked();
    expect(onFaults).toHaveBeenLastCalledWith([]);
  });
  expect(onFaults).toHaveBeenCalledTimes(2);
});

test('POST /admin/reload-catalog is for operators, answers what is in force, and names every fault', async () => {
  const { catalog, write } = await opened([entry('one')]);
  const { engine } = await newWorld();
  const tokens = { operator: 'o'.repeat(64), bridge: 'b'.repeat(64), viewer: 'v'.repeat(64) };
  const operations = Promise.resolve({
    ready: () => Promise.resolve(right(undefined)),
    metrics: () => '',
    ...reloadOf(catalog),
  });
  const serving = await serve(engine.client, { tokens: fixedTokens(tokens), port: 0, operations });
  onTestFinished(() => serving.close());
  const reload = async (token: string): Promise<readonly [number, Record<string, unknown>]> => {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`${serving.url}/admin/reload-catalog`, { method: 'POST', headers });
    return [answer.status, (await answer.json()) as Record<string, unknown>];
  };
  expect((await reload('x'.repeat(64)))[0]).toBe(401);
  expect((await reload(tokens.bridge))[0]).toBe(403);
  expect((await reload(tokens.viewer))[0]).toBe(403);
  write([entry('one'), entry('two')]);
  expect(await reload(tokens.operator)).toEqual([
    200,
    { changed: true, tools: 2, digest: expect.stringMatching(/^sha256:/) },
  ]);
  write([{ ...entry('one'), name: 5, timeout_ms: 0 }]);
  const [status, problem] = await reload(tokens.operator);
  expect([status, problem['code']]).toEqual([422, 'catalog_invalid']);
  expect(problem['detail']).toMatch(/\/0\/name.*\/0\/timeout_ms/);
  expect(namesOf(catalog)).toEqual(['one', 'two']);
});

test('an engine without a catalog has none to reload', async () => {
  const { engine } = await newWorld();
  const serving = await serve(engine.client, { tokens: fixedTokens({ operator: 'o'.repeat(64) }), port: 0 });
  onTestFinished(() => serving.close());
  const headers = { authorization: `Bearer ${'o'.repeat(64)}` };
  const answer = await fetch(`${serving.url}/admin/reload-catalog`, { method: 'POST', headers });
  expect([answer.status, await answer.json()]).toEqual([404, expect.objectContaining({ code: 'not_found' })]);
});
