import { Buffer } from 'node:buffer';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvariantError } from '../../schemas/rejection.ts';
import {
  decodeGenesis,
  decodeHead,
  decodeMeta,
  decodePosition,
  decodeRecord,
  encodeGenesis,
  encodeHead,
  encodeMeta,
  encodePosition,
  encodeRecord,
} from '../../src/journal/stored-values.ts';
import { position, recordOf, version } from '../support/journal/samples.ts';

const readers = { decodeRecord, decodeHead, decodePosition, decodeGenesis, decodeMeta };

const text = fc.string({ unit: 'binary', maxLength: 300 }).filter((value) => value.isWellFormed());

describe('stored values', () => {
  it('come back as they were written', () => {
    expect.hasAssertions();
    fc.assert(
      fc.property(text, fc.maxSafeNat(), fc.boolean(), (value, count, owing) => {
        const record = recordOf('event-1', value);
        expect(decodeRecord(encodeRecord(record))).toEqual(record);
        expect(decodeHead(encodeHead({ version: version(count), owing }))).toEqual({ version: count, owing });
        expect(decodePosition(encodePosition(position(count)))).toBe(count);
        expect(decodeGenesis(encodeGenesis(value))).toBe(value);
        expect(decodeMeta(encodeMeta(count))).toEqual({ layout: 1, sessionCount: count });
      }),
    );
  });

  it('have the bytes they had when the layout was settled', () => {
    const record = { ...recordOf('e'), event: '{}' };
    const hex = Buffer.from(encodeRecord(record)).toString('hex');
    expect(hex).toBe(`836165627b7d5840${record.state_digest.slice(7)}${record.chain.slice(7)}`);
    const said = { ...record, event: '{"event_id":"e"}' };
    const saidHex = Buffer.from(encodeRecord(said)).toString('hex');
    expect(saidHex.slice(0, 6)).toBe('830170');
    // As records were before they named the place of the id, with their digests apart.
    const older = `846165627b7d5820${record.state_digest.slice(7)}5820${record.chain.slice(7)}`;
    expect(decodeRecord(Buffer.from(older, 'hex'))).toEqual(record);
    expect(Buffer.from(encodeHead({ version: version(300), owing: true })).toString('hex')).toBe('8219012cf5');
    expect(Buffer.from(encodePosition(position(7))).toString('hex')).toBe('07');
    expect(Buffer.from(encodeMeta(3)).toString('hex')).toBe('820103');
  });

  it('cost few bytes beside the text of the event', () => {
    const record = recordOf('event-12345', 'x'.repeat(500));
    expect(encodeRecord(record).length - 500).toBeLessThanOrEqual(12 + 2 * 34 + 4);
  });

  it('say an event id that the text says where the text says it', () => {
    const id = fc.string({ unit: fc.constantFrom('a', '"', '\\', '~', '/', '}'), minLength: 1, maxLength: 9 });
    const other = fc.record({ event_id: id, note: fc.string() });
    fc.assert(
      fc.property(id, other, (event_id, before) => {
        const record = recordOf(event_id, JSON.stringify({ calls: [before], event_id, kind: 'x' }));
        const bytes = encodeRecord(record);
        expect(decodeRecord(bytes)).toEqual(record);
        expect(bytes.length - record.event.length).toBeLessThanOrEqual(1 + 3 + 3 + 2 + 2 * 32);
      }),
    );
  });

  it('are refused, never thrown at, when they are garbage', () => {
    expect.hasAssertions();
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 120 }), (bytes) => {
        for (const read of Object.values(readers)) expect(() => read(bytes)).not.toThrow();
      }),
      { numRuns: 2_000 },
    );
  });

  it('have the right structure or are refused when any one bit is flipped', () => {
    const good = encodeRecord(recordOf('event-1', '{"a":"ä€"}'));
    let refused = 0;
    for (let bit = 0; bit < good.length * 8; bit += 1) {
      const bytes = Uint8Array.from(good);
      bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      const record = decodeRecord(bytes);
      const fields = ['chain', 'event', 'event_id', 'state_digest'];
      expect(Object.keys(record ?? recordOf('refused')).sort()).toEqual(fields);
      if (record === null) refused += 1;
    }
    expect(refused).toBeGreaterThan(20);
    for (let length = 0; length < good.length; length += 1) expect(decodeRecord(good.subarray(0, length))).toBeNull();
    expect(decodeRecord(Buffer.concat([good, Buffer.of(0)]))).toBeNull();
  });

  it('are refused when their parts are not of the right kind', () => {
    const digest = `5820${'00'.repeat(32)}`;
    const wrong = [
      `836165627b7d${digest}`,
      `856165627b7d${digest}${digest}f6`,
      `8460627b7d${digest}${digest}`,
      `846165427b7d${digest}${digest}`,
      `846165627b7d${digest}581f${'00'.repeat(31)}`,
      `846165627b7d${digest}7820${'30'.repeat(32)}`,
    ];
    expect(wrong.map((hex) => decodeRecord(Buffer.from(hex, 'hex')))).toEqual(wrong.map(() => null));
    const heads = ['8220f5', '82fb3ff8000000000000f5', '820101', '8101', 'a0'];
    expect(heads.map((hex) => decodeHead(Buffer.from(hex, 'hex')))).toEqual(heads.map(() => null));
  });

  it('are not made of text or digests that are none', () => {
    expect(() => encodeRecord(recordOf('e', '\ud800'))).toThrow(InvariantError);
    expect(() => encodeGenesis('\udc00')).toThrow(InvariantError);
    expect(() => encodeRecord({ ...recordOf('e'), chain: 'sha256:00' as never })).toThrow(InvariantError);
  });
});
