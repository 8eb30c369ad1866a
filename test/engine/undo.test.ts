// Requests for an undo: the edge finds the call in the stream, and a bridge is granted the undo with its files.
import { describe, expect, test } from 'vitest';
import { digestText } from '../../schemas/canonical.ts';
import type { Position } from '../../schemas/ids.ts';
import { READ_PAGE_EVENTS } from '../../schemas/limits.ts';
import { must, mustBe } from '../../src/client/must.ts';
import { fillUndo } from '../../src/engine/append/undo-request.ts';
import type { Journal } from '../../src/journal/journal.ts';
import {
  A,
  B,
  type LooseIngress,
  SESSION,
  TTL_MS,
  type World,
  callsIn,
  newWorld,
  settled,
  started,
} from '../support/engine/world.ts';

const OLD = 'old text';
type Changes = NonNullable<Extract<LooseIngress, { readonly kind: 'ToolCallSettled' }>['changes']>;
const changesOf = (path: string): Changes => [
  { path, before: { ref: digestText(OLD), bytes: OLD.length }, after_digest: digestText('new') },
];

/** A session in which call `w` has written and call `r` has not; its run continues. */
async function written(changes: Changes = changesOf('a'), workspace?: string): Promise<World> {
  const named = workspace === undefined ? {} : { workspace };
  const world = await newWorld();
  await world.talk.create();
  await must(world.talk.client.putBlob(new TextEncoder().encode(OLD)));
  await world.talk.calls(['w', 'write'], ['r', 'read']);
  const calls = callsIn(await world.talk.lease(A));
  for (const effect of calls) {
    if (effect.call_id === 'w') await world.talk.submit([started(effect, A)], A);
    const report = settled(effect) as Extract<LooseIngress, { readonly kind: 'ToolCallSettled' }>;
    await world.talk.submit([effect.call_id === 'w' ? { ...report, changes, ...named } : report], A);
  }
  return world;
}

const ask = (call_id: string, rest: object = {}): LooseIngress => ({ kind: 'UndoRequested', call_id, ...rest });
const answer = (position: number, success = true): LooseIngress => ({
  kind: 'UndoSettled',
  position: position as Position,
  batch_id: 'batch-1',
  call_id: 'w',
  success,
});
const undos = async ({ talk }: World, owner = A) =>
  (await talk.lease(owner, { kinds: ['call.undo'] })).effects.flatMap((effect) =>
    effect.kind === 'call.undo' ? [effect] : [],
  );

describe('a request to undo a call', () => {
  test('is recorded with the changes of the settlement, whatever the client claims', async () => {
    const world = await written();
    await world.talk.submit([ask('w', { changes: changesOf('claimed') })]);
    expect(await undos(world)).toMatchObject([{ batch_id: 'batch-1', call_id: 'w', changes: changesOf('a') }]);
    expect((await world.talk.state()).undos).toMatchObject([{ changes: changesOf('a') }]);
  });

  test('is refused for a call that is unknown, recorded nothing, or was undone', async () => {
    const world = await written();
    expect(await world.talk.outcome(ask('absent'))).toBe('unknown_call');
    expect(await world.talk.outcome(ask('w', { batch_id: 'batch-9' }))).toBe('unknown_call');
    expect(await world.talk.outcome(ask('r'))).toBe('nothing_to_undo');
    await world.talk.submit([ask('w')]);
    expect(await world.talk.outcome(ask('w'))).toBe('undo_pending');
    const [undo] = await undos(world);
    await world.talk.submit([answer(undo?.position ?? -1)], A);
    expect(await world.talk.outcome(ask('w'))).toBe('already_undone');
    expect(await undos(world)).toEqual([]);
  });

  test('can be made again after an undo that failed', async () => {
    const world = await written();
    await world.talk.submit([ask('w')]);
    const [first] = await undos(world);
    await world.talk.submit([answer(first?.position ?? -1, false)], A);
    await world.talk.submit([ask('w')]);
    const [second] = await undos(world);
    expect(second?.effect_id).not.toBe(first?.effect_id);
    expect(await world.talk.outcome(answer(first?.position ?? -1), A)).toBe('undo_not_pending');
  });

  test('sees events that are not durable yet: a settlement and an undo in the same request', async () => {
    const world = await newWorld();
    await world.talk.create();
    await must(world.talk.client.putBlob(new TextEncoder().encode(OLD)));
    await world.talk.calls(['w', 'write']);
    const [effect] = callsIn(await world.talk.lease(A));
    if (effect === undefined) throw new Error('no effect is owed');
    const end = { ...settled(effect), changes: changesOf('a') } as LooseIngress;
    await world.talk.submit([started(effect, A), end, ask('w')], A);
    const { version } = await world.talk.state();
    const [undo] = await undos(world);
    expect(undo?.position).toBe(version - 1);
    expect(await world.talk.outcome(ask('w'))).toBe('undo_pending');
    await world.talk.submit([answer(version - 1)], A);
    expect(await world.talk.outcome(ask('w'))).toBe('already_undone');
  });

  test('finds a call further back than one page of the stream', async () => {
    const world = await written();
    const filler = Array.from({ length: 200 }, (): LooseIngress => ({
      kind: 'SessionConfigured',
      config: { model: 'm' },
    }));
    for (let count = 0; count <= READ_PAGE_EVENTS; count += filler.length) await world.talk.submit(filler);
    await world.talk.submit([ask('w')]);
    expect(await undos(world)).toHaveLength(1);
  });

  test('finds a call in a stream whose pages are short', async () => {
    const { disk, talk } = await written();
    const state = await talk.state();
    const read: Journal['read'] = (id, from, limit) => disk.journal.read(id, from, Math.min(limit, 2));
    const stream = { journal: { ...disk.journal, read }, id: SESSION, state, version: state.version, pending: [] };
    const filled = mustBe(await fillUndo(stream, { kind: 'UndoRequested', call_id: 'w' } as never));
    expect(filled.changes).toEqual(changesOf('a'));
  });

  test('can rely on the bytes: a settlement that names a missing blob is refused', async () => {
    const world = await newWorld();
    await world.talk.create();
    await world.talk.calls(['w', 'write']);
    const [effect] = callsIn(await world.talk.lease(A));
    if (effect === undefined) throw new Error('no effect is owed');
    const end = { ...settled(effect), changes: changesOf('a') } as LooseIngress;
    expect(await world.talk.outcome(end, A)).toBe('unknown_blob');
  });
});

