// The table of laws: one numbering for the judge, the tests and the documentation.
import { expect, test } from 'vitest';
import { LAWS } from '../../src/testing/index.ts';
import { lawLabel } from '../../src/testing/laws/laws.ts';

test('the laws are numbered from 1 without gaps, and no two have the same name', () => {
  expect(LAWS.map(({ number }) => number)).toEqual(LAWS.map((_, index) => index + 1));
  expect(new Set(LAWS.map(({ name }) => name)).size).toBe(LAWS.length);
});

test('a violation names a law of the table by number, and any other law by its quoted name', () => {
  expect(lawLabel('settle once')).toBe('law 4, settle once');
  expect(lawLabel('no writes')).toBe('law "no writes"');
});
