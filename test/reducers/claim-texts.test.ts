// How claims are read from the text of an argument, against a plain reading of the same text.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { claimsOf, computeClaimsAhead } from '../../reducers/claims.ts';
import { roundsOf } from '../support/random.ts';

const hint = (form: 'patch' | 'text') => ({
  parallel_safe: true,
  claims: [{ space: 'fs', argument: 'x', form, access: 'write' as const }],
});

const keys = (form: 'patch' | 'text', x: string): readonly string[] =>
  claimsOf(hint(form), { x }).map(({ key }) => key);

const HEADER = /^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$/s;

function keysOfPatch(patch: string): readonly string[] {
  const paths = patch.split('\n').flatMap((line) => HEADER.exec(line.trimEnd())?.[1]?.trim() ?? []);
  return paths.length === 0 ? ['fs'] : [...new Set(paths.map((path) => `fs/${path}`))].toSorted();
}

const piece = fc.constantFrom(
  '*** ',
  '*** Add File: ',
  '*** Update File:',
  '*** Move to: ',
  '*** Delete File: ',
  '\n',
  '\r\n',
  ' ',
  '\t',
  'a',
  'b/c',
);

test('the paths of a patch are those of its header lines', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 24 }), (pieces) => {
      const patch = pieces.join('');
      const expected = keysOfPatch(patch);
      // Paths with odd characters or headers in them widen to the whole space, by rules of their own.
      fc.pre(expected.every((key) => /^fs(?:\/[abc/]+)?$/.test(key) && !/\/\/|\/$/.test(key)));
      expect(keys('patch', patch)).toEqual(expected);
    }),
    { numRuns: roundsOf(1_000, 20_000) },
  );
});

test('a text is one segment, whatever is in it', () => {
  fc.assert(
    fc.property(
      fc.string({ minLength: 1, maxLength: 64, unit: fc.constantFrom('%', '/', 'a', '\u{1F600}', '2') }),
      (x) => {
        expect(keys('text', x)).toEqual([`fs/${x.replaceAll('%', '%25').replaceAll('/', '%2F')}`]);
      },
    ),
    { numRuns: roundsOf(500, 10_000) },
  );
});

test('claims that were computed ahead are used for the same rule only', () => {
  const args = { x: 'a/b' };
  const [text, patch] = [hint('text'), hint('patch')];
  computeClaimsAhead(text, args);
  expect(claimsOf(text, args)).toEqual([{ access: 'write', key: 'fs/a%2Fb' }]);
  expect(claimsOf(patch, args)).toEqual([{ access: 'write', key: 'fs' }]);
});
