// Deltas before a recorded turn: a reader gets each character of the text once, whatever it has seen of it.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { BlobText } from '../../../schemas/content.ts';
import { EXCERPT_CHARS } from '../../../schemas/limits.ts';
import { type Digest, brand } from '../../../schemas/ids.ts';
import type { DeltaFrame } from '../../../schemas/wire.ts';
import { type StreamedEvent, type StreamedText, newLiveText } from '../../../src/core/index.ts';
import { textsOf } from '../../support/client-streams.ts';

const RUN = brand<'RunId'>('run-1');
const BLOCK = { block_index: 0, block_type: 'text' } as const;

const frame = (text: string, rest: Partial<DeltaFrame> = {}): DeltaFrame => ({
  kind: 'delta',
  run_id: RUN,
  turn: 1,
  parts: text === '' ? [] : [{ kind: 'text', text }],
  ...rest,
});

const recorded = (text: StreamedText): readonly StreamedEvent[] => [
  { event: 'usage', data: { input_tokens: 1, output_tokens: 1 }, id: '7.1' },
  { event: 'content_block_start', data: BLOCK, id: '7.2' },
  { event: 'text_delta', data: { text }, id: '7.3' },
  { event: 'content_block_stop', data: BLOCK, id: '7' },
];

/** What a reader gets of these frames, and then of the record. */
function seen(frames: readonly DeltaFrame[], text: StreamedText): readonly StreamedEvent[] {
  const live = newLiveText();
  return [...frames.flatMap((one) => live.add(one)), ...live.join(recorded(text))];
}

const shapeOf = (events: readonly StreamedEvent[]): readonly string[] =>
  events.map(({ event, id }) => `${event} ${id ?? '-'}`);

test('without deltas the record is passed on as it is', () => {
  expect(seen([], 'Hello')).toEqual(recorded('Hello'));
});

test('what was seen is not repeated, and what has no id is not on record', () => {
  const events = seen([frame('Hel'), frame('l')], 'Hello');
  expect(shapeOf(events)).toEqual([
    'content_block_start -',
    'text_delta -',
    'text_delta -',
    'usage 7.1',
    'text_delta 7.3',
    'content_block_stop 7',
  ]);
  expect(textsOf(events)).toEqual(['Hello']);
});

test('a text that was seen whole is only closed', () => {
  expect(shapeOf(seen([frame('Hello')], 'Hello')).slice(2)).toEqual(['usage 7.1', 'content_block_stop 7']);
});

test.each<[string, readonly DeltaFrame[]]>([
  ['of which the reader missed the beginning', [frame('llo')]],
  ['that was retracted', [frame('Hel'), frame('', { retract: true })]],
  ['of another attempt', [frame('Bye'), frame('Hel', { retract: true })]],
  ['of another turn', [frame('Hel', { turn: 2 }), frame('Hel')]],
  ['of another run', [frame('Hel', { run_id: brand<'RunId'>('run-0') }), frame('Hel')]],
])('a text %s comes whole', (_what, frames) => {
  expect(textsOf(seen(frames, 'Hello'))).toEqual(['Hello']);
});

test('the text of another attempt begins the block anew, and is continued', () => {
  const events = seen([frame('Bye'), frame('Hel', { retract: true })], 'Hello');
  expect(shapeOf(events).slice(0, 4)).toEqual([
    'content_block_start -',
    'text_delta -',
    'content_block_start -',
    'text_delta -',
  ]);
  expect(events.filter(({ id }) => id === '7.3')).toMatchObject([{ data: { text: 'lo' } }]);
});

test('thinking is passed on, and is no part of the text', () => {
  const live = newLiveText();
  const thinking = live.add(frame('', { parts: [{ kind: 'thinking', text: 'Hm.' }] }));
  expect(thinking).toEqual([{ event: 'thinking_delta', data: { text: 'Hm.' } }]);
  expect(live.join(recorded('Hello'))).toEqual(recorded('Hello'));
});

const blobOf = (text: string): BlobText => ({
  ref: `sha256:${'1'.repeat(64)}` as Digest,
  bytes: new TextEncoder().encode(text).length,
  head: text.slice(0, EXCERPT_CHARS),
  tail: text.slice(-EXCERPT_CHARS),
});

test('a long text that was seen whole is only closed; else its blob is named', () => {
  const long = 'ä𝄞b'.repeat(5_000);
  const pieces = Array.from({ length: 20 }, (_, index) => frame(long.slice(index * 1_000, (index + 1) * 1_000)));
  expect(textsOf(seen(pieces, blobOf(long)))).toEqual([long]);
  expect(textsOf(seen(pieces.slice(0, -1), blobOf(long)))).toEqual([[blobOf(long)]]);
});

test('whatever was seen, the text is the recorded one, once', () => {
  const words = fc.array(fc.constantFrom('a', 'b', 'ab', '𝄞'), { maxLength: 8 });
  const frames = fc.array(fc.record({ text: fc.constantFrom('', 'a', 'b', 'ab', '𝄞'), retract: fc.boolean() }), {
    maxLength: 8,
  });
  fc.assert(
    fc.property(words, frames, (text, given) => {
      const whole = `${text.join('')}.`;
      const events = seen(
        given.map((one) => frame(one.text, one.retract ? { retract: true } : {})),
        whole,
      );
      expect(textsOf(events)).toEqual([whole]);
    }),
  );
});
