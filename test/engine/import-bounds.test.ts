// An import takes no event that is larger than one that admission and the edge let through.
import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { EVENT_CHARS_MAX, EVENT_VALUES_MAX, INLINE_CHARS_MAX } from '../../schemas/limits.ts';
import type { StreamRecord } from '../../schemas/record.ts';
import { findUnbounded } from '../../src/engine/sessions/import-bounds.ts';
import { importStream } from '../../src/engine/sessions/import-stream.ts';
import { storedCommit } from '../../src/engine/sessions/records.ts';
import { newDisk } from '../support/engine/disk.ts';
import { recordStream, recordsOf } from '../support/engine/stored-stream.ts';
import { type Session, call, session } from '../support/session.ts';

const FIXTURES = new URL('../../replay-fixtures/', import.meta.url);

async function* inTurn(records: readonly StreamRecord[]): AsyncGenerator<StreamRecord> {
  yield* records;
}

const imported = (of: Session) =>
  importStream({ ...newDisk().ports(), own_facts_at_ms: 5_000_000 }, inTurn(recordsOf(recordStream(of, of.events))));

const running = session().runRequested();
const withArguments = (args: Readonly<Record<string, never>>): Session => running.observed([call('a', 'free', args)]);
/** Arguments whose canonical text has so many characters. */
const text = (chars: number): never => ({ t: 'x'.repeat(chars - '{"t":""}'.length) }) as never;
const zeros = (count: number): never => ({ a: Array.from({ length: count }, () => 0) }) as never;

describe('an imported event', () => {
  test.each([
    ['characters of inline arguments', text(INLINE_CHARS_MAX + 1), /call a has more than 4096 characters/],
    ['commas and brackets', zeros(EVENT_VALUES_MAX), /more than 65536 commas and brackets/],
    ['characters', text(EVENT_CHARS_MAX), /the limit is 4194304/],
  ])('is refused with its position beyond the limit of %s', async (_name, args, message) => {
    const refused = await imported(withArguments(args));
    expect(refused).toMatchObject({ left: { code: 'too_large', message: expect.stringMatching(message) } });
    expect(refused).toMatchObject({ left: { message: expect.stringMatching(/^position 1: /) } });
  });

  test('is stored within them', async () => {
    for (const args of [text(INLINE_CHARS_MAX), zeros(INLINE_CHARS_MAX / 2 - 10)]) {
      expect(await imported(withArguments(args))).toMatchObject({ _tag: 'Right' });
    }
  });
});

test('every recorded session is within the bounds', () => {
  let commits = 0;
  for (const { name } of readdirSync(FIXTURES, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
    const file = new URL(`${name}/session.jsonl`, FIXTURES);
    for (const line of readFileSync(file, 'utf8').trimEnd().split('\n')) {
      const record = JSON.parse(line) as StreamRecord;
      if (record.kind !== 'commit') continue;
      commits += 1;
      expect(findUnbounded(record, storedCommit(record))).toBeNull();
    }
  }
  expect(commits).toBeGreaterThan(100);
});
