// `refold sessions`: one line a session, filters, and pages.
import { join } from 'node:path';
import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { brand } from '../../schemas/index.ts';
import { SESSIONS_PAGE_MAX } from '../../schemas/limits.ts';
import { must } from '../../src/client/must.ts';
import { openEngine } from '../../src/engine/engine.ts';
import { freshDirectory, jsonLines, refold } from '../support/e2e/refold.ts';

let home: string;
const dataOf = (name: string): string => join(home, name);

const list = async (name: string, ...options: readonly string[]) =>
  await refold(['sessions', '--data-dir', dataOf(name), ...options]);

const idsOf = async (name: string, ...options: readonly string[]): Promise<readonly unknown[]> =>
  jsonLines((await list(name, '--json', ...options)).stdout).map((row) => row['session_id']);

beforeAll(async () => {
  home = await freshDirectory();
  const engine = await must(openEngine({ dataDir: dataOf('few') }));
  const { client } = engine;
  const run = { events: [{ kind: 'RunRequested' as const, input: { text: 'Fix the tests\nplease' } }] };
  for (const id of ['quiet', 'runs']) await must(client.createSession({ session_id: brand(id) }));
  await must(client.submit(brand('runs'), run));
  await must(client.fork(brand('runs'), { session_id: brand('forked') }));
  await engine.close();
});
afterAll(() => rm(home, { recursive: true }));

describe('refold sessions', () => {
  test('shows id, events, status, outcome, last activity, title and parent', async () => {
    const { code, stdout } = await list('few');
    expect(code).toBe(0);
    const time = String.raw`\d{4}-\d\d-\d\dT\S+Z`;
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toEqual([
      expect.stringMatching(new RegExp(`^forked +2 events +paused +- +${time} +Fix the tests +fork of runs$`)),
      expect.stringMatching(new RegExp(`^quiet +0 events +idle +- +${time} +no input yet$`)),
      expect.stringMatching(new RegExp(`^runs +1 events +running +- +${time} +Fix the tests$`)),
    ]);
  });

  test.each([
    [['--owing'], ['runs']],
    [['--waiting'], []],
    [['--status', 'paused'], ['forked']],
    [[], ['forked', 'quiet', 'runs']],
  ])('takes the filters %j', async (options, ids) => {
    expect(await idsOf('few', ...options)).toEqual(ids);
  });

  test('says what to do when there is none, or none such', async () => {
    expect((await list('none')).stdout).toContain('Create one: refold demo');
    expect((await list('few', '--waiting')).stdout).toContain('List all of them: refold sessions');
  });

  test('refuses another status', async () => {
    const { code, stderr } = await list('few', '--status', 'asleep');
    expect(code).toBe(2);
    expect(stderr).toContain('requires_action');
  });

  test('reads every page', async () => {
    const engine = await must(openEngine({ dataDir: dataOf('many') }));
    const ids = Array.from({ length: SESSIONS_PAGE_MAX + 3 }, (_, index) => `s${String(index).padStart(5, '0')}`);
    await Promise.all(ids.map((id) => must(engine.client.createSession({ session_id: brand(id) }))));
    await engine.close();
    expect(await idsOf('many')).toEqual(ids);
  });
});
