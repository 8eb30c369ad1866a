import { array, assert, asyncProperty, nat, string } from 'fast-check';
import { left, right } from 'fp-ts/lib/Either.js';
import { expect, test } from 'vitest';
import { newDeltaSender } from '../../../bridge/generate/delta-sender.ts';
import type { ReplyDelta } from '../../../bridge/providers/provider.ts';
import { createRedactor } from '../../../bridge/secrets/redactor.ts';
import { brand } from '../../../schemas/ids.ts';
import { DELTA_CHARS, DELTA_MS, DELTAS_CHARS_MAX } from '../../../schemas/limits.ts';
import { reject } from '../../../schemas/rejection.ts';
import type { DeltaPart, PostDeltas } from '../../../schemas/wire.ts';
import { newVirtualClock, rest } from '../../support/engine/virtual-clock.ts';

const KEY = 'sk-0123456789abcdef';

interface Opened {
  readonly secrets?: readonly string[];
  readonly refuses?: boolean;
}

function open({ secrets = [], refuses = false }: Opened = {}) {
  const clock = newVirtualClock();
  const posts: PostDeltas[] = [];
  const answers: (() => void)[] = [];
  const sender = newDeltaSender(
    {
      owner: brand('bridge-a'),
      clock,
      redactor: createRedactor(secrets),
      leases: { epochOf: () => 3 },
      client: {
        postDeltas: (_session, request) => () =>
          new Promise((resolve) => {
            posts.push(request);
            answers.push(() => resolve(refuses ? left(reject('stale_lease', '', 'gone')) : right({ readers: 1 })));
          }),
      },
    },
    { session_id: brand('s-1'), effect_id: brand('run-1/turn-1') },
  );
  return {
    sender,
    posts,
    write: (text: string, kind: ReplyDelta['kind'] = 'text') => sender.add({ kind, text }),
    /** Lets so much time pass. */
    wait: (ms: number) => clock.advance(ms),
    /** The engine answers every post so far. */
    answer: async () => {
      for (const answered of answers.splice(0)) answered();
      await rest();
    },
    parts: (): readonly DeltaPart[] => posts.flatMap(({ parts }) => parts),
    text: (): string => posts.flatMap(({ parts }) => parts.map((part) => part.text)).join(''),
  };
}

test('what is written within a moment goes in one post, under the lease', async () => {
  const { write, wait, posts } = open();
  write('Hel');
  write('lo');
  write('hm', 'thinking');
  write('!');
  expect(posts).toEqual([]);
  await wait(DELTA_MS);
  expect(posts).toEqual([
    {
      owner: 'bridge-a',
      effect_id: 'run-1/turn-1',
      epoch: 3,
      parts: [
        { kind: 'text', text: 'Hello' },
        { kind: 'thinking', text: 'hm' },
        { kind: 'text', text: '!' },
      ],
    },
  ]);
});

test('much text goes at once, and one post waits for the one before', async () => {
  const { write, wait, answer, posts } = open();
  write('a'.repeat(DELTA_CHARS));
  expect(posts).toHaveLength(1);
  write('b'.repeat(DELTA_CHARS));
  write('c');
  await wait(10 * DELTA_MS);
  expect(posts).toHaveLength(1);
  await answer();
  await wait(DELTA_MS);
  expect(posts[1]?.parts).toEqual([{ kind: 'text', text: `${'b'.repeat(DELTA_CHARS)}c` }]);
});

test('of more than a post may hold, the newest goes', async () => {
  const { write, wait, answer, posts } = open();
  write('a'.repeat(DELTA_CHARS));
  for (let index = 0; index < 40; index += 1) write('b'.repeat(DELTA_CHARS));
  write('c');
  await answer();
  await wait(DELTA_MS);
  const [part] = posts[1]?.parts ?? [];
  expect([part?.text.length, part?.text.at(-1)]).toEqual([DELTAS_CHARS_MAX, 'c']);
});

test('after a refusal, and after the end, nothing is posted', async () => {
  for (const refuses of [true, false]) {
    const { sender, write, wait, answer, posts } = open({ refuses });
    write('a');
    await wait(DELTA_MS);
    await answer();
    if (!refuses) sender.end();
    write('b');
    await wait(10 * DELTA_MS);
    expect(posts).toHaveLength(1);
  }
});

test('a secret is replaced however it is cut, and text before its possible beginning is not held back', async () => {
  const cut = array(nat({ max: 2 * KEY.length }), { maxLength: 6 });
  await assert(
    asyncProperty(string({ maxLength: 20 }), string({ maxLength: 20 }), cut, async (before, after, cuts) => {
      const world = open({ secrets: [KEY] });
      const whole = `${before}${KEY}${after}`;
      const places = [...new Set(cuts)].sort((a, b) => a - b);
      for (const [index, at] of [0, ...places].entries()) {
        world.write(whole.slice(at, places[index] ?? whole.length));
        await world.wait(DELTA_MS);
        await world.answer();
      }
      // The end of the kind releases what was held back.
      world.write('.', 'thinking');
      await world.wait(DELTA_MS);
      expect(world.text()).not.toContain(KEY);
      expect(world.text()).toBe(`${createRedactor([KEY]).text(whole.toWellFormed())}.`);
    }),
    { numRuns: 60 },
  );
});

test('a pair of surrogates is not divided', async () => {
  const { write, wait, answer, parts } = open();
  write('a\ud83d');
  await wait(DELTA_MS);
  await answer();
  write('\ude00b');
  await wait(DELTA_MS);
  expect(parts()).toEqual([
    { kind: 'text', text: 'a' },
    { kind: 'text', text: '😀b' },
  ]);
});
