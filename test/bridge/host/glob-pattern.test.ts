// Glob patterns: their syntax, their refusals, and that matching stays fast on hostile patterns.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileGlob } from '../../../bridge/host/search/glob-pattern.ts';

const matches = (pattern: string, path: string): boolean => compileGlob(pattern).matches(path);

describe('a glob pattern', () => {
  test.each([
    ['*.ts', 'a.ts', true],
    ['*.ts', 'a/b.ts', false],
    ['*.ts', '.hidden.ts', true],
    ['**/*.ts', 'a.ts', true],
    ['**/*.ts', 'a/b/c.ts', true],
    ['a/**', 'a/b/c', true],
    ['a/**', 'b/a/c', false],
    ['a/**/z', 'a/z', true],
    ['a/**/z', 'a/b/c/z', true],
    ['**/b/**/d', 'a/b/c/d', true],
    ['**', 'a/b', true],
    ['a?c', 'abc', true],
    ['a?c', 'a🜁c', true],
    ['a?c', 'a/c', false],
    ['[a-c]x', 'bx', true],
    ['[!a-c]x', 'bx', false],
    ['[!a-c]x', 'zx', true],
    ['[]]', ']', true],
    ['[a-]', '-', true],
    ['{a,b}/*.{js,ts}', 'b/x.ts', true],
    ['{a,b}/*.{js,ts}', 'c/x.ts', false],
    ['{a,{b,c}d}', 'cd', true],
    ['x{,y}', 'x', true],
    ['\\*', '*', true],
    ['\\*', 'a', false],
    ['./a', 'a', true],
    ['a+(b)', 'a+(b)', true],
    ['configs/*.toml', 'configs/a.toml', true],
  ])('%s matches %s: %s', (pattern, path, expected) => {
    expect(matches(pattern, path)).toBe(expected);
  });

  test.each(['', '[', '[a', '{a', 'a**b', '../a', '/a', 'a\\', '[z-a]', '{0,1}'.repeat(9)])(
    '%j is refused',
    (pattern) => {
      expect(() => compileGlob(pattern)).toThrow(RangeError);
    },
  );

  test('with many wildcards is matched without exponential backtracking', () => {
    const pattern = compileGlob(`${'*a'.repeat(100)}*b`);
    const deep = compileGlob(`${'**/a/'.repeat(50)}b`);
    const started = performance.now();
    for (let n = 0; n < 100; n += 1) expect(pattern.matches('a'.repeat(250))).toBe(false);
    expect(deep.matches('a/'.repeat(200))).toBe(false);
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});

// The reference implementation: it tries every length for each star.
function reference(pattern: string, path: string): boolean {
  if (pattern === '') return path === '';
  if (pattern.startsWith('**/')) {
    const rest = pattern.slice(3);
    return reference(rest, path) || (path.includes('/') && reference(pattern, path.slice(path.indexOf('/') + 1)));
  }
  if (pattern.startsWith('*')) {
    return reference(pattern.slice(1), path) || (path !== '' && path[0] !== '/' && reference(pattern, path.slice(1)));
  }
  if (path === '' || (pattern[0] === '?' ? path[0] === '/' : pattern[0] !== path[0])) return false;
  return reference(pattern.slice(1), path.slice(1));
}

const name = fc
  .string({ unit: fc.constantFrom('a', 'b', '*', '?'), minLength: 1, maxLength: 4 })
  .filter((n) => !n.includes('**'));
const plain = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 5 });

test('a pattern matches what the reference matches', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof({ weight: 3, arbitrary: name }, { weight: 1, arbitrary: fc.constant('**') }), {
        minLength: 1,
        maxLength: 4,
      }),
      fc.array(plain, { minLength: 1, maxLength: 4 }),
      (segments, names) => {
        const pattern = [...segments, 'a'].join('/');
        expect(matches(pattern, names.join('/'))).toBe(reference(pattern, names.join('/')));
      },
    ),
  );
});
