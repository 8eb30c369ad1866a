// Requests for an undo: the edge finds the call in the stream, and a bridge is granted the undo with its files.
import { right } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import { digestText } from '../../schemas/canonical.ts';
import type { Position } from '../../schemas/ids.ts';
import {
  READ_PAGE_BYTES,
  READ_PAGE_EVENTS,
  UNDO_SEARCHES_TOGETHER,
  UNDO_SEARCH_CHARS_MAX,
} from '../../schemas/limits.ts';
import { must, mustBe } from '../../src/client/must.ts';
import { type Stream, fillUndo } from '../../src/engine/append/undo-request.ts';
import { newRequestBudget } from '../../src/engine/edge/budget.ts';
import type { Journal } from '../../src/journal/journal.ts';
import { neverPause } from '../../src/turns.ts';
import { newDisk } from '../support/engine/disk.ts';
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
async function written(changes: Changes = changesOf('a'), workspace?: string, disk = newDisk()): Promise<World> {
  const named = workspace === undefined ? {} : { workspace };
  const world = await newWorld(disk);
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

const SOUGHT = { kind: 'UndoRequested', call_id: 'w' } as never;

const searched = (state: Stream['state']): Omit<Stream, 'journal'> => ({
  id: SESSION,
  state,
  version: state.version,
  pending: [],
  pause: neverPause,
  budget: newRequestBudget(),
});

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

  test('is the same request under its event id with or without its batch, and another one with another batch', async () => {
    const world = await written(changesOf('a'), 'w@1');
    expect(await world.talk.outcome(ask('w', { event_id: 'U' }))).toBe('done');
    const again = [{}, { batch_id: 'batch-1' }, { workspace: 'w@1' }, { changes: changesOf('claimed') }];
    for (const rest of again) expect(await world.talk.outcome(ask('w', { event_id: 'U', ...rest }))).toBe('done');
    for (const rest of [{ batch_id: 'batch-2' }, { workspace: 'w@2' }]) {
      expect(await world.talk.outcome(ask('w', { event_id: 'U', ...rest }))).toBe('event_id_reused');
    }
    expect((await world.talk.state()).undos).toHaveLength(1);
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
    const filled = mustBe(await fillUndo({ ...searched(state), journal: { read } }, SOUGHT));
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

describe('a search for the call to undo', () => {
  /** A stream of large events that all mention the call, of which none is its settlement. */
  async function mentioning(count: number, chars: number) {
    const { talk } = await written();
    const state = { ...(await talk.state()), version: count as never };
    const filling = 'x'.repeat(chars);
    const text = JSON.stringify({ call_id: 'other', data: { call_id: 'w' }, filling, kind: 'ToolCallSettled' });
    const event = { text, event_id: 'e' as never };
    const reads: { readonly from: number; readonly count: number }[] = [];
    const read: Journal['read'] = (_id, from, limit) => async () => {
      const page = Array.from({ length: Math.min(limit, Math.ceil(READ_PAGE_BYTES / text.length)) }, (_, index) => ({
        position: (from + index) as Position,
        events: [event],
        state_digest: digestText(''),
        chain: digestText(''),
      }));
      reads.push({ from, count: page.length });
      return right(page);
    };
    return { stream: { ...searched(state), journal: { read } }, reads, chars: text.length };
  }

  test('reads pages of bounded size, the newest first, and pauses before each event', async () => {
    const COUNT = 200;
    const { stream, reads } = await mentioning(COUNT, 100_000);
    let pauses = 0;
    const pause = (): null => {
      pauses += 1;
      return null;
    };
    expect(await fillUndo({ ...stream, pause }, SOUGHT)).toMatchObject({ left: { code: 'unknown_call' } });
    expect(pauses).toBe(COUNT);
    const total = reads.reduce((sum, page) => sum + page.count, 0);
    expect(total, 'few pages are read twice').toBeLessThan(COUNT + 64);
    expect(reads.at(-1)?.from).toBe(0);
  });

  test('ends after a bounded distance, which the calls of one request share', async () => {
    const { stream, reads, chars } = await mentioning(1_000, 500_000);
    const refused = await fillUndo(stream, SOUGHT);
    expect(refused).toMatchObject({ left: { code: 'unknown_call', message: expect.stringContaining('in the last') } });
    const read = (): number => reads.reduce((sum, page) => sum + page.count * chars, 0);
    expect(read()).toBeLessThan(UNDO_SEARCH_CHARS_MAX + 64 * READ_PAGE_BYTES);
    const before = read();
    expect(await fillUndo(stream, SOUGHT)).toEqual(refused);
    expect(read()).toBe(before);
  });

  test('waits while as many others run as may, and ends when its request is given up', async () => {
    const streams = await Promise.all(Array.from({ length: UNDO_SEARCHES_TOGETHER + 1 }, () => mentioning(10, 10)));
    let letGo = (): void => undefined;
    const held = new Promise<void>((resolve) => (letGo = resolve));
    let begun = 0;
    const search = ({ stream }: (typeof streams)[number], index: number) => {
      const read: Journal['read'] =
        (...given) =>
        async () => {
          begun += 1;
          await held;
          return await stream.journal.read(...given)();
        };
      return fillUndo({ ...stream, id: `${SESSION}-${index}` as never, journal: { read } }, SOUGHT);
    };
    const [first, ...others] = streams.map(search);
    await new Promise(setImmediate);
    expect(begun).toBe(UNDO_SEARCHES_TOGETHER);
    const overtaken = { ...newRequestBudget(), wait: () => Promise.reject(new Error('overtaken')) };
    const given = await mentioning(10, 10);
    await expect(fillUndo({ ...given.stream, budget: overtaken }, SOUGHT)).rejects.toThrow('overtaken');
    letGo();
    await Promise.all([first, ...others]);
    await new Promise(setImmediate);
    expect(begun).toBe(UNDO_SEARCHES_TOGETHER + 1);
    expect(given.reads).toEqual([]);
  });

  test('is overtaken by a request that ends work', async () => {
    const disk = newDisk();
    let hold: Promise<void> | null = null;
    let letGo = (): void => undefined;
    let begin = (): void => undefined;
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const ports: typeof disk.ports = () => {
      const given = disk.ports();
      const read: Journal['read'] =
        (...place) =>
        async () => {
          if (hold !== null) begin();
          await hold;
          return await given.journal.read(...place)();
        };
      return { ...given, journal: { ...given.journal, read } };
    };
    const world = await written(changesOf('a'), undefined, { ...disk, ports });
    hold = new Promise((resolve) => (letGo = resolve));
    const asked = world.talk.outcome(ask('w'));
    await begun;
    expect(await world.talk.outcome({ kind: 'user.interrupt', run_id: 'run-1' })).toBe('done');
    letGo();
    expect(await asked).toBe('done');
    expect(await undos(world)).toHaveLength(1);
  });
});
