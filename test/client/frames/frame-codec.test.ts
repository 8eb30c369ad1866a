// Frames are the same however their bytes are cut, and no bytes throw.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FRAME_BYTES_MAX } from '../../../schemas/limits.ts';
import { encodeFrame, newFrameReader } from '../../../src/client/frames/frame-codec.ts';

/** Cuts bytes at these places, in any order, also outside of them. */
function cut(bytes: Buffer, places: readonly number[]): readonly Buffer[] {
  const sorted = [0, ...places.map((place) => place % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b);
  return sorted.slice(1).map((end, index) => bytes.subarray(sorted[index], end));
}

const read = (pieces: readonly Uint8Array[], bytesMax?: number) => {
  const reader = newFrameReader(bytesMax);
  const texts: string[] = [];
  for (const piece of pieces) {
    const { texts: more, fault } = reader.read(piece);
    texts.push(...more);
    if (fault !== null) return { texts, fault, isBegun: reader.isBegun() };
  }
  return { texts, fault: null, isBegun: reader.isBegun() };
};

const aText = fc.string({ unit: 'grapheme', maxLength: 60 });

describe('frames', () => {
  test('are the same in every cut of their bytes', () => {
    fc.assert(
      fc.property(fc.array(aText, { maxLength: 8 }), fc.array(fc.nat(4_000)), (texts, places) => {
        const formed = texts.map((text) => text.toWellFormed());
        const bytes = Buffer.concat(formed.map(encodeFrame));
        expect(read(cut(bytes, places))).toEqual({ texts: formed, fault: null, isBegun: false });
        expect(read(Array.from(bytes, (byte) => Buffer.of(byte)))).toEqual(read([bytes]));
      }),
    );
  });

  test('that are cut off are not given, and leave one begun', () => {
    fc.assert(
      fc.property(aText, fc.nat(300), (text, at) => {
        const bytes = encodeFrame(text.toWellFormed());
        const kept = bytes.subarray(0, at % bytes.length);
        expect(read([kept])).toEqual({ texts: [], fault: null, isBegun: kept.length > 0 });
      }),
    );
  });

  test('come to the same end from any bytes in any cut, and throw for none', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), fc.array(fc.nat(400)), fc.boolean(), (garbage, places, small) => {
        // Most random heads state gigabytes.
        const bytes = Buffer.from(garbage);
        if (small) for (let at = 0; at < bytes.length; at += 7) bytes[at] = 0;
        expect(read(cut(bytes, places), 64)).toEqual(read([bytes], 64));
      }),
    );
  });

  test('have a greatest length, which is known with the head', () => {
    const most = encodeFrame('x'.repeat(FRAME_BYTES_MAX));
    expect(read([most]).texts[0]).toHaveLength(FRAME_BYTES_MAX);
    const longer = Buffer.alloc(4);
    longer.writeUInt32BE(FRAME_BYTES_MAX + 1);
    expect(read([longer])).toMatchObject({ texts: [], fault: 'too_large' });
    expect(read([encodeFrame('"before"'), longer, encodeFrame('"after"')]).texts).toEqual(['"before"']);
  });

  test('are UTF-8', () => {
    expect(read([encodeFrame('"\ufffd"')]).texts).toEqual(['"\ufffd"']);
    expect(read([Buffer.from([0, 0, 0, 2, 0xc3, 0x28])])).toMatchObject({ texts: [], fault: 'invalid_frame' });
  });
});
