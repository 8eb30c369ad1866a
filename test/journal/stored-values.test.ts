import { Buffer } from 'node:buffer';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { InvariantError } from '../../schemas/rejection.ts';
import type { JournalRecord } from '../../src/journal/journal.ts';
import {
  decodeGenesis,
  decodeHead,
  decodeMeta,
  decodeStretch,
  encodeGenesis,
  encodeHead,
  encodeMeta,
  encodeStretch,
} from '../../src/journal/stored-values.ts';
import { hasDerivedChain } from '../../src/journal/derived-chain.ts';
import { decodeTrail } from '../../src/journal/commit-trail.ts';
import { nextChain } from '../../src/core/chain.ts';
import { digestText } from '../../schemas/canonical.ts';
import { recordOf, version } from '../support/journal/samples.ts';

const readers = { decodeStretch, decodeHead, decodeGenesis, decodeMeta, decodeTrail };

/** The records of a stretch, with their derived chain values. */
const recordsIn = (bytes: Uint8Array): readonly JournalRecord[] | null =>
  decodeStretch(bytes)?.map(({ event, event_id, state_digest, chain }) => ({ event, event_id, state_digest, chain })) ??
  null;

const text = fc.string({ unit: 'binary', maxLength: 300 }).filter((value) => value.isWellFormed());

/** Records whose chain values follow from each other, as in a stream. */
function chained(count: number): readonly JournalRecord[] {
  let chain = digestText('genesis');
  return Array.from({ length: count }, (_, index) => {
    const record = recordOf(`e${index}`);
    chain = nextChain(chain, digestText(record.event), record.state_digest);
    return { ...record, chain };
  });
}

describe('stored values', () => {
  test('decode to what was encoded', () => {
    expect.hasAssertions();
    fc.assert(
      fc.property(
        fc.array(text, { minLength: 1, maxLength: 9 }),
        fc.maxSafeNat(),
        fc.boolean(),
        (texts, count, owing) => {
          const records = texts.map((value, index) => recordOf(`event-${index}`, value));
          expect(recordsIn(encodeStretch(records))).toEqual(records);
          expect(decodeHead(encodeHead({ version: version(count), owing }))).toEqual({ version: count, owing });
          expect(decodeGenesis(encodeGenesis(texts.join()))).toBe(texts.join());
          expect(decodeMeta(encodeMeta(count))).toEqual({ layout: 2, sessionCount: count });
        },
      ),
    );
  });

  test('omit exactly the chain values that follow from stored ones', () => {
    for (let count = 1; count < 9; count += 1) {
      const records = chained(count);
      const bytes = encodeStretch(records);
      expect(recordsIn(bytes)).toEqual(records);
      const derived = decodeStretch(bytes)?.map(hasDerivedChain);
      expect(derived).toEqual(records.map((_, index) => index > 0 && index < count - 1));
      for (let odd = 0; odd < count; odd += 1) {
        const others = records.map((record, index) => (index === odd ? { ...record, chain: digestText('x') } : record));
        expect(recordsIn(encodeStretch(others))).toEqual(others);
      }
      const whole = encodeStretch(records.map((record) => ({ ...record, chain: digestText('x') })));
      // The length field of the digests may take one byte more.
      expect([0, 1]).toContain(whole.length - bytes.length - 32 * Math.max(0, count - 2));
    }
  });

  test('have the exact bytes of layout 2', () => {
    const record = { ...recordOf('e'), event: '{}' };
    const digests = `${record.state_digest.slice(7)}${record.chain.slice(7)}`;
    expect(Buffer.from(encodeStretch([record])).toString('hex')).toBe(`836165627b7d5840${digests}`);
    const inText = { ...record, event: '{"event_id":"e"}' };
    expect(
      Buffer.from(encodeStretch([inText]))
        .toString('hex')
        .slice(0, 6),
    ).toBe('830070');
    expect(Buffer.from(encodeHead({ version: version(300), owing: true })).toString('hex')).toBe('f2012c01');
    expect(Buffer.from(encodeHead({ version: version(7), owing: false })).toString('hex')).toBe('07');
    expect(Buffer.from(encodeMeta(3)).toString('hex')).toBe('820203');
  });

  test('take few bytes besides the text of the event', () => {
    const record = recordOf('event-12345', 'x'.repeat(500));
    expect(encodeStretch([record]).length - 500).toBeLessThanOrEqual(12 + 2 * 32 + 7);
    const many = Array.from({ length: 6 }, (_, index) => recordOf(`event-${index}`, 'x'.repeat(500)));
    expect(encodeStretch(many).length - 3_000).toBeLessThanOrEqual(6 * (8 + 2 * 32 + 4) + 4);
  });

  test('store an event id as the index of the field in the text that holds it', () => {
    const id = fc.string({ unit: fc.constantFrom('a', '"', '\\', '~', '/', '}'), minLength: 1, maxLength: 9 });
    const other = fc.record({ event_id: id, note: fc.string() });
    fc.assert(
      fc.property(id, other, (event_id, before) => {
        const record = recordOf(event_id, JSON.stringify({ calls: [before], event_id, kind: 'x' }));
        const bytes = encodeStretch([record]);
        expect(decodeStretch(bytes)).toEqual([record]);
        expect(bytes.length - record.event.length).toBeLessThanOrEqual(1 + 1 + 3 + 2 + 2 * 32);
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
    const good = encodeStretch(chained(4));
    let refused = 0;
    for (let bit = 0; bit < good.length * 8; bit += 1) {
      const bytes = Uint8Array.from(good);
      bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      const records = recordsIn(bytes);
      for (const record of records ?? []) {
        expect(Object.values(record).map((field) => typeof field)).toEqual(Array.from({ length: 4 }, () => 'string'));
      }
      if (records === null) refused += 1;
    }
    expect(refused).toBeGreaterThan(20);
    for (let length = 0; length < good.length; length += 1) expect(decodeStretch(good.subarray(0, length))).toBeNull();
    expect(decodeStretch(Buffer.concat([good, Buffer.of(0)]))).toBeNull();
  });

  test('decode to null when a part has the wrong type', () => {
    const digests = `5840${'00'.repeat(64)}`;
    const wrong = [
      `826165627b7d`,
      `836165627b7d5820${'00'.repeat(32)}`,
      `846165627b7d6165${digests}`,
      `8360627b7d${digests}`,
      `83616542 7b7d${digests}`.replace(' ', ''),
      `8305627b7d${digests}`,
      `836165627b7d7840${'30'.repeat(64)}`,
      `81${digests}`,
    ];
    expect(wrong.map((hex) => decodeStretch(Buffer.from(hex, 'hex')))).toEqual(wrong.map(() => null));
    const heads = ['', '0700', '0702', '070101', 'f1', 'f107', 'f0'];
    expect(heads.map((hex) => decodeHead(Buffer.from(hex, 'hex')))).toEqual(heads.map(() => null));
  });

  test('are not encoded from ill-formed text or digests', () => {
    expect(() => encodeStretch([recordOf('e', '\ud800')])).toThrow(InvariantError);
    expect(() => encodeGenesis('\udc00')).toThrow(InvariantError);
    expect(() => encodeStretch([{ ...recordOf('e'), chain: 'sha256:00' as never }])).toThrow(InvariantError);
  });
});
