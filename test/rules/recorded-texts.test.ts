// Every text that a recorded session got from the fold is one of its rules, and every text of the rules is in a recorded
// session.
import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { rulesOf } from '../../reducers/rules/known-rules.ts';
import { type TextKey, fill } from '../../reducers/rules/rule-set.ts';
import { RULE_SETS } from '../../reducers/rules/rule-sets.ts';
import { TEXTS_1 } from '../../reducers/rules/texts-1.ts';
import type { CommitRecord, GenesisRecord, PackageRecord } from '../../schemas/record.ts';
import { initialState } from '../../src/core/index.ts';
import { eventsOf } from '../support/records.ts';
import { accepted } from '../support/session.ts';
import { keysOf, textsIn, writtenTexts } from '../support/rules/written-texts.ts';
import { upcast } from '../../schemas/upcast.ts';

const FIXTURES = new URL('../../replay-fixtures/', import.meta.url);
const hit = new Set<TextKey>();

const folders = readdirSync(FIXTURES, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

test.each(folders)('every text that the fold writes in %s is one of its rules', (folder) => {
  const lines = readFileSync(new URL(`${folder}/session.jsonl`, FIXTURES), 'utf8')
    .trimEnd()
    .split('\n');
  const [{ tool_package }, { genesis }, ...commits] = lines.map((line): unknown => JSON.parse(line)) as [
    PackageRecord,
    GenesisRecord,
    ...CommitRecord[],
  ];
  const given = textsIn([genesis, tool_package, commits]);
  let state = initialState(genesis, tool_package);
  const known = new Set<string>();
  for (const event of eventsOf(commits)) {
    state = accepted(state, upcast(event));
    for (const text of writtenTexts(state, given)) {
      if (known.has(text)) continue;
      known.add(text);
      const keys = keysOf(rulesOf(state), text, given);
      expect({ text, keys }).not.toEqual({ text, keys: [] });
      for (const key of keys) hit.add(key);
      // It stands inside of other texts only.
      if (text.includes(rulesOf(state).texts.schema_misfit)) hit.add('schema_misfit');
    }
  }
});

/** A fork and an import write these into the events that they record. */
const IN_EVENTS = [
  'forked',
  'forked.allowed',
  'forked.run',
  'forked.undo',
  'imported',
  'imported.allowed',
  'imported.run',
  'imported.undo',
];

/** A session that writes these takes more than 16 MiB (test/reducers/batch-results.test.ts). */
const TOO_LARGE = ['result_left_out'];

test('every text is in a recorded session', () => {
  const missing = Object.keys(TEXTS_1).filter((key) => !hit.has(key as TextKey));
  expect(missing.sort(), 'record them: tools/record-fixtures/rules.mjs').toEqual([...IN_EVENTS, ...TOO_LARGE].sort());
});

describe('texts', () => {
  test.each(Object.values(RULE_SETS))('rules $rules use only the values that a text is given', ({ texts }) => {
    const namesIn = (text: string): readonly string[] => text.match(/\{[^}]*\}/g) ?? [];
    for (const [key, text] of Object.entries(texts)) {
      expect({ key, names: namesIn(TEXTS_1[key as TextKey]) }).toEqual({
        key,
        names: expect.arrayContaining([...namesIn(text)]) as unknown,
      });
    }
  });

  test('a value is copied, whatever it contains', () => {
    const odd = ['{b}', '$&', '$1', '{', '}', '', '\\{a}', '{a}'];
    for (const a of odd) expect(fill('x {a} y {b}', { a, b: 'B' })).toBe(`x ${a} y B`);
  });

  test('a placeholder without a value stays, and so does one that names a property of every object', () => {
    expect(fill('{a} {constructor} {to_string}', {})).toBe('{a} {constructor} {to_string}');
    expect(fill('{n} of {n}', { n: 3 })).toBe('3 of 3');
  });
});
