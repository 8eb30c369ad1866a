// An undo in the bridge: the former content is fetched and put back, and reported once, even when a bridge dies.
import { left, right } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import { combineExecutors, type Executor } from '../../../bridge/executors/executors.ts';
import type { RestorableFile } from '../../../bridge/host/undo/restore-files.ts';
import type { Ingress } from '../../../schemas/event.ts';
import { digestText } from '../../../schemas/canonical.ts';
import { reject } from '../../../schemas/rejection.ts';
import { LEASE_TTL_MS, UNDO_TIMEOUT_MS } from '../../../schemas/limits.ts';
import { SESSION, type World, newWorld } from '../../support/bridge/harness.ts';

const requestUndo = (world: World, ref = world.engine.putText('old')): void =>
  world.engine.record(SESSION, {
    kind: 'UndoRequested',
    call_id: 'w',
    batch_id: 'batch-1',
    changes: [
      { path: 'a', before: { ref, bytes: 3 }, after_digest: digestText('new'), mode: 0o600 },
      { path: 'b', before: null, after_digest: digestText('b'), parents_made: 1 },
    ],
  } as unknown as Ingress);

interface Restorer extends Executor {
  readonly seen: (readonly RestorableFile[])[];
}

function restorer(restore: Executor['restore'] = () => ({ success: true, text: 'Put back a, b.' })): Restorer {
  const seen: (readonly RestorableFile[])[] = [];
  return {
    seen,
    tools: ['test.*'],
    run: () => Promise.reject(new Error('no call is made')),
    restore: (files) => {
      seen.push(files);
      return restore(files);
    },
  };
}

const undoSettled = async (world: World): Promise<object | undefined> => {
  await world.clock.until(() => world.engine.state(SESSION).undos === undefined, 10 * UNDO_TIMEOUT_MS);
  const events = world.engine.of('UndoSettled');
  expect(events).toHaveLength(1);
  return events[0];
};

describe('an undo', () => {
  test('restores the former bytes, and is reported', async () => {
    const world = newWorld();
    const executor = restorer();
    const bridge = world.start({ executors: [executor] });
    requestUndo(world);
    expect(await undoSettled(world)).toMatchObject({
      success: true,
      message: 'Put back a, b.',
      position: 0,
      call_id: 'w',
    });
    expect(executor.seen).toEqual([
      [
        { path: 'a', before: Buffer.from('old'), after_digest: digestText('new'), mode: 0o600 },
        { path: 'b', before: null, after_digest: digestText('b'), parents_made: 1 },
      ],
    ]);
    expect(world.log).toContainEqual(expect.objectContaining({ event: 'undone', success: true }));
    await bridge.stop();
  });

  test('reports why it failed: refused, threw, or without the former bytes', async () => {
    const refuse = (): never => {
      throw new Error('the disk is on fire');
    };
    for (const [restore, ref, code] of [
      [() => ({ success: false, code: 'changed_since', text: 'a changed' }), undefined, 'changed_since'],
      [refuse, undefined, 'tool_threw'],
      [undefined, digestText('never kept'), 'undo_not_kept'],
    ] as const) {
      const world = newWorld();
      const executor = restorer(restore);
      const bridge = world.start({ executors: [executor] });
      requestUndo(world, ref);
      expect(await undoSettled(world)).toMatchObject({ success: false, code });
      if (code === 'undo_not_kept') expect(executor.seen).toEqual([]);
      await bridge.stop();
    }
  });

  test('is not leased by a bridge without files', async () => {
    const world = newWorld();
    const other = world.start({ owner: 'bridge-b' });
    requestUndo(world);
    await world.clock.until(() => world.clock.now() >= 60_000);
    expect(world.engine.state(SESSION).undos).toHaveLength(1);
    const bridge = world.start({ owner: 'bridge-a', executors: [restorer()] });
    expect(await undoSettled(world)).toMatchObject({ success: true });
    await bridge.stop();
    await other.stop();
  });

  test('of a bridge that dies is done by the next one', async () => {
    const world = newWorld();
    const first = world.start({ owner: 'bridge-a', executors: [restorer()] });
    let died = false;
    world.engine.fault = () => {
      first.kill();
      died = true;
      return { code: 'closing', path: '', message: 'the bridge died' };
    };
    requestUndo(world);
    await world.clock.until(() => died);
    world.engine.fault = () => null;
    const executor = restorer();
    const second = world.start({ owner: 'bridge-b', executors: [executor] });
    expect(await undoSettled(world)).toMatchObject({ success: true });
    expect(executor.seen).toHaveLength(1);
    await second.stop();
  });

  test('is left to other bridges when its lease may have expired before the bytes arrived', async () => {
    const world = newWorld();
    const executor = restorer();
    const real = { ...world.engine.client };
    const away = () => async () => left(reject('closing', '', 'the engine is away'));
    let isAsked = false;
    let arrive = (): void => undefined;
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    Object.assign(world.engine.client, {
      getBlob: () => async () => {
        isAsked = true;
        await arrived;
        return right(Buffer.from('old'));
      },
      heartbeat: away,
      lease: (...given: Parameters<typeof real.lease>) => (isAsked ? away() : real.lease(...given)),
    });
    const bridge = world.start({ executors: [executor] });
    requestUndo(world);
    await world.clock.until(() => isAsked);
    const startedAt = world.clock.now();
    await world.clock.until(() => world.clock.now() > startedAt + 2 * LEASE_TTL_MS);
    arrive();
    await world.clock.settle();
    expect(executor.seen).toEqual([]);
    expect(world.engine.of('UndoSettled')).toEqual([]);
    await bridge.stop();
  });

  test('times out when the bytes never arrive, and changes no file', async () => {
    const world = newWorld();
    const executor = restorer();
    Object.assign(world.engine.client, { getBlob: () => () => new Promise(() => undefined) });
    const bridge = world.start({ executors: [executor] });
    requestUndo(world);
    expect(await undoSettled(world)).toMatchObject({ success: false, code: 'timeout' });
    expect(executor.seen).toEqual([]);
    await bridge.stop();
  });
});

test('of several executors, the first that has files restores them', () => {
  const one = { ...restorer(), tools: ['one.*'] };
  const two = { ...restorer(), tools: ['two.*'] };
  const { restore: _, ...none } = restorer();
  expect(combineExecutors([none, one, two]).restore).toBe(one.restore);
  expect(combineExecutors([none]).restore).toBeNull();
});
