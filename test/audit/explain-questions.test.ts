// The explanation of calls that ask and of calls that note their work: what was asked, who answered what, and which handles there
// were. An attempt that ended with a question was not lost.
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { brand } from '../../schemas/index.ts';
import { type CallExplanation, explainCall } from '../../src/core/index.ts';
import { callLines } from '../../src/shown/call-lines.ts';
import { type Session, call, session } from '../support/session.ts';
import { recordsOf } from './records.ts';

const running = session()
  .runRequested()
  .observed([call('a', 'once')])
  .started('a', 'bridge-7');

function explained(story: Session): CallExplanation {
  const [found] = explainCall(recordsOf(story), brand<'CallId'>('a'));
  return found ?? expect.fail('the call is not explained');
}

/** The lines of its attempts, without times. */
const linesOf = (story: Session): readonly string[] =>
  callLines(explained(story))
    .map((line) => stripVTControlCharacters(line).replaceAll(/ \d{4}-\d\d-\d\dT[\d:.]+Z/g, ''))
    .filter((line) => /^ {2}(?:started|noted|question|reply|lost|failed) /.test(line));

describe('a question', () => {
  const asking = running.asked('a', { message: 'Which\nsize?', from: 'shop', url: 'https://shop.example/' });

  test('is explained while it is open', () => {
    expect(explained(asking).questions).toMatchObject([
      { position: 3, attempt: 1, asked: { message: 'Which\nsize?' }, ends_attempt: false, ended: null },
    ]);
    expect(linesOf(asking)).toEqual([
      '  started    position 2 by bridge-7, attempt 1',
      '  question   for "shop", position 3, attempt 1: "Which\\nsize?", to look at https://shop.example/',
      '  reply      not yet',
    ]);
  });

  test('is explained with who answered what', () => {
    const answered = asking.elicited('a', 'accept', { content: { size: 'XL' }, by: 'ada' });
    const { digest } = explained(asking).questions[0] ?? expect.fail('no question');
    expect(explained(answered).questions).toMatchObject([
      { digest, ended: { position: 4, action: 'accept', content: { size: 'XL' }, by: 'ada' } },
    ]);
    expect(linesOf(answered).at(-1)).toBe('  reply      accept by ada, position 4: {"size":"XL"}');
  });

  test('that ended its attempt is no loss; the next attempt has the answer', () => {
    const story = running.asked('a', {}, 'state').elicited('a', 'decline').started('a', 'bridge-8');
    expect(explained(story)).toMatchObject({ losses: [], questions: [{ ends_attempt: true, attempt: 1 }] });
    expect(linesOf(story)).toEqual([
      '  started    position 2 by bridge-7, attempt 1',
      '  question   position 3, attempt 1: "which a?"',
      '  reply      decline by an unnamed person, position 4',
      '  started    position 5 by bridge-8, attempt 2',
    ]);
  });

  test('that its run withdraws ends with cancel, and one that its call leaves open with nothing', () => {
    expect(explained(asking.cancelled()).questions).toMatchObject([
      { ended: { action: 'cancel', by: null, with: 'RunCancelled' } },
    ]);
    expect(explained(asking.settled('a')).questions).toMatchObject([
      { ended: { action: null, with: 'ToolCallSettled' } },
    ]);
    expect(linesOf(asking.settled('a')).at(-1)).toBe('  reply      none with ToolCallSettled, position 4');
  });

  test('each of several is explained', () => {
    const story = asking.elicited('a').asked('a').elicited('a', 'cancel');
    expect(explained(story).questions.map(({ ended }) => ended?.action)).toEqual(['accept', 'cancel']);
  });
});

test('the handles that a call noted are explained, and a lost bridge between them', () => {
  const story = running.noted('a', 'task-1').leaseExpired('a').started('a', 'bridge-8');
  expect(explained(story)).toMatchObject({ notes: [{ handle: 'task-1', attempt: 1 }], losses: [{ why: 'lost' }] });
  expect(linesOf(story)).toEqual([
    '  started    position 2 by bridge-7, attempt 1',
    '  noted      position 3: its work outside is "task-1", attempt 1',
    '  lost       position 4: attempt 1 was lost with its bridge; the call runs again',
    '  started    position 5 by bridge-8, attempt 2',
  ]);
});
