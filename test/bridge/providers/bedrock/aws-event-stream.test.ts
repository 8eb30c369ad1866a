import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { StreamEvent } from '../../../../bridge/providers/api/dialect.ts';
import { newAwsFrames } from '../../../../bridge/providers/bedrock/aws-event-stream.ts';
import { type HeaderValue, awsEventBytes, awsFrameBytes } from '../../../support/providers/aws-frames.ts';
import { roundsOf } from '../../../support/random.ts';

/** Feeds the bytes in slices that end at these places; the error if one is thrown. */
function read(
  bytes: Uint8Array,
  cuts: readonly number[] = [],
): { events: StreamEvent[]; clean: boolean; error: string } {
  const frames = newAwsFrames();
  const events: StreamEvent[] = [];
  let error = '';
  const places = [...new Set([0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])].toSorted(
    (a, b) => a - b,
  );
  for (const [index, from] of places.entries()) {
    try {
      events.push(...frames.feed(bytes.subarray(from, places[index + 1] ?? from)));
    } catch (thrown) {
      error = (thrown as Error).message;
    }
  }
  return { events, clean: frames.isClean(), error };
}

const headerValue: fc.Arbitrary<HeaderValue> = fc.oneof(
  fc.record({ type: fc.constant('text' as const), value: fc.string({ unit: 'binary', maxLength: 40 }) }),
  fc.record({ type: fc.constant('bytes' as const), value: fc.uint8Array({ maxLength: 300 }) }),
  fc.constantFrom(...([0, 1, 2, 3, 4, 5, 8, 9] as const).map((type) => ({ type }))),
);
const event = fc.record({
  name: fc.constantFrom('messageStart', 'contentBlockDelta', 'metadata'),
  data: fc.string({ unit: 'binary', maxLength: 3_000 }),
  further: fc.array(fc.tuple(fc.string({ minLength: 1, maxLength: 20 }), headerValue), { maxLength: 5 }),
});
const bytesOf = ({ name, data, further }: typeof event extends fc.Arbitrary<infer E> ? E : never): Buffer =>
  awsFrameBytes({
    headers: [
      ...further.map(([key, value]) => [`x-${key}`, value] as const),
      [':message-type', { type: 'text', value: 'event' }],
      [':event-type', { type: 'text', value: name }],
    ],
    payload: Buffer.from(data),
  });
const cuts = fc.array(fc.nat(20_000), { maxLength: 12 });

describe('any split of the bytes', () => {
  test('gives the events that were written', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 6 }), cuts, (events, places) => {
        const { events: found, clean, error } = read(Buffer.concat(events.map(bytesOf)), places);
        expect({ found, clean, error }).toEqual({
          found: events.map(({ name, data }) => ({ name, data })),
          clean: true,
          error: '',
        });
      }),
      { numRuns: roundsOf(150, 3_000) },
    );
  });

  test('byte by byte too', () => {
    const bytes = Buffer.concat([awsEventBytes('messageStart', '{"role":"assistant"}'), awsEventBytes('x', '')]);
    expect(read(bytes, [...bytes.keys()])).toEqual({
      events: [
        { name: 'messageStart', data: '{"role":"assistant"}' },
        { name: 'x', data: '' },
      ],
      clean: true,
      error: '',
    });
  });

  test('one changed bit anywhere gives the events before it, and an error or an incomplete frame', () => {
    const events = ['a', 'b', 'c'].map((name) => awsEventBytes(name, JSON.stringify({ [name]: 'text' })));
    const whole = Buffer.concat(events);
    fc.assert(
      fc.property(fc.nat(whole.length * 8 - 1), cuts, (bit, places) => {
        const bytes = Buffer.from(whole);
        bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        const { events: found, clean, error } = read(bytes, places);
        const sound = Math.floor((bit >> 3) / (whole.length / events.length));
        expect(found.map(({ name }) => name)).toEqual(['a', 'b', 'c'].slice(0, sound));
        expect(clean).toBe(false);
        expect(error).toMatch(/cannot be read/);
      }),
      { numRuns: roundsOf(200, 4_000) },
    );
  });

  test('a stream that is cut inside a frame is not clean', () => {
    const bytes = awsEventBytes('messageStop', '{"stopReason":"end_turn"}');
    for (let length = 1; length < bytes.length; length += 1) {
      expect(read(bytes.subarray(0, length))).toEqual({ events: [], clean: false, error: '' });
    }
  });
});

describe('what is no event', () => {
  test('an exception is named by its type', () => {
    const bytes = awsEventBytes('throttlingException', '{"message":"slow down"}', 'exception');
    expect(read(bytes).events).toEqual([{ name: 'throttlingException', data: '{"message":"slow down"}' }]);
  });

  test('an error is named by its code, and has its message as data', () => {
    const bytes = awsFrameBytes({
      headers: [
        [':message-type', { type: 'text', value: 'error' }],
        [':error-code', { type: 'text', value: 'InternalFailure' }],
        [':error-message', { type: 'text', value: 'try later' }],
      ],
      payload: new Uint8Array(),
    });
    expect(read(bytes).events).toEqual([
      { name: 'InternalFailure', data: '{"__type":"InternalFailure","message":"try later"}' },
    ]);
  });

  test.each([
    [
      'a frame that is shorter than its headers',
      awsFrameBytes(frameOf(''), { total: 40, headers: 25 }),
      'headers have 25',
    ],
    ['a frame without room for its sums', awsFrameBytes(frameOf(''), { total: 0, headers: 0 }), 'frame has 0'],
    ['headers that end early', awsFrameBytes(frameOf('1234'), { total: 20, headers: 4 }), 'middle of one'],
    [
      'an unknown type of header',
      awsFrameBytes(frameOf('\u0001x\u000a1'), { total: 20, headers: 4 }),
      'unknown type 10',
    ],
    ['a text that is not UTF-8', awsFrameBytes({ headers: [], payload: Buffer.from([0xc3, 0x28]) }), 'not UTF-8'],
    ['a length over the limit', awsFrameBytes(frameOf(''), { total: 16_777_217, headers: 0 }), 'larger than 16777216'],
    ['an answer that is not framed', Buffer.from('{"message":"not a frame"}'), 'lengths is wrong'],
  ])('%s is an error', (_, bytes, error) => {
    expect(read(bytes)).toEqual({ events: [], clean: false, error: expect.stringContaining(error) });
  });

  test('once the bytes are unreadable, no further frame is read', () => {
    const frames = newAwsFrames();
    const sound = awsEventBytes('messageStart', '{}');
    expect(frames.feed(Buffer.concat([sound, Buffer.alloc(12)]))).toHaveLength(1);
    expect(() => frames.feed(sound)).toThrow('cannot be read');
    expect(() => frames.feed(sound)).toThrow('cannot be read');
  });
});

function frameOf(payload: string): { headers: []; payload: Buffer } {
  return { headers: [], payload: Buffer.from(payload, 'latin1') };
}

test('a claimed length alone takes no memory, and large frames are read in linear time', () => {
  const data = 'x'.repeat(8 * 1_048_576);
  const bytes = awsEventBytes('contentBlockDelta', data);
  const frames = newAwsFrames();
  const events: StreamEvent[] = [];
  const started = process.cpuUsage();
  for (let at = 0; at < bytes.length; at += 64) events.push(...frames.feed(bytes.subarray(at, at + 64)));
  const { user, system } = process.cpuUsage(started);
  expect(events.map(({ data: { length } }) => length)).toEqual([data.length]);
  // Copying all of it at each of the 131,072 steps would take minutes.
  expect((user + system) / 1_000).toBeLessThan(2_000);
});
