import { Buffer } from 'node:buffer';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EVENTS_PER_COMMIT_MAX } from '../../schemas/limits.ts';
import { InvariantError } from '../../schemas/rejection.ts';
import type { HeadFacts } from '../../schemas/session-head.ts';
import { decodeTrail } from '../../src/journal/commit-trail.ts';
import type { JournalCommit, JournalEvent } from '../../src/journal/journal.ts';
import {
  decodeCommit,
  decodeHead,
  decodeMeta,
  decodeText,
  encodeCommit,
  encodeHead,
  encodeMeta,
  encodeText,
} from '../../src/journal/stored-values.ts';
import {
  commitAt,
  commitWith,
  idleHead,
  owingHead,
  position,
  session,
  storedEvent,
  version,
} from '../support/journal/samples.ts';

const START = position(7);
const commitIn = (bytes: Uint8Array): JournalCommit | null => decodeCommit(START, bytes);
const readers = { commitIn, decodeHead, decodeText, decodeMeta, decodeTrail };
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const bytesOf = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex');

const text = fc.string({ unit: 'binary', maxLength: 300 }).filter((value) => value.isWellFormed());

const anyHead: fc.Arbitrary<HeadFacts> = fc.record({
  owing: fc.boolean(),
  wake_at_ms: fc.option(fc.nat()),
  card: fc.record({
    title: fc.option(fc.string({ unit: 'grapheme', maxLength: 20 })),
    status: fc.constantFrom<HeadFacts['card']['status']>('idle', 'running', 'waiting', 'requires_action', 'paused'),
    parent: fc.option(fc.constantFrom(session('a'), session('b.c'))),
    last_activity_ms: fc.nat(),
    outcome: fc.option(fc.constantFrom<NonNullable<HeadFacts['card']['outcome']>>('completed', 'failed')),
  }),
});

