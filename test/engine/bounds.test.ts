// Tests each bound of the engine by reaching it.
import { isLeft } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import { brand } from '../../schemas/ids.ts';
import { IDLE_SESSIONS_MAX, LEASE_EFFECTS_MAX, QUEUE_BYTES_MAX, QUEUE_MAX } from '../../schemas/limits.ts';
import { openMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import { must } from '../../src/client/must.ts';
import { openEngine, startEngine } from '../../src/engine/engine.ts';
import { openMemoryJournal } from '../../src/journal/memory-journal.ts';
import { newDisk } from '../support/engine/disk.ts';
import { A, B, SESSION, Talk, callsIn, leaseRequest, newWorld, packageOf, settled } from '../support/engine/world.ts';
import { outcome } from '../support/journal/outcomes.ts';
import { FREE, READ } from '../support/tools.ts';

const PAUSE = { kind: 'RunPaused', run_id: 'run-1' } as const;

const count = (codes: readonly string[], code: string): number => codes.filter((other) => other === code).length;

describe('the queue of a session', () => {
  test('accepts a bounded number of requests and refuses the rest at once', async () => {
    const { talk } = await newWorld();
    await talk.create();
    const codes = await Promise.all(Array.from({ length: QUEUE_MAX + 10 }, () => talk.outcome(PAUSE)));
    // The first one is removed from the queue before the others come.
    expect(count(codes, 'queue_full')).toBe(9);
    expect(count(codes, 'run_not_active')).toBe(QUEUE_MAX + 1);
    expect(await talk.outcome(PAUSE)).toBe('run_not_active');
  });

  test('accepts a bounded number of bytes', async () => {
    const { talk } = await newWorld();
    await talk.create();
    const reason = 'x'.repeat(900_000);
    const call = { call_id: 'a', tool_name: 'x', arguments_text: reason };
    const codes = await Promise.all(
      Array.from({ length: 40 }, () =>
        talk.outcome({ kind: 'ToolCallsObserved', run_id: 'run-1', turn: 1, calls: [call] }),
      ),
    );
    expect(count(codes, 'queue_full')).toBeGreaterThan(0);
    expect(count(codes, 'run_not_active')).toBeGreaterThanOrEqual(Math.floor(QUEUE_BYTES_MAX / 901_000));
  });
});

describe('lease requests', () => {
  test('wait up to a maximum number, and are refused beyond it', async () => {
    const { engine } = await newWorld();
    const waiting = Array.from({ length: QUEUE_MAX }, () => engine.client.lease(leaseRequest(A, { wait_ms: 9_000 }))());
    expect(await outcome(engine.client.lease(leaseRequest(A, { wait_ms: 9_000 })))).toBe('queue_full');
    await engine.close();
    const answers = await Promise.all(waiting);
    expect(answers.every((answer) => !isLeft(answer) && answer.right.effects.length === 0)).toBe(true);
  });

  test('are granted at most `max` effects, and the rest goes to others', async () => {
    const { talk } = await newWorld();
    await talk.create(packageOf([FREE]));
    const ids = Array.from({ length: LEASE_EFFECTS_MAX + 5 }, (_, index) => [`c${index}`, 'free'] as const);
    await talk.calls(...ids);
    expect(await talk.leased(A)).toHaveLength(LEASE_EFFECTS_MAX);
    expect(await talk.leased(B)).toHaveLength(5);
    expect(await outcome(talk.client.lease(leaseRequest(A, { max: LEASE_EFFECTS_MAX + 1 })))).toBe('invalid_shape');
  });
});

describe('a large batch', () => {
  // Deriving every effect for every report took minutes.
  test('costs each report only what it changes, not the whole batch', { timeout: 30_000 }, async () => {
    const { talk } = await newWorld();
    await talk.create(packageOf([READ]));
    const calls = 1_000;
    await talk.submit([{ kind: 'SessionConfigured', config: { calls_max: calls } }]);
    await talk.calls(...Array.from({ length: calls }, (_, index) => [`c${index}`, 'read'] as const));
    // Another request waits for other effects all the time, and is checked at every report.
    const waiting = talk.leased(B, { kinds: ['batch.settle'], wait_ms: 20_000 });
    let done = 0;
    while (done < calls) {
      const leased = callsIn(await talk.lease(A));
      expect(leased.length).toBeGreaterThan(0);
      for (const call of leased.slice(0, 64)) await talk.submit([settled(call)], A);
      const rest = leased.slice(64);
      if (rest.length > 0)
        await talk.submit(
          rest.map((call) => settled(call)),
          A,
        );
      done += leased.length;
    }
    expect(await waiting).toEqual(['batch-1/settle']);
  });
});

describe('sessions in memory', () => {
  test('are evicted beyond a number, and loaded again when they are used', async () => {
    const disk = newDisk();
    const { engine } = await newWorld(disk);
    const { client } = engine;
    const small = packageOf([FREE]);
    const first = await new Talk(client).create(small);
    const events = client.follow(SESSION)[Symbol.asyncIterator]();
    const next = events.next();
    const busy = await new Talk(client, brand('busy')).create(small);
    await busy.run();
    const idle = brand<'SessionId'>('idle');
    await new Talk(client, idle).create(small);
    await must(client.session(idle));
    for (let index = 0; index < IDLE_SESSIONS_MAX; index += 1) {
      const id = brand<'SessionId'>(`x-${index}`);
      await must(client.createSession({ session_id: id, tool_package: small }));
      await must(client.session(id));
    }
    const loads = (): number => disk.calls.filter((name) => name === 'genesis').length;
    const before = loads();
    // The session with a run is still in memory; the idle ones are not, and a reader keeps none there.
    await must(client.session(busy.id));
    expect(loads()).toBe(before);
    await must(client.session(idle));
    expect(loads()).toBe(before + 1);
    await first.run();
    expect((await next).value).toMatchObject({ position: 0 });
    await events.return?.();
  });
});

describe('invalid bounds of an engine', () => {
  test.each([
    ['leaseTtlMs', 0],
    ['leaseTtlMs', -1],
    ['leaseTtlMs', 1.5],
    ['leaseTtlMs', Number.NaN],
    ['activeSessionsMax', 0],
    ['activeSessionsMax', Number.NaN],
  ])('are refused: %s of %d', async (name, value) => {
    const [journal, blobs] = [openMemoryJournal(), openMemoryBlobs()];
    const refused = { _tag: 'Left', left: { code: 'invalid_shape', path: `/${name}` } };
    expect(await startEngine({ journal, blobs, [name]: value })()).toMatchObject(refused);
    expect(await openEngine({ dataDir: '/nowhere/at-all', [name]: value })()).toMatchObject(refused);
  });
});
