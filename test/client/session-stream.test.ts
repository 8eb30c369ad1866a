// A session as a client stream: cut anywhere and resumed at any id, with deltas, over both clients.
import * as fc from 'fast-check';
import { right } from 'fp-ts/lib/Either.js';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Effect } from '../../schemas/effect.ts';
import { type CommitRecord, type StreamRecord, versionAfter } from '../../schemas/record.ts';
import type { EngineClient } from '../../src/client/client.ts';
import { must, sessionStream } from '../../src/client/index.ts';
import { type StreamedEvent, replay } from '../../src/core/index.ts';
import { commitsIn, recordsOf } from '../audit/records.ts';
import { fixtureRecords, projected, textsOf } from '../support/client-streams.ts';
import { serveClient } from '../support/engine/serving.ts';
import { A, SESSION, type World, newWorld } from '../support/engine/world.ts';
import { walk } from '../support/streams.ts';

/** A client of one stream that is whole: following it ends after its last commit. */
function clientOf(records: readonly StreamRecord[]): EngineClient {
  const commits = commitsIn(records);
  const { state, chain } = replay(records);
  const known = {
    session: () => () => Promise.resolve(right({ state, chain })),
    records: () => () => Promise.resolve(right(records.slice(0, 3))),
    followLive: async function* (
      _id: unknown,
      { from = 0 }: { readonly from?: number } = {},
    ): AsyncGenerator<CommitRecord> {
      yield* commits.filter((commit) => versionAfter(commit) > from);
    },
  };
  return known as unknown as EngineClient;
}

async function all(events: AsyncIterable<StreamedEvent>): Promise<readonly StreamedEvent[]> {
  const seen: StreamedEvent[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}

const after = (id: string | undefined) => (id === undefined ? {} : { after: id });

describe('of a recorded stream', () => {
  test('it is the projection, and resumed after any id it is the rest', async () => {
    const records = fixtureRecords('confirmations');
    const client = clientOf(records);
    const whole = projected(records);
    expect(await all(sessionStream(client, SESSION))).toEqual(whole);
    for (const [index, { id }] of whole.entries()) {
      if (index % 7 !== 0) continue;
      expect(await all(sessionStream(client, SESSION, after(id)))).toEqual(whole.slice(index + 1));
    }
  });

  test('cut anywhere and resumed, a random stream equals the whole', async () => {
    const drawn = fc.record({
      seed: fc.nat({ max: 400 }),
      sizes: fc.array(fc.integer({ min: 1, max: 7 }), { maxLength: 20 }),
      cuts: fc.array(fc.nat({ max: 60 }), { maxLength: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(drawn, async ({ seed, sizes, cuts }) => {
        const records = recordsOf(walk(seed, 60).session, sizes);
        const client = clientOf(records);
        const seen: StreamedEvent[] = [];
        for (const cut of [...cuts, Infinity]) {
          let left = cut;
          for await (const event of sessionStream(client, SESSION, after(seen.at(-1)?.id))) {
            if (left === 0) break;
            left -= 1;
            seen.push(event);
          }
        }
        expect(seen).toEqual(projected(records));
      }),
      { numRuns: 40 },
    );
  });

  test('a position without events may be resumed after, too', async () => {
    const records = fixtureRecords('confirmations');
    const whole = projected(records);
    expect(whole.some(({ id }) => id === '2')).toBe(false);
    const rest = await all(sessionStream(clientOf(records), SESSION, { after: '2' }));
    expect(rest).toEqual(whole.slice(whole.findIndex(({ id }) => id === '3')));
  });

  test.each(['x', '', '-1', '1.', '1.0', '1.1.1', '01e2', '9'.repeat(16), '7 '])(
    'the id "%s" is refused',
    async (id) => {
      const stream = sessionStream(clientOf(fixtureRecords('confirmations')), SESSION, { after: id });
      await expect(stream.next()).rejects.toMatchObject({
        rejection: { code: 'invalid_shape', path: '/last-event-id' },
      });
    },
  );

  test('an id that the session has not reached is refused', async () => {
    const stream = sessionStream(clientOf(fixtureRecords('confirmations')), SESSION, { after: '100000' });
    await expect(stream.next()).rejects.toMatchObject({ rejection: { code: 'position_unknown' } });
  });
});

describe.each([
  ['in process', async ({ engine }: World) => ({ client: engine.client, close: () => Promise.resolve() })],
  ['over HTTP', async ({ engine }: World) => await serveClient(engine.client)],
])('%s', (_where, open) => {
  async function begun() {
    const world = await newWorld();
    const opened = await open(world);
    const ended = new AbortController();
    onTestFinished(async () => {
      ended.abort();
      await opened.close();
      await world.engine.close();
    });
    await world.talk.create();
    const seen: StreamedEvent[] = [];
    const stream = sessionStream(opened.client, SESSION, { signal: ended.signal });
    const until = async (isLast: (event: StreamedEvent) => boolean): Promise<void> => {
      for (;;) {
        const next = await stream.next();
        if (next.done === true) throw new Error('the stream has ended');
        seen.push(next.value);
        if (isLast(next.value)) return;
      }
    };
    return { talk: world.talk, client: opened.client, seen, until, stream, ended };
  }

  test('what the model writes comes without an id, and the record adds what is missing', async () => {
    const { talk, client, seen, until } = await begun();
    await talk.run();
    await until(({ event }) => event === 'thread_lifecycle');
    const { effects, epochs } = await talk.lease(A, { kinds: ['llm.generate'] });
    const lease = { owner: A, effect_id: (effects[0] as Effect).effect_id, epoch: epochs[0] as number };
    const writing = until(({ event }) => event === 'text_delta');
    await must(client.postDeltas(SESSION, { ...lease, parts: [{ kind: 'text', text: 'Hel' }] }));
    await writing;
    await talk.submit([{ kind: 'ToolCallsObserved', run_id: 'run-1', turn: 1, calls: [], content: { text: 'Hello' } }]);
    await until((item) => item.event === 'thread_lifecycle' && item.data.phase !== 'started');
    expect(seen.map(({ event, id }) => `${id ?? '-'} ${event}`)).toEqual([
      '0 thread_lifecycle',
      '- content_block_start',
      '- text_delta',
      '1.2 text_delta',
      '1.3 content_block_stop',
      '1 thread_lifecycle',
    ]);
    expect(textsOf(seen)).toEqual(['Hello']);
    const again = sessionStream(client, SESSION, { after: '0' });
    expect((await again.next()).value).toMatchObject({ event: 'content_block_start', id: '1.1' });
    expect((await again.next()).value).toMatchObject({ event: 'text_delta', data: { text: 'Hello' }, id: '1.2' });
    await again.return();
  });

  test('it ends when its signal aborts', async () => {
    const { stream, ended } = await begun();
    const next = stream.next();
    ended.abort();
    expect(await next).toMatchObject({ done: true });
  });
});
