// Where two streams first differ, and how their states differ.
import { describe, expect, test } from 'vitest';
import { type StreamDiff, diffStreams } from '../../src/core/index.ts';
import { type Session, call, session } from '../support/session.ts';
import { recordsOf } from './records.ts';

const diff = (a: Session, b: Session, strict = false): StreamDiff =>
  diffStreams(recordsOf(a), recordsOf(b), { strict, pathsMax: 10 });

const pathsOf = (diff: StreamDiff['stateAtEnd'] | null | undefined): readonly string[] =>
  diff?.differences.map(({ path }) => path) ?? [];

const base = session()
  .runRequested()
  .observed([call('a', 'read', { path: 'x' })]);

describe('two streams', () => {
  test('that are identical do not differ, even strictly', () => {
    expect(diff(base, base, true)).toEqual({
      first: null,
      stateAfterFirst: null,
      stateAtEnd: { differences: [], rest: 0 },
      events: { a: 2, b: 2 },
      divergence: null,
    });
  });

  test('differ at the first unequal event, and the states after it show how', () => {
    const other = session()
      .runRequested()
      .observed([call('a', 'write', { path: 'x' })])
      .settled('a');
    const found = diff(base.settled('a').batchSettled(), other);
    expect(found.first).toMatchObject({ position: 1, a: 'ToolCallsObserved', b: 'ToolCallsObserved' });
    expect(found.first?.paths.differences).toEqual([{ path: '/event/calls/0/tool_name', a: 'read', b: 'write' }]);
    expect(pathsOf(found.stateAfterFirst)).toContain('/active_tool_batch/plan/planned_calls/0/claims/0/access');
    expect(pathsOf(found.stateAfterFirst)).not.toContain('/version');
    expect(pathsOf(found.stateAtEnd)).toContain('/active_tool_batch');
    expect(found.events).toEqual({ a: 4, b: 4 });
  });

  test('differ where their kinds differ', () => {
    expect(diff(base.settled('a'), base.paused()).first).toMatchObject({
      position: 2,
      a: 'ToolCallSettled',
      b: 'RunPaused',
    });
  });

  test('differ where one of them ends', () => {
    const longer = base.settled('a');
    expect(diff(base, longer).first).toMatchObject({ position: 2, a: null, b: 'ToolCallSettled' });
    expect(diff(longer, base).first).toMatchObject({ position: 2, a: 'ToolCallSettled', b: null });
    expect(pathsOf(diff(base, longer).stateAfterFirst)).toContain('/active_tool_batch/queued');
  });

  test('may differ at the genesis record', () => {
    const found = diff(session(), session({ config: { turns_max: 7 } }));
    expect(found.first).toMatchObject({ position: -1, a: 'genesis', b: 'genesis' });
    expect(found.first?.paths.differences).toEqual([{ path: '/genesis/config/turns_max', a: 100, b: 7 }]);
    expect(pathsOf(found.stateAfterFirst)).toEqual(['/config/turns_max']);
  });

  test('that differ only in names, times and digests are equal, unless compared strictly', () => {
    const renamed = session({ session_id: 'other', created_at_ms: 5 });
    const later = (story: Session): Session =>
      story.events.reduce(
        (at: Session, event) =>
          at.taking({ ...event, event_id: `x-${event.event_id}` as never, at_ms: event.at_ms + 9 }),
        renamed,
      );
    const story = base.settled('a').batchSettled().answered('done').runRequested();
    const found = diff(story, later(story));
    expect(found).toMatchObject({ first: null, stateAtEnd: { differences: [], rest: 0 }, divergence: null });
    const strict = diff(story, later(story), true);
    expect(strict.first?.position).toBe(-1);
    expect(pathsOf(strict.first?.paths)).toEqual([
      '/chain',
      '/genesis/created_at_ms',
      '/genesis/session_id',
      '/state_digest',
    ]);
    expect(pathsOf(strict.stateAtEnd)).toEqual(
      expect.arrayContaining(['/run/started_at_ms', '/run_history/0/ended_at_ms', '/session_id']),
    );
  });

  test('are not compared beyond the position where one does not fold as recorded', () => {
    const records = recordsOf(base);
    const broken = [
      ...records.slice(0, 3),
      { ...records[3], state_digest: `sha256:${'0'.repeat(64)}` },
    ] as typeof records;
    expect(diffStreams(records, broken, { strict: false, pathsMax: 1 }).divergence).toMatchObject({
      stream: 'b',
      divergence: { position: 1, what: 'state_digest' },
    });
    expect(diffStreams([], records, { strict: false, pathsMax: 1 }).divergence).toMatchObject({ stream: 'a' });
  });

  test('that were committed differently are equal, unless compared strictly', () => {
    const story = base.started('a').settled('a').batchSettled().answered('done');
    const [single, grouped] = [recordsOf(story), recordsOf(story, [2, 3])];
    for (const [a, b] of [
      [single, grouped],
      [grouped, single],
    ] as const) {
      expect(diffStreams(a, b, { strict: false, pathsMax: 10 })).toMatchObject({
        first: null,
        stateAtEnd: { differences: [], rest: 0 },
        events: { a: 6, b: 6 },
        divergence: null,
      });
    }
    const strict = diffStreams(single, grouped, { strict: true, pathsMax: 10 });
    expect(strict.first).toMatchObject({ position: 0, a: 'RunRequested', b: 'RunRequested' });
    expect(strict.first?.paths.differences.map(({ path }) => path)).toEqual(['/chain', '/state_digest']);
    expect(strict.stateAtEnd).toEqual({ differences: [], rest: 0 });
  });

  test('differ at an event inside a commit, and the states are those after it', () => {
    const [a, b] = [
      base.started('a').settled('a').batchSettled(),
      base.started('a').settled('a', { output: 'else' }).batchSettled(),
    ];
    const found = diffStreams(recordsOf(a, [1, 4]), recordsOf(b, [3, 2]), { strict: false, pathsMax: 10 });
    expect(found.first).toMatchObject({ position: 3, a: 'ToolCallSettled', b: 'ToolCallSettled' });
    expect(pathsOf(found.stateAfterFirst)).toEqual(['/active_tool_batch/pages/0/0/output/text']);
    const longer = diffStreams(recordsOf(a, [5]), recordsOf(base.started('a'), [3]), { strict: false, pathsMax: 1 });
    expect(longer.first).toMatchObject({ position: 3, a: 'ToolCallSettled', b: null });
  });

  test('keep the requested number of paths, and count the others', () => {
    const found = diffStreams(recordsOf(base), recordsOf(base.settled('a').batchSettled()), {
      strict: false,
      pathsMax: 1,
    });
    expect(found.stateAtEnd.differences).toHaveLength(1);
    expect(found.stateAtEnd.rest).toBeGreaterThan(1);
  });
});
