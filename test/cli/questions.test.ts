// What calls ask, at a terminal: a person sees who asks and what, text of others cannot imitate refold's lines, an address is only
// shown, and what is typed becomes an answer that fits the schema.
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { askQuestion } from '../../src/cli/people/ask-question.ts';
import { describeQuestion, questionLines } from '../../src/cli/people/describe-question.ts';
import { newAllowingAsker } from '../../src/cli/people/unattended-asker.ts';
import { type Elicitation, elicitations } from '../../src/core/status.ts';
import { fieldValue, questionFields } from '../../src/shown/question-fields.ts';
import { call, session } from '../support/session.ts';

const SCHEMA = {
  type: 'object',
  properties: {
    size: { type: 'string', enum: ['S', 'XL'], title: 'Size' },
    count: { type: 'integer', default: 2 },
    gift: { type: 'boolean' },
    note: { type: 'string' },
  },
  required: ['size', 'gift'],
};

const asking = session()
  .runRequested()
  .observed([call('a', 'once')])
  .started('a');

function asked(question: Parameters<typeof asking.asked>[1]): Elicitation {
  const [open] = elicitations(asking.asked('a', question).state);
  if (open === undefined) throw new Error('nothing is asked');
  return open;
}

const plain = (lines: readonly string[]): readonly string[] => lines.map((line) => stripVTControlCharacters(line));

/** A person who types these lines; the answer, and what was printed between. */
async function answering(question: Elicitation, ...typed: readonly string[]) {
  const lines = [...typed];
  const printed: string[] = [];
  const ask = (): Promise<string> => Promise.resolve(lines.shift() ?? 'c');
  const answer = await askQuestion(question, { ask, print: (line) => printed.push(stripVTControlCharacters(line)) });
  return { answer, printed, left: lines.length };
}

describe('a question of a call', () => {
  test('is shown whole, with who asks and the fields of an answer', () => {
    expect(plain(describeQuestion(asked({ message: 'Which?\nChoose.', from: 'shop', schema: SCHEMA })))).toEqual([
      '? once asks (shop)',
      '  | Which?',
      '  | Choose.',
      '  size: S | XL  Size',
      '  count: integer (optional, proposed: 2)',
      '  gift: yes/no',
      '  note: text (optional)',
    ]);
  });

  test('cannot imitate other lines, and its address is only shown', () => {
    const url = 'https://shop.example/\u202Egnp';
    const lines = plain(describeQuestion(asked({ message: 'x\r\u001B[2Ky', from: 'a\u200Bb', url })));
    expect(lines).toEqual([
      '? once asks (a<U+200B>b)',
      '  | x',
      '  | ␛[2Ky',
      '  look at this address yourself, if you trust it: https://shop.example/<U+202E>gnp',
    ]);
  });

  test('is listed with the commands that answer it', () => {
    const lines = plain(questionLines(asked({ message: 'Go on?' })));
    expect(lines.at(-2)).toMatch(/^ {2}refold answer a --session \S+ --digest sha256:\S+$/);
    expect(lines.at(-1)).toMatch(/ --action decline$/);
  });

  test('is answered field by field; a value that is none is asked for again', async () => {
    const question = asked({ message: 'Which?', schema: SCHEMA });
    const { answer, printed } = await answering(question, 'what', 'a', 'M', 'XL', '', 'perhaps', 'y', '');
    expect(answer).toEqual({ action: 'accept', content: { size: 'XL', count: 2, gift: true } });
    expect(printed).toEqual([
      '  please answer with a, d or c',
      '  ! choose one of: S, XL',
      '  ! answer with yes or no',
    ]);
  });

  test('with another schema takes JSON; without one there is nothing to type', async () => {
    const nested = asked({ message: 'Which?', schema: { type: 'object', properties: { a: { type: 'array' } } } });
    const { answer, printed } = await answering(nested, 'a', '[1]', '{"a":[1]}');
    expect(answer).toEqual({ action: 'accept', content: { a: [1] } });
    expect(printed).toEqual(['  ! that is no JSON object']);
    expect((await answering(asked({ message: 'Go on?' }), 'a')).answer).toEqual({ action: 'accept' });
    expect((await answering(nested, 'd')).answer).toEqual({ action: 'decline' });
    expect((await answering(nested, 'c')).answer).toEqual({ action: 'cancel' });
  });

  test('is printed once and never answered for a person where every call is allowed', () => {
    const lines: string[] = [];
    const output = { json: false, line: (text = '') => lines.push(text), object: () => undefined } as never;
    const client = { submit: () => () => Promise.reject(new Error('something was answered')) } as never;
    const asker = newAllowingAsker(client, '--yes', output);
    const { state } = asking.asked('a', { message: 'Which?' });
    asker.update(state);
    asker.update(state);
    asker.close();
    expect(plain(lines).filter((line) => line.includes('| Which?'))).toHaveLength(1);
  });
});

describe('the fields of a schema', () => {
  test.each([
    ['no schema has none', undefined, 0],
    ['a flat one has one for each property', SCHEMA, 4],
    ['a nested one takes JSON', { type: 'object', properties: { a: { type: 'object' } } }, null],
    ['one that is no object takes JSON', { type: 'string' }, null],
    [
      'so does one with names of the prototype as types',
      { type: 'object', properties: { a: { type: 'toString' } } },
      null,
    ],
  ])('%s', (_, schema, count) => {
    expect(questionFields(schema as never)?.length ?? null).toBe(count);
  });

  test.each([
    ['integer', '1.5'],
    ['integer', '9007199254740993'],
    ['number', '-0'],
    ['number', 'Infinity'],
    ['number', 'x'],
  ] as const)('%s refuses %s', (kind, typed) => {
    const field = { name: 'n', kind, note: '', choices: [], required: true, proposed: null };
    expect(fieldValue(field, typed)).toHaveProperty('fault');
  });
});