describe('stored values', () => {
  test('decode to what was encoded', () => {
    expect.hasAssertions();
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 9 }), fc.maxSafeNat(), anyHead, (texts, count, head) => {
        const events = texts.map((value, index): JournalEvent => storedEvent(`event-${index}`, value));
        const commit = commitWith(START, events);
        expect(commitIn(encodeCommit(commit))).toEqual(commit);
        expect(decodeHead(encodeHead({ version: version(count), ...head }))).toEqual({ version: count, ...head });
        expect(decodeText(encodeText(texts.join()))).toBe(texts.join());
        expect(decodeMeta(encodeMeta(count))).toEqual({ layout: 3, sessionCount: count });
      }),
    );
  });

  test('hold a commit of the maximum number of events, and none with more', () => {
    const ids = Array.from({ length: EVENTS_PER_COMMIT_MAX }, (_, index) => `e${index}`);
    const most = commitAt(START, ...ids);
    expect(commitIn(encodeCommit(most))).toEqual(most);
    expect(commitIn(encodeCommit(commitAt(START, ...ids, 'more')))).toBeNull();
    expect(commitIn(encodeCommit(commitAt(START)))).toBeNull();
  });

  test('have the exact bytes of layout 3', () => {
    const commit = commitWith(0, [storedEvent('e', '{}'), storedEvent('f', '{"event_id":"f"}')]);
    const digests = `${commit.state_digest.slice(7)}${commit.chain.slice(7)}`;
    const inText = hexOf(Buffer.from('{"event_id":"f"}'));
    expect(hexOf(encodeCommit(commit))).toBe(`85 6165 627b7d 00 70${inText} 5840${digests}`.replaceAll(' ', ''));
    expect(hexOf(encodeHead({ version: version(7), ...idleHead }))).toBe('8807f4f6f66469646c65f600f6');
    expect(hexOf(encodeMeta(3))).toBe('820303');
    expect(hexOf(encodeText('{}'))).toBe('627b7d');
  });

  test('take few bytes besides the texts of the events', () => {
    const one = commitWith(0, [storedEvent('event-12345', 'x'.repeat(500))]);
    expect(encodeCommit(one).length - 500).toBeLessThanOrEqual(12 + 2 * 32 + 7);
    const events = Array.from({ length: 6 }, (_, index) => storedEvent(`event-${index}`, 'x'.repeat(500)));
    expect(encodeCommit(commitWith(0, events)).length - 3_000).toBeLessThanOrEqual(6 * (8 + 4) + 2 * 32 + 4);
  });

  test('store an event id as the index of the field in the text that holds it', () => {
    const id = fc.string({ unit: fc.constantFrom('a', '"', '\\', '~', '/', '}'), minLength: 1, maxLength: 9 });
    const other = fc.record({ event_id: id, note: fc.string() });
    fc.assert(
      fc.property(id, other, (event_id, before) => {
        const event = storedEvent(event_id, JSON.stringify({ calls: [before], event_id, kind: 'x' }));
        const bytes = encodeCommit(commitWith(START, [event, storedEvent('last', '{}')]));
        expect(commitIn(bytes)?.events[0]).toEqual(event);
        expect(bytes.length - event.text.length).toBeLessThanOrEqual(1 + 1 + 3 + (5 + 3) + 2 + 2 * 32);
      }),
    );
  });

  test('decode without an exception when they are garbage', () => {
    expect.hasAssertions();
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 120 }), (bytes) => {
        for (const read of Object.values(readers)) expect(() => read(bytes)).not.toThrow();
      }),
      { numRuns: 2_000 },
    );
  });

  test('decode to the right structure or to null when any one bit is flipped', () => {
    const good = encodeCommit(commitAt(START, 'a', 'b', 'c', 'd'));
    let refused = 0;
    for (let bit = 0; bit < good.length * 8; bit += 1) {
      const bytes = Uint8Array.from(good);
      bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      const commit = commitIn(bytes);
      if (commit === null) refused += 1;
      else {
        expect(commit).toEqual({
          position: START,
          events: commit.events.map(() => ({ text: expect.any(String), event_id: expect.any(String) })),
          state_digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
          chain: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
        });
      }
    }
    expect(refused).toBeGreaterThan(20);
    for (let length = 0; length < good.length; length += 1) expect(commitIn(good.subarray(0, length))).toBeNull();
    expect(commitIn(Buffer.concat([good, Buffer.of(0)]))).toBeNull();
  });

  test('decode to null when a part has the wrong type', () => {
    const digests = `5840${'00'.repeat(64)}`;
    const wrong = [
      '826165627b7d',
      `836165627b7d5820${'00'.repeat(32)}`,
      `846165627b7d6165${digests}`,
      `8360627b7d${digests}`,
      `836165427b7d${digests}`,
      `8305627b7d${digests}`,
      `836165627b7d7840${'30'.repeat(64)}`,
      `81${digests}`,
      `85 6165627b7d 6166f6 ${digests}`,
      `85 6165627b7d ${digests} 627b7d 6166`,
    ];
    expect(wrong.map((hex) => commitIn(bytesOf(hex)))).toEqual(wrong.map(() => null));
    expect(commitIn(bytesOf(`836165627b7d${digests}`))).not.toBeNull();
    const heads = ['', '07', '8107', '8707f4f6f66469646c65f600', '8907f4f6f66469646c65f600f6f6'];
    const fields = ['8820f4f6f66469646c65f600f6', '880700f6f66469646c65f600f6', '8807f420f66469646c65f600f6'];
    const cards = ['8807f4f6006469646c65f600f6', '8807f4f6f66469646c66f600f6', '8807f4f6f66469646c656000f6'];
    const ends = ['8807f4f6f66469646c65f6f6f6', '8807f4f6f66469646c65f6006162'];
    for (const hex of [...heads, ...fields, ...cards, ...ends]) expect(decodeHead(bytesOf(hex))).toBeNull();
    expect(decodeHead(bytesOf('8807f4f6f66469646c65f600f6'))).toEqual({ version: 7, ...idleHead });
  });

  test('hold a head in fewer bytes than its longest card has as JSON', () => {
    const card = { ...owingHead.card, title: '€'.repeat(80), parent: session('p'.repeat(64)) };
    const head = { version: version(Number.MAX_SAFE_INTEGER), ...owingHead, card };
    expect(decodeHead(encodeHead(head))).toEqual(head);
    expect(encodeHead(head).length).toBeLessThan(Buffer.byteLength(JSON.stringify(head)));
  });

  test('are not encoded from ill-formed text or digests', () => {
    expect(() => encodeCommit(commitWith(0, [storedEvent('e', '\ud800')]))).toThrow(InvariantError);
    expect(() => encodeText('\udc00')).toThrow(InvariantError);
    expect(() => encodeCommit({ ...commitAt(0, 'e'), chain: 'sha256:00' as never })).toThrow(InvariantError);
  });
});