describe('an undo of a call that named its workspace', () => {
  const wanting = async ({ talk }: World, workspace?: string, owner = A): Promise<number> =>
    (await talk.lease(owner, { kinds: ['call.undo'], ...(workspace === undefined ? {} : { workspace }) })).effects
      .length;

  test('is granted only to a bridge that names the same one, also after another one has asked', async () => {
    const world = await written(changesOf('a'), 'w@1');
    await world.talk.submit([ask('w')]);
    expect([await wanting(world), await wanting(world, 'w@2'), await wanting(world, 'w@2', B)]).toEqual([0, 0, 0]);
    expect(await wanting(world, 'w@1', B)).toBe(1);
    expect((await world.talk.state()).undos).toMatchObject([{ workspace: 'w@1' }]);
  });

  test('is granted to a waiting bridge of that workspace, not to the others', async () => {
    const world = await written(changesOf('a'), 'w@1');
    const kinds = ['call.undo'] as const;
    const others = [undefined, 'w@2'].map((workspace) =>
      world.talk.lease(B, { kinds, wait_ms: 1_000, ...(workspace === undefined ? {} : { workspace }) }),
    );
    const meant = world.talk.lease(A, { kinds, wait_ms: 1_000, workspace: 'w@1' });
    await world.talk.submit([ask('w')]);
    expect((await meant).effects).toMatchObject([{ kind: 'call.undo', workspace: 'w@1' }]);
    await world.clock.advance(1_000);
    for (const other of others) expect((await other).effects).toEqual([]);
  });

  test('is refused when the request states another one; without a name, only an unnamed bridge gets it', async () => {
    const world = await written(changesOf('a'), 'w@1');
    expect(await world.talk.outcome(ask('w', { workspace: 'w@2' }))).toBe('other_workspace');
    expect(await world.talk.outcome(ask('w', { workspace: 'w@1' }))).toBe('done');
    const unnamed = await written();
    expect(await unnamed.talk.outcome(ask('w', { workspace: 'w@2' }))).toBe('other_workspace');
    await unnamed.talk.submit([ask('w')]);
    expect([await wanting(unnamed, 'w@2'), await wanting(unnamed)]).toEqual([0, 1]);
  });
});

describe('an owed undo', () => {
  test('survives the run and a restart of the engine, is leased once, and again when its lease expires', async () => {
    const world = await written();
    await world.talk.submit([ask('w')]);
    await world.talk.submit([{ kind: 'RunCancelled', run_id: 'run-1' }]);
    expect((await world.talk.state()).run).toBeNull();
    await world.restart();
    expect(await undos(world, A)).toHaveLength(1);
    expect(await undos(world, B)).toEqual([]);
    await world.clock.advance(2 * TTL_MS);
    const [undo] = await undos(world, B);
    expect(await world.talk.outcome(answer(undo?.position ?? -1), A)).toBe('stale_lease');
    expect(await world.talk.outcome(answer(undo?.position ?? -1), B)).toBe('done');
    expect(
      (await must(world.talk.client.sessions())).sessions.find(({ session_id }) => session_id === SESSION)?.owing,
    ).toBe(false);
  });
});
