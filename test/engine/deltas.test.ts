// What a model writes is kept and sent within bounds, whatever its parts are.
import { expect, test } from 'vitest';
import { brand } from '../../schemas/ids.ts';
import { DELTAS_CHARS_MAX, DELTAS_PARTS_MAX, DELTA_FRAME_CHARS_MAX } from '../../schemas/limits.ts';
import type { DeltaFrame, DeltaPart } from '../../schemas/wire.ts';
import { type DeltaReader, newDeltas } from '../../src/engine/deltas.ts';
import { SESSION } from '../support/engine/world.ts';

const WRITING = { run_id: brand<'RunId'>('run-1'), turn: 1, epoch: 1 };

function allOf(reader: DeltaReader): readonly DeltaFrame[] {
  const frames: DeltaFrame[] = [];
  for (let frame = reader.next(); frame !== null; frame = reader.next()) frames.push(frame);
  return frames;
}

const textOf = (frames: readonly DeltaFrame[]): string =>
  frames.flatMap(({ parts }) => parts.map(({ text }) => text)).join('');

const alternating = (count: number, from = 0): readonly DeltaPart[] =>
  Array.from({ length: count }, (_, index) => ({
    kind: index % 2 === 0 ? 'text' : 'thinking',
    text: String((from + index) % 10),
  }));

test('of parts whose kinds alternate, the last ones are kept', () => {
  const deltas = newDeltas();
  for (let posts = 0; posts < 40; posts += 1) deltas.post(SESSION, WRITING, alternating(64, posts * 64));
  const frames = allOf(deltas.read(SESSION));
  expect(frames.flatMap(({ parts }) => parts)).toEqual(alternating(64 * 40).slice(-DELTAS_PARTS_MAX));
});

test('a long text comes in frames of bounded size, without loss', () => {
  const deltas = newDeltas();
  const reader = deltas.read(SESSION);
  let written = '';
  for (let posts = 0; written.length + 9_999 <= DELTAS_CHARS_MAX; posts += 1) {
    const text = String(posts % 10).repeat(9_999);
    deltas.post(SESSION, WRITING, [{ kind: posts % 3 === 0 ? 'thinking' : 'text', text }]);
    written += text;
  }
  const frames = allOf(reader);
  expect(textOf(frames)).toBe(written);
  for (const frame of frames) expect(textOf([frame]).length).toBeLessThanOrEqual(DELTA_FRAME_CHARS_MAX);
  expect(frames.length).toBe(Math.ceil(written.length / DELTA_FRAME_CHARS_MAX));
});

test.each([0, 1])('no frame ends inside a surrogate pair, when %i units come before the pairs', (before) => {
  const deltas = newDeltas();
  const reader = deltas.read(SESSION);
  const parts: readonly DeltaPart[] = [
    { kind: 'thinking', text: 'a'.repeat(before) },
    { kind: 'text', text: '\u{1f600}'.repeat(DELTA_FRAME_CHARS_MAX) },
  ];
  deltas.post(SESSION, WRITING, parts);
  const frames = allOf(reader);
  for (const frame of frames) {
    expect(textOf([frame]).isWellFormed()).toBe(true);
    expect(textOf([frame]).length).toBeLessThanOrEqual(DELTA_FRAME_CHARS_MAX);
  }
  expect(textOf(frames)).toBe(parts.map(({ text }) => text).join(''));
});

test('a reader resumes where it was, and after what was dropped meanwhile', () => {
  const deltas = newDeltas();
  const reader = deltas.read(SESSION);
  deltas.post(SESSION, WRITING, [{ kind: 'text', text: 'one' }]);
  expect(textOf(allOf(reader))).toBe('one');
  deltas.post(SESSION, WRITING, [{ kind: 'text', text: 'two' }]);
  expect(textOf(allOf(reader))).toBe('two');
  deltas.post(SESSION, WRITING, alternating(DELTAS_PARTS_MAX + 10));
  expect(textOf(allOf(reader))).toBe(textOf(allOf(deltas.read(SESSION))));
  deltas.post(SESSION, WRITING, [{ kind: 'text', text: 'end' }]);
  expect(textOf(allOf(reader))).toBe('end');
});
