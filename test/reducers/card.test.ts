// What a list shows of a session: its title and its parent are slots of state, the rest follows from it.
import { Buffer } from 'node:buffer';
import { expect, describe, test } from 'vitest';
import { CARD_BYTES_MAX, CARD_TITLE_CHARS_MAX } from '../../schemas/limits.ts';
import { digestText } from '../../schemas/canonical.ts';
import { brand } from '../../schemas/ids.ts';
import type { Content } from '../../schemas/content.ts';
import { titleOf } from '../../reducers/run.ts';
import { headFacts } from '../../src/core/session-head.ts';
import { session } from '../support/session.ts';

const inBlob = (head: string): Content => ({ ref: digestText(head), bytes: 1_000_000, head, tail: '' });

describe('the title', () => {
  test.each<[string, Content, string | null]>([
    ['a short line', { text: 'fix it' }, 'fix it'],
    ['several lines', { text: 'fix it\nnow' }, 'fix it'],
    ['blank lines first', { text: ' \n\t\r\n\u2028  fix it ' }, 'fix it'],
    ['control characters', { text: 'a\u0000\u001b[31m\tb\u0085c' }, 'a [31m b c'],
    ['nothing', { text: '' }, null],
    ['only blank lines', { text: '\n \n\u0007' }, null],
    ['a long line', { text: 'x'.repeat(1_000) }, 'x'.repeat(CARD_TITLE_CHARS_MAX)],
    ['a pair of surrogates at the cut', { text: `${'x'.repeat(79)}𝄞` }, 'x'.repeat(79)],
    ['a pair of surrogates where the search ends', { text: `${' '.repeat(1_023)}𝄞` }, null],
    ['a blob', inBlob('see this\nlog'), 'see this'],
  ])('is the first line that is not blank: %s', (_name, input, title) => {
    expect(titleOf(input)).toBe(title);
  });

  test('is set by the first run with an input that is not blank, and stays', () => {
    const blank = session().takes('RunRequested', { input: { text: ' ' } });
    expect(blank.state).not.toHaveProperty('title');
    const named = blank
      .takes('RunCancelled', { run_id: brand('run-1') })
      .takes('RunRequested', { input: { text: 'one' } });
    expect(named.state.title).toBe('one');
    const later = named
      .takes('RunCancelled', { run_id: brand('run-2') })
      .takes('RunRequested', { input: { text: 'two' } });
    expect(later.state.title).toBe('one');
    expect(headFacts(later.state).card).toMatchObject({ title: 'one', parent: null, outcome: 'cancelled' });
  });
});

test('the largest card has at most CARD_BYTES_MAX bytes', () => {
  const { state } = session();
  const [id, at] = [brand<'SessionId'>('s'.repeat(64)), 8_640_000_000_000_000];
  for (const letter of ['"', '\\', '\uffee', '€', 'ä', '\u0001']) {
    const title = titleOf({ text: letter.repeat(500) }) ?? '';
    const { card } = headFacts({ ...state, title, parent: id, updated_at_ms: at });
    const largest = { ...card, status: 'requires_action', outcome: 'interrupted' };
    expect(Buffer.byteLength(JSON.stringify(largest))).toBeLessThanOrEqual(CARD_BYTES_MAX);
  }
});
