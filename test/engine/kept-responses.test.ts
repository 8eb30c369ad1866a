// Which responses of models a collection keeps: the log says it, whatever options a bridge has later.
import { expect, test } from 'vitest';
import { GC_GRACE_MS } from '../../schemas/limits.ts';
import { newBlobCheck } from '../../src/client/watch/blob-check.ts';
import { must } from '../../src/client/must.ts';
import { digestText } from '../../schemas/canonical.ts';
import type { Digest } from '../../schemas/ids.ts';
import { collectBlobs } from '../../src/engine/collect-blobs.ts';
import { type LooseIngress, SESSION, type World, newWorld, packageOf } from '../support/engine/world.ts';
import { streamEvents } from '../support/records.ts';
import { FREE } from '../support/tools.ts';

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

const exchangeOf = (text: string, keep_turns?: number) => ({
  encoder: 'openai.chat/1',
  request: digestText('a request'),
  response: digestText(text),
  response_bytes: text.length,
  ...(keep_turns === undefined ? {} : { keep_turns }),
});

/** One run of one turn for each response. */
async function runsWith(world: World, exchanges: readonly { readonly text: string; readonly keep?: number }[]) {
  await world.talk.create(packageOf([FREE]));
  for (const [index, { text, keep }] of exchanges.entries()) {
    await must(world.engine.client.putBlob(bytesOf(text), { durable: false }));
    await world.talk.submit([{ kind: 'RunRequested', input: { text: 'go' } }]);
    const exchange = exchangeOf(text, keep);
    const answer = { kind: 'ToolCallsObserved', run_id: `run-${index + 1}`, turn: 1, calls: [], content: { text } };
    await world.talk.submit([{ ...answer, exchange } as LooseIngress]);
  }
}

async function collected(world: World): Promise<readonly Digest[]> {
  const nowMs = Date.now() + 10 * GC_GRACE_MS;
  const { journal, blobs } = world.disk;
  return (await must(collectBlobs({ journal, blobs, nowMs, remove: true }))).unreferenced;
}

async function checked(world: World) {
  const { client } = world.engine;
  const check = newBlobCheck(client);
  for (const recorded of streamEvents(await must(client.records(SESSION)))) check.add(recorded);
  return await check.finish((await must(client.session(SESSION))).state);
}

test('all, when the events say nothing', async () => {
  const world = await newWorld();
  await runsWith(world, [{ text: 'one' }, { text: 'two' }]);
  expect(await collected(world)).toEqual([]);
  expect(await checked(world)).toEqual({ checked: 2, absent: 0, bad: [] });
});

test('those of the last turns, when the events say so; what is collected is absent, not bad', async () => {
  const world = await newWorld();
  await runsWith(world, [
    { text: 'one', keep: 2 },
    { text: 'two', keep: 2 },
    { text: 'three', keep: 2 },
  ]);
  expect(await collected(world)).toEqual([digestText('one')]);
  expect(await checked(world)).toEqual({ checked: 2, absent: 1, bad: [] });
});

test('one that a later event still names', async () => {
  const world = await newWorld();
  await runsWith(world, [{ text: 'same', keep: 1 }, { text: 'two', keep: 1 }, { text: 'same' }]);
  expect(await collected(world)).toEqual([digestText('two')]);
});

test('a response of another size or content is bad', async () => {
  const world = await newWorld();
  await world.talk.create(packageOf([FREE]));
  await must(world.engine.client.putBlob(bytesOf('right')));
  await world.talk.submit([{ kind: 'RunRequested', input: { text: 'go' } }]);
  const exchange = { ...exchangeOf('right'), response_bytes: 4 };
  const answer = { kind: 'ToolCallsObserved', run_id: 'run-1', turn: 1, calls: [], content: { text: 'x' }, exchange };
  await world.talk.submit([answer as LooseIngress]);
  expect((await checked(world)).bad).toMatchObject([{ path: '/event/exchange/response', code: 'damaged' }]);
});

test.each(['ContextCompacted', 'CompactFailed'] as const)(
  'that of a compaction (%s), which a crash may lose: absent then, not bad',
  async (kind) => {
    const world = await newWorld();
    const { client } = world.engine;
    await world.talk.create(packageOf([FREE]));
    await world.talk.submit([{ kind: 'SessionConfigured', config: { context: { mark: 1_000_000 } } }]);
    await world.talk.submit([{ kind: 'RunRequested', input: { text: 'go' } }]);
    const answer = { kind: 'ToolCallsObserved', run_id: 'run-1', turn: 1, calls: [], content: { text: 'done' } };
    await world.talk.submit([answer as LooseIngress]);
    await world.talk.submit([{ kind: 'RunRequested', input: { text: 'go on' } }]);
    const of = { run_id: 'run-2', turn: 1 };
    await world.talk.submit([{ kind: 'GenerateFailed', ...of, code: 'context_length', message: 'too long' }]);
    const { run } = await world.talk.state();
    const response = await must(client.putBlob(bytesOf('the answer'), { durable: false }));
    const answered =
      kind === 'ContextCompacted'
        ? { through: run?.compact?.through, summary: { text: 'It went.' } }
        : { code: 'provider_terminal', message: 'it made calls' };
    const report = { kind, run_id: 'run-2', turn: run?.turn, ...answered, exchange: exchangeOf('the answer') };
    await world.talk.submit([report as LooseIngress]);
    expect(await collected(world)).toEqual([]);
    expect(await checked(world)).toMatchObject({ absent: 0, bad: [] });
    await must(world.disk.blobs.delete(response));
    expect(await checked(world)).toMatchObject({ absent: 1, bad: [] });
  },
);
