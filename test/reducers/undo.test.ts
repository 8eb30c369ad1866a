// Undos: requested, answered, and refused.
import { describe, expect, test } from 'vitest';
import { canonicalText, digestText } from '../../schemas/canonical.ts';
import type { Position } from '../../schemas/ids.ts';
import { UNDOS_MAX } from '../../schemas/limits.ts';
import { contentRefs } from '../../src/core/content-refs.ts';
import { owesBridge } from '../../src/core/owed/owing.ts';
import { type FieldsOf, type Session, call, session, textOf } from '../support/session.ts';

type Request = FieldsOf<'UndoRequested'>;

const changes: NonNullable<Request['changes']> = [
  { path: 'a', before: { ref: digestText('old'), bytes: 3 }, after_digest: digestText('new'), mode: 0o644 },
  { path: 'b', before: null, after_digest: digestText('b') },
];
const of = (call_id: string, more: Partial<Request> = {}): Request => ({
  call_id,
  batch_id: 'batch-1',
  changes,
  ...more,
});
const ask = (from: Session, call_id: string, more: Partial<Request> = {}): Session =>
  from.takes('UndoRequested', of(call_id, more));
const answer = (from: Session, position: number, call_id = 'w'): Session =>
  from.takes('UndoSettled', { position: position as Position, batch_id: 'batch-1', call_id, success: true });

describe('an undo', () => {
  test('is owed from its request to its answer, independent of the run', () => {
    const asked = ask(session(), 'w');
    const owed = { kind: 'call.undo', effect_id: 'undo/0', position: 0, call_id: 'w', batch_id: 'batch-1', changes };
    expect(asked.effects()).toMatchObject([owed]);
    expect(owesBridge(asked.state)).toBe(true);
    const inRun = asked.runRequested().paused();
    expect(inRun.effectsOf('call.undo')).toHaveLength(1);
    const answered = answer(inRun, 0);
    expect(answered.effectsOf('call.undo')).toEqual([]);
    expect(owesBridge(answered.state)).toBe(false);
  });

  test('leaves no trace in the state but the count of events', () => {
    const before = session();
    const after = answer(ask(before, 'w'), 0).state;
    const { version, updated_at_ms } = before.state;
    expect(canonicalText({ ...after, version, updated_at_ms })).toBe(textOf(before.state));
    expect(after).not.toHaveProperty('undos');
  });

  test('may wait beside others, and an answer ends only the one it names', () => {
    const two = ask(ask(session(), 'w'), 'x');
    expect(two.effectsOf('call.undo').map(({ effect_id }) => effect_id)).toEqual(['undo/0', 'undo/1']);
    const one = answer(two, 0);
    expect(one.effectsOf('call.undo').map(({ call_id }) => call_id)).toEqual(['x']);
    expect(answer(one, 1, 'x').effects()).toEqual([]);
  });

  test('refers to the blobs it needs', () => {
    const asked = ask(session(), 'w');
    const event = asked.events.at(-1);
    if (event === undefined) throw new Error('nothing happened');
    expect(contentRefs(event)).toEqual([{ path: '/changes/0/before', ref: digestText('old'), bytes: 3 }]);
  });
});

describe('an undo is refused', () => {
  const refused = (from: Session, more: Partial<Request> = {}): string =>
    from.refusal('UndoRequested', of('w', more)).code;

  test('without recorded changes', () => {
    expect(session().refusal('UndoRequested', { call_id: 'w' }).code).toBe('nothing_to_undo');
    expect(session().refusal('UndoRequested', { call_id: 'w', changes }).code).toBe('nothing_to_undo');
  });

  test('when the content before was not kept', () => {
    const lost = [...changes, { path: 'big', before: { withheld: 'too_large' as const }, after_digest: null }];
    expect(session().refusal('UndoRequested', of('w', { changes: lost }))).toMatchObject({
      code: 'undo_not_kept',
      message: expect.stringContaining('"big"') as string,
    });
  });

  test('while an undo of the same call waits, and when too many wait', () => {
    const asked = ask(session(), 'w');
    expect(refused(asked)).toBe('undo_pending');
    expect(ask(asked, 'w', { batch_id: 'batch-2' }).effects()).toHaveLength(2);
    let full = session();
    for (let index = 0; index < UNDOS_MAX; index += 1) full = ask(full, `c${index}`);
    expect(refused(full)).toBe('undo_queue_full');
  });

  test('while a call that may write runs or may start', () => {
    const batch = (name: string): Session =>
      session()
        .runRequested()
        .observed([call('c', name, { path: 'p' })]);
    expect(refused(batch('write').started('c'))).toBe('write_running');
    expect(refused(batch('write'))).toBe('write_running');
    expect(refused(batch('once').started('c').paused())).toBe('write_running');
    expect(refused(batch('write').started('c').cancelled())).toBe('write_running');
    for (const quiet of [
      batch('read'),
      batch('read').started('c'),
      batch('write').paused(),
      batch('write').settled('c'),
    ]) {
      expect(ask(quiet, 'w').effectsOf('call.undo')).toHaveLength(1);
    }
  });
});

test('an answer to an undo that does not wait is refused', () => {
  const asked = ask(session(), 'w');
  const settled = { position: 0 as Position, batch_id: 'batch-1', call_id: 'w', success: true };
  for (const wrong of [{ position: 1 as Position }, { call_id: 'x' }, { batch_id: 'batch-2' }]) {
    expect(asked.refusal('UndoSettled', { ...settled, ...wrong }).code).toBe('undo_not_pending');
  }
  expect(answer(asked, 0).refusal('UndoSettled', settled).code).toBe('undo_not_pending');
});
