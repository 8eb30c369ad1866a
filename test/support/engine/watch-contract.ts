// What watching a session promises, over every client of an engine.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Effect } from '../../../schemas/effect.ts';
import { type RunId, brand } from '../../../schemas/ids.ts';
import { RUN_HISTORY_MAX } from '../../../schemas/limits.ts';
import type { EngineClient } from '../../../src/client/client.ts';
import { type WatchedSession, must, resultsOf, waitForRun, watch } from '../../../src/client/index.ts';
import { stateDigest } from '../../../src/core/index.ts';
import { CONSENT_PRESETS } from '../../../src/toolsets/consent-presets.ts';
import { testPackage } from '../tools.ts';
import type { Connected } from './client-contract.ts';
import { A, SESSION, Talk, callsIn, settled, started } from './world.ts';

const RUN_1 = brand<'RunId'>('run-1');
const RUN_2 = brand<'RunId'>('run-2');

/** Reads items until one satisfies the condition, which is the last. */
async function until(
  items: AsyncGenerator<WatchedSession, void>,
  isLast: (item: WatchedSession) => boolean,
): Promise<readonly WatchedSession[]> {
  const seen: WatchedSession[] = [];
  for (;;) {
    const next = await items.next();
    if (next.done === true) throw new Error(`the watch ended after ${seen.length} items`);
    seen.push(next.value);
    if (isLast(next.value)) return seen;
  }
}

/** A client whose next `follow` is told to a test once it has begun to read. */
function noticing(client: EngineClient): { readonly client: EngineClient; readonly followed: Promise<void> } {
  let tell: () => void = () => undefined;
  const followed = new Promise<void>((resolve) => {
    tell = resolve;
  });
  return { followed, client: { ...client, follow: (id, options) => (tell(), client.follow(id, options)) } };
}

