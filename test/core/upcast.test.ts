// Events of version 1 are folded in their upcast form; events that no version knows are refused.
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { EVENT_VERSION, type EventRecord, type StreamRecord } from '../../schemas/index.ts';
import { decodeEvent, eventDigest, replay } from '../../src/core/index.ts';
import { rejectionOf, session, textOf } from '../support/session.ts';

const FIXTURES = new URL('../../replay-fixtures/', import.meta.url);

async function recordsOf(folder: string): Promise<readonly StreamRecord[]> {
  const text = await readFile(new URL(`${folder}/session.jsonl`, FIXTURES), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as StreamRecord);
}

const interrupts = (records: readonly StreamRecord[]): readonly EventRecord[] =>
  records.filter((record): record is EventRecord => record.kind === 'event' && record.event.kind === 'RunInterrupted');

describe.each([
  ['interrupted-batch', 3],
  ['large-batch', 1],
] as const)('the version 1 stream %s', (folder, count) => {
  test(`holds ${count} interrupts of version 1, and folds to its recorded digests`, async () => {
    const records = await recordsOf(folder);
    expect(interrupts(records)).toHaveLength(count);
    expect(records.every((record) => record.kind === 'genesis' || record.event.v === 1)).toBe(true);
    expect(replay(records as never).divergence).toBeNull();
  });

  test('digests an event in its recorded form, not in its upcast form', async () => {
    for (const { event, event_digest } of interrupts(await recordsOf(folder))) {
      expect(eventDigest(event)).toBe(event_digest);
      const read = decodeEvent(event);
      expect(read).toMatchObject({ _tag: 'Right', right: { kind: 'user.interrupt', v: EVENT_VERSION } });
      expect(read._tag === 'Right' && eventDigest(read.right)).not.toBe(event_digest);
    }
  });

  test('diverges where an interrupt is removed', async () => {
    const records = await recordsOf(folder);
    const [first] = interrupts(records);
    const without = records.filter((record) => record !== first);
    expect(replay(without as never).divergence).toMatchObject({ position: first?.position });
  });
});

describe('events that no version knows', () => {
  const run = session().runRequested();
  const interrupt = run.next('user.interrupt', { run_id: 'run-1' });

  test.each([
    ['a future version', { ...interrupt, v: EVENT_VERSION + 1 }, 'invalid_shape', '/v'],
    ['version 0', { ...interrupt, v: 0 }, 'invalid_shape', '/v'],
    ['no version', { ...interrupt, v: undefined }, 'invalid_shape', '/v'],
    ['an unknown kind', { ...interrupt, kind: 'user.sighs' }, 'unknown_kind', '/kind'],
    ['a kind of every object', { ...interrupt, kind: 'constructor' }, 'unknown_kind', '/kind'],
    [
      'a retired kind in a version that does not write it',
      { ...interrupt, kind: 'RunInterrupted' },
      'invalid_shape',
      '/v',
    ],
    [
      'a field that came later, in a kind that was retired before',
      { ...interrupt, kind: 'RunInterrupted', v: 1, input: { text: 'x' } },
      'invalid_shape',
      '/input',
    ],
  ])('%s is refused', (_, event, code, path) => {
    const before = textOf(run.state);
    expect(rejectionOf(run.state, event as never)).toMatchObject({ code, path });
    expect(textOf(run.state)).toBe(before);
  });
});
