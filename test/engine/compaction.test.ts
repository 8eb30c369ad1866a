// A compaction through the engine: leased, fenced, owed again after a restart; its pages stay in the store.
import { expect, test } from 'vitest';
import { COMPACT_ENTRIES_MIN, GC_GRACE_MS } from '../../schemas/limits.ts';
import { newBlobCheck } from '../../src/client/watch/blob-check.ts';
import { must } from '../../src/client/must.ts';
import { replay } from '../../src/core/index.ts';
import { collectBlobs } from '../../src/engine/collect-blobs.ts';
import { A, B, type LooseIngress, SESSION, TTL_MS, type World, newWorld, packageOf } from '../support/engine/world.ts';
import { streamEvents } from '../support/records.ts';
import { FREE } from '../support/tools.ts';

const TURNS = COMPACT_ENTRIES_MIN / 2;
const EFFECT = `run-1/turn-${TURNS + 1}/compact`;

/** A run whose last turn passed its mark. */
async function aboveMark(): Promise<World> {
  const world = await newWorld();
  const { talk } = world;
  await talk.create(packageOf([FREE]));
  const run_overrides = { context: { mark: 10 } };
  await talk.submit([{ kind: 'RunRequested', input: { text: 'go' }, run_overrides }]);
  for (let turn = 1; turn <= TURNS; turn += 1) {
    const calls = [{ call_id: `c${turn}`, tool_name: 'nowhere', arguments: { turn } }];
    const usage = { input_tokens: turn === TURNS ? 11 : 1, output_tokens: 0 };
    await talk.submit([{ kind: 'ToolCallsObserved', run_id: 'run-1', turn, calls, usage }]);
    const { batch_id, plan } = (await talk.state()).active_tool_batch ?? {};
    if (batch_id === undefined || plan === undefined) throw new Error('no batch is open');
    await talk.submit([{ kind: 'ToolBatchSettled', batch_id, plan_hash: plan.plan_hash }]);
  }
  return world;
}

async function summary(world: World): Promise<LooseIngress> {
  const through = (await world.talk.state()).run?.compact?.through ?? '';
  return { kind: 'ContextCompacted', run_id: 'run-1', turn: TURNS + 1, through, summary: { text: 'so far' } };
}

test('is leased once, fenced, and owed again after a restart; then the generate is owed', async () => {
  const world = await aboveMark();
  expect(await world.talk.leased(A)).toEqual([EFFECT]);
  expect(await world.talk.leased(B)).toEqual([]);
  await world.restart();
  await world.clock.advance(2 * TTL_MS);
  expect(await world.talk.leased(B)).toEqual([EFFECT]);
  expect(await world.talk.outcome(await summary(world), A)).toBe('stale_lease');
  const other = { ...(await summary(world)), through: `sha256:${'0'.repeat(64)}` } as LooseIngress;
  expect(await world.talk.outcome(other, B)).toBe('wrong_page');
  expect(await world.talk.outcome(await summary(world), B)).toBe('done');
  expect(await world.talk.outcome(await summary(world), B)).toBe('wrong_phase');
  expect(await world.talk.leased(B)).toEqual([`run-1/turn-${TURNS + 1}`]);
  await world.engine.close();
});

test('that failed for a passing reason is leased again when its wait is over', async () => {
  const world = await aboveMark();
  expect(await world.talk.leased(A)).toEqual([EFFECT]);
  const failed = {
    kind: 'CompactFailed',
    run_id: 'run-1',
    turn: TURNS + 1,
    code: 'busy',
    message: 'no',
    retryable: true,
  };
  expect(await world.talk.outcome(failed as LooseIngress, A)).toBe('done');
  expect((await world.talk.state()).run?.retry?.failures).toBe(1);
  await world.clock.advance(10_000);
  expect(await world.talk.leased(A)).toEqual([`${EFFECT}/retry-1`]);
  await world.engine.close();
});

test('keeps the pages that its summary stands for, and the stream replays', async () => {
  const world = await aboveMark();
  await world.talk.submit([await summary(world)]);
  const records = await must(world.engine.client.records(SESSION));
  const { divergence, state } = replay(records);
  expect(divergence).toBeNull();
  expect(state?.transcript).toEqual((await world.talk.state()).transcript);
  const { journal, blobs } = world.disk;
  await must(collectBlobs({ journal, blobs, nowMs: Date.now() + 10 * GC_GRACE_MS, remove: true }));
  const check = newBlobCheck(world.engine.client);
  for (const recorded of streamEvents(records)) check.add(recorded);
  expect(await check.finish(state)).toEqual({ checked: 1, absent: 0, bad: [] });
  await world.engine.close();
});
