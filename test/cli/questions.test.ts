// What calls ask, at a terminal: a person sees who asks and what, text of others cannot imitate refold's lines, an address is only
// shown, and what is typed becomes an answer that fits the schema.
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { askQuestion } from '../../src/cli/people/ask-question.ts';
import { describeQuestion, questionLines } from '../../src/cli/people/describe-question.ts';
import { newAllowingAsker } from '../../src/cli/people/unattended-asker.ts';
import type { JsonObject } from '../../schemas/json.ts';
import { type Elicitation, elicitations } from '../../src/core/status.ts';
import {
  type QuestionField,
  choiceText,
  fieldHint,
  fieldValue,
  questionFields,
} from '../../src/shown/question-fields.ts';
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
  const of = (properties: JsonObject, required: readonly string[] = []) =>
    questionFields({ type: 'object', properties, required });

  /** The only field of a schema. */
  function field(schema: JsonObject, required = true): QuestionField {
    const [found] = of({ f: schema }, required ? ['f'] : []) ?? [];
    return found ?? expect.fail('the schema takes JSON');
  }

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
    ['so do choices of numbers', { type: 'object', properties: { a: { type: 'integer', enum: [1, 2] } } }, null],
    ['so do choices that cannot be typed', { type: 'object', properties: { a: { type: 'string', enum: [''] } } }, null],
    [
      'so do several choices with commas in them',
      { type: 'object', properties: { a: { type: 'array', items: { type: 'string', enum: ['a, b'] } } } },
      null,
    ],
    [
      'so do lists of anything',
      { type: 'object', properties: { a: { type: 'array', items: { type: 'string' } } } },
      null,
    ],
  ])('%s', (_, schema, count) => {
    expect(questionFields(schema as never)?.length ?? null).toBe(count);
  });

  test.each([
    [{ type: 'integer' }, '1.5', 'it must be a whole number'],
    [{ type: 'integer' }, '9007199254740993', 'it must be a whole number'],
    [{ type: 'number' }, '-0', 'it must be a number'],
    [{ type: 'number' }, 'Infinity', 'it must be a number'],
    [{ type: 'number' }, 'x', 'it must be a number'],
    [{ type: 'number' }, '', 'it is required'],
    [{ type: 'string' }, ' ', 'it is required'],
    [{ type: 'integer', minimum: 1, maximum: 5 }, '6', 'it must be 1 to 5'],
    [{ type: 'number', minimum: 0.5 }, '0.25', 'it must be at least 0.5'],
    [{ type: 'string', minLength: 2, maxLength: 2 }, 'abc', 'it must have exactly 2 characters'],
    [{ type: 'string', maxLength: 1 }, 'ab', 'it must have at most 1 characters'],
    [{ type: 'string', format: 'date' }, '2027-02-30', 'it must be a date, such as 2027-01-31'],
    [
      { type: 'string', format: 'date-time' },
      '2027-01-31T18:30:00',
      'it must be a date and a time with its zone, such as 2027-01-31T18:30:00Z',
    ],
    [{ type: 'string', format: 'email' }, 'ada', 'it must be an e-mail address, such as ada@example.com'],
    [{ type: 'string', format: 'uri' }, 'example.com', 'it must be a whole address, such as https://example.com/'],
    [{ type: 'string', enum: ['a'] }, 'b', 'choose one of: a'],
    [{ type: 'array', items: { enum: ['a', 'b'] } }, 'a, c', '"c" is none of: a, b'],
    [{ type: 'array', items: { enum: ['a', 'b', 'c'] }, maxItems: 2 }, 'a,b,c', 'choose at most 2 of them'],
  ] as const)('%j refuses %j', (schema, typed, fault) => {
    expect(fieldValue(field(schema), typed)).toEqual({ fault });
  });

  test.each([
    [{ type: 'integer', minimum: 1, maximum: 5 }, ' 5 ', 5],
    [{ type: 'string', minLength: 2, maxLength: 2 }, '😀!', '😀!'],
    [{ type: 'string', format: 'date' }, '2028-02-29', '2028-02-29'],
    [{ type: 'string', format: 'date-time' }, '2027-01-31T18:30:00.5+02:00', '2027-01-31T18:30:00.5+02:00'],
    [{ type: 'string', format: 'unknown' }, 'anything', 'anything'],
    [{ type: 'string', enum: ['Doe, Jane'] }, 'Doe, Jane', 'Doe, Jane'],
    [{ type: 'array', items: { enum: ['a', 'b'] } }, ' b ,a, b', ['b', 'a']],
    [{ type: 'boolean' }, 'No', false],
  ] as const)('%j takes %j', (schema, typed, value) => {
    expect(fieldValue(field(schema), typed)).toEqual({ value });
  });

  test('an optional field that is left empty is left out', () => {
    for (const type of ['string', 'number', 'boolean'])
      expect(fieldValue(field({ type }, false), '')).toEqual({ empty: true });
  });

  test.each([
    ['enumNames', { type: 'string', enum: ['r', 'b'], enumNames: ['Red', ''] }],
    ['oneOf', { type: 'string', oneOf: [{ const: 'r', title: 'Red' }, { const: 'b' }] }],
    ['anyOf of items', { type: 'array', items: { anyOf: [{ const: 'r', title: 'Red' }, { const: 'b' }] } }],
  ] as const)('choices have the titles of %s beside what is sent', (_, schema) => {
    expect(field(schema).choices.map(choiceText)).toEqual(['Red (r)', 'b']);
  });

  test('a proposal is one only where its field takes it', () => {
    const proposed = (schema: JsonObject): string | null => field(schema).proposed;
    expect(proposed({ type: 'string', default: 'x' })).toBe('x');
    expect(proposed({ type: 'boolean', default: false })).toBe('no');
    expect(proposed({ type: 'array', items: { enum: ['a', 'b'] }, default: ['b', 'a'] })).toBe('b, a');
    expect(proposed({ type: 'integer', default: 9, maximum: 5 })).toBeNull();
    expect(proposed({ type: 'string', enum: ['a'], default: 'c' })).toBeNull();
  });

  test('what a field takes is said in words', () => {
    expect(
      of({
        age: { type: 'integer', minimum: 1, maximum: 5 },
        name: { type: 'string', minLength: 3 },
        mail: { type: 'string', format: 'email' },
        size: { type: 'string', enum: ['S', 'XL'] },
        tags: { type: 'array', items: { enum: ['a', 'b'] }, minItems: 1 },
      })?.map(fieldHint),
    ).toEqual([
      'integer, 1 to 5',
      'text, at least 3 characters',
      'email',
      'S | XL',
      'any of a | b, at least 1 of them',
    ]);
  });
});
