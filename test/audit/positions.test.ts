// `refold replay`, `diff` and `whatif` take any position, also one inside a commit: its digest is worked out.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { initialState, stateDigest } from '../../src/core/index.ts';
import { freshDirectory, jsonLines, refold } from '../support/e2e/refold.ts';
import { type Session, accepted, call, session } from '../support/session.ts';
import { linesOf, recordsOf } from './records.ts';

const base = session()
  .runRequested()
  .observed([call('a', 'write', { path: 'x' })])
  .settled('a')
  .batchSettled()
  .answered('done');
const other = session()
  .runRequested()
  .observed([call('a', 'write', { path: 'x' })])
  .settled('a', { success: false })
  .batchSettled()
  .answered('sorry');
/** Commits of one, three and two events. */
const SIZES = [1, 3, 2];

let file: string;
let otherFile: string;

beforeAll(async () => {
  const home = await freshDirectory();
  [file, otherFile] = [join(home, 'one.jsonl'), join(home, 'other.jsonl')];
  await writeFile(file, linesOf(recordsOf(base, SIZES)));
  await writeFile(otherFile, linesOf(recordsOf(other, SIZES)));
});

const digestAt = ({ genesis, tool_package, events }: Session, at: number): string =>
  stateDigest(
    events.slice(0, at).reduce((state, event) => accepted(state, event), initialState(genesis, tool_package)),
  );

describe('refold replay --at', () => {
  test.each(Array.from({ length: base.events.length + 1 }, (_, at) => at))(
    'folds the first %i events, and gives a chain value at the end of a commit only',
    async (at) => {
      const { code, stdout } = await refold(['replay', file, '--at', String(at), '--json']);
      const [found] = jsonLines(stdout);
      expect(code).toBe(0);
      expect(found).toMatchObject({ replay: 'byte-identical', events: at, state_digest: digestAt(base, at) });
      const isInside = ![0, 1, 4, 6].includes(at);
      expect(found?.['chain'] === null).toBe(isInside);
      expect(found?.['inside_commit']).toEqual(
        isInside ? (at < 4 ? { first: 1, last: 3 } : { first: 4, last: 5 }) : undefined,
      );
    },
  );

  test('says in words that the position is inside a commit', async () => {
    const { stdout } = await refold(['replay', file, '--at', '2']);
    expect(stdout).toMatch(/chain +none here: events 1 to 3 are one commit/);
  });

  test('beyond the end exits with 2 and says how many events there are', async () => {
    const { code, stderr } = await refold(['replay', file, '--at', '7']);
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringMatching(/has only 6 events/) as unknown });
  });
});

describe('refold diff --at', () => {
  test('compares the events before the position only', async () => {
    const differsAt = base.events.findIndex((event, at) => JSON.stringify(event) !== JSON.stringify(other.events[at]));
    const same = await refold(['diff', file, otherFile, '--at', String(differsAt), '--json']);
    expect({ code: same.code, found: jsonLines(same.stdout)[0] }).toMatchObject({
      code: 0,
      found: { same: true, a: { events: differsAt }, b: { events: differsAt } },
    });
    const differs = await refold(['diff', file, otherFile, '--at', String(differsAt + 1), '--json']);
    expect({ code: differs.code, found: jsonLines(differs.stdout)[0] }).toMatchObject({
      code: 1,
      found: { same: false, first: { position: differsAt } },
    });
  });
});

describe('refold whatif --at', () => {
  test('decides the turns before the position only', async () => {
    const all = await refold(['whatif', file, '--policy', 'read_only', '--json']);
    const none = await refold(['whatif', file, '--policy', 'read_only', '--at', '1', '--json']);
    const totals = (stdout: string): unknown => jsonLines(stdout).at(-1);
    expect(all.code).toBe(1);
    expect(none.code).toBe(0);
    expect(totals(none.stdout)).not.toEqual(totals(all.stdout));
  });
});