export function describeWatching(name: string, open: () => Promise<Connected>): void {
  describe(`${name}, watching a session`, () => {
    let connected: Connected;
    let client: EngineClient;
    let talk: Talk;
    let ended: AbortController;

    beforeEach(async () => {
      ended = new AbortController();
      connected = await open();
      ({ client } = connected);
      talk = new Talk(client);
    });
    afterEach(async () => {
      ended.abort();
      await connected.close();
    });

    const endRun = (run_id: string, turn = 1) =>
      talk.submit([{ kind: 'ToolCallsObserved', run_id, turn, calls: [], content: { text: 'done' } }]);

    describe('watch', () => {
      test('begins with the session as it is, then shows each commit', async () => {
        await talk.create();
        await talk.run();
        const items = watch(client, SESSION, { signal: ended.signal });
        const [now] = await until(items, () => true);
        expect(now).toMatchObject({ version: 1, status: 'running', events: [], deltas: [], waiting: [] });
        expect(now?.owed.map(({ kind }) => kind)).toEqual(['llm.generate']);
        await endRun('run-1');
        const [after] = await until(items, () => true);
        expect(after).toMatchObject({ version: 2, status: 'idle', owed: [] });
        expect(after?.events.map(({ position, event }) => [position, event.kind])).toEqual([[1, 'ToolCallsObserved']]);
        expect(after?.stateDigest).toBe(stateDigest(await talk.state()));
      });

      test('goes on after the last version seen, and misses no event', async () => {
        await talk.create();
        await talk.run();
        const first = watch(client, SESSION, { from: 0, signal: ended.signal });
        const seen = await until(first, ({ version }) => version === 1);
        expect(seen.map(({ version }) => version)).toEqual([0, 1]);
        await first.return();
        await endRun('run-1');
        await talk.run();
        const on = watch(client, SESSION, { from: 1, signal: ended.signal });
        const rest = await until(on, ({ version }) => version === 3);
        expect(rest.map(({ version, events }) => [version, events.length])).toEqual([
          [1, 0],
          [2, 1],
          [3, 1],
        ]);
      });

      test('says which calls wait for a person', async () => {
        await talk.create(testPackage(), CONSENT_PRESETS.careful);
        await talk.calls(['w', 'write'], ['r', 'read']);
        const [item] = await until(watch(client, SESSION, { signal: ended.signal }), () => true);
        expect(item?.status).toBe('requires_action');
        expect(item?.waiting.map(({ call_id, kind }) => [call_id, kind])).toEqual([
          ['w', 'agent.tool_use'],
          ['r', 'agent.tool_use'],
        ]);
      });

      test('shows what the model writes', async () => {
        await talk.create();
        await talk.run();
        const { effects, epochs } = await talk.lease(A, { kinds: ['llm.generate'] });
        const lease = { owner: A, effect_id: (effects[0] as Effect).effect_id, epoch: epochs[0] as number };
        const items = watch(client, SESSION, { signal: ended.signal });
        await until(items, () => true);
        const next = until(items, ({ deltas }) => deltas.length > 0);
        await must(client.postDeltas(SESSION, { ...lease, parts: [{ kind: 'text', text: 'Hel' }] }));
        const item = (await next).at(-1);
        expect(item).toMatchObject({ version: 1, events: [], deltas: [{ turn: 1, parts: [{ text: 'Hel' }] }] });
      });

      test('is refused without the session, and from a position it has not reached', async () => {
        await expect(watch(client, SESSION).next()).rejects.toMatchObject({ rejection: { code: 'unknown_session' } });
        await talk.create();
        await expect(watch(client, SESSION, { from: 1 }).next()).rejects.toMatchObject({
          rejection: { code: 'position_unknown', path: '/from' },
        });
      });

      test('ends when its signal aborts, and when the client closes', async () => {
        await talk.create();
        const items = watch(client, SESSION, { signal: ended.signal });
        await items.next();
        const next = items.next();
        ended.abort();
        expect(await next).toMatchObject({ done: true });
        const others = watch(client, SESSION);
        await others.next();
        const last = others.next();
        await client.close();
        await connected.close();
        expect(await last).toMatchObject({ done: true });
      });
    });

    describe('waitForRun', () => {
      test('resolves when the live run ends, with its record', async () => {
        await talk.create();
        await talk.run();
        const noticed = noticing(client);
        const waiting = waitForRun(noticed.client, SESSION);
        await noticed.followed;
        await endRun('run-1');
        expect(await waiting).toMatchObject({
          run_id: 'run-1',
          ending: { outcome: 'completed', output: { text: 'done' } },
        });
        expect(await waitForRun(client, SESSION)).toEqual(await waiting);
        expect(await waitForRun(client, SESSION, RUN_1)).toEqual(await waiting);
      });

      test('waits for a follow-up that has not begun', async () => {
        await talk.create();
        await talk.run();
        await talk.submit([{ kind: 'FollowUpQueued', follow_up: { input: { text: 'then' } } }]);
        const noticed = noticing(client);
        const waiting = waitForRun(noticed.client, SESSION, RUN_2);
        await noticed.followed;
        await endRun('run-1');
        await endRun('run-2');
        expect(await waiting).toMatchObject({ run_id: 'run-2', ending: { outcome: 'completed' } });
      });

      test('finds a run that state has forgotten', async () => {
        await talk.create();
        for (let run = 1; run <= RUN_HISTORY_MAX + 1; run += 1) {
          await talk.run();
          await endRun(`run-${run}`);
        }
        expect((await talk.state()).run_history.some(({ run_id }) => run_id === RUN_1)).toBe(false);
        expect(await waitForRun(client, SESSION, RUN_1)).toMatchObject({ run_id: 'run-1' });
      });

      test('is refused when the run can not come', async () => {
        await talk.create();
        const refused = { rejection: { code: 'run_not_active' } };
        await expect(waitForRun(client, SESSION)).rejects.toMatchObject(refused);
        await talk.run();
        const noticed = noticing(client);
        const waiting = waitForRun(noticed.client, SESSION, RUN_2);
        await noticed.followed;
        await endRun('run-1');
        await expect(waiting).rejects.toMatchObject(refused);
      });

      test('stops when its signal aborts, with the reason', async () => {
        await talk.create();
        await talk.run();
        const noticed = noticing(client);
        const waiting = waitForRun(noticed.client, SESSION, RUN_1, { signal: ended.signal });
        await noticed.followed;
        ended.abort(new Error('enough'));
        await expect(waiting).rejects.toThrow('enough');
        await expect(waitForRun(client, SESSION, RUN_1, { signal: ended.signal })).rejects.toThrow('enough');
      });
    });

    test('resultsOf lists what settled without a report of its own, in call order', async () => {
      await talk.create();
      await talk.run();
      const same = { tool_name: 'read', arguments: { n: 1 } };
      const calls = [
        { call_id: 'a', ...same },
        { call_id: 'b', ...same },
        { call_id: 'c', tool_name: 'once', arguments: {} },
        { call_id: 'd', tool_name: 'nope', arguments: {} },
      ];
      await talk.submit([{ kind: 'ToolCallsObserved', run_id: 'run-1', turn: 1, calls }]);
      const owed = callsIn(await talk.lease(A));
      const of = (id: string) => owed.find(({ call_id }) => call_id === id) ?? expect.unreachable();
      await talk.submit([started(of('c'), A)], A);
      await talk.submit([settled(of('a'))], A);
      await talk.release(A, of('c').effect_id);
      const shown = (run: RunId) =>
        resultsOf(client, SESSION, run).then((results) =>
          results.map(({ call, status, code, result }) => [call.call_id, status, code, result?.success ?? null]),
        );
      expect(await shown(RUN_1)).toEqual([
        ['a', 'succeeded', null, true],
        ['b', 'succeeded', null, true],
        ['c', 'unknown', 'outcome_unknown', null],
        ['d', 'rejected', 'tool_unknown', null],
      ]);
      expect(await shown(RUN_2)).toEqual([]);
    });
  });
}
