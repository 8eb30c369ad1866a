// Every code says what is wrong and, after it, what to do: the command line prints the second part as advice.
import { expect, test } from 'vitest';
import { REJECTIONS } from '../../schemas/rejection.ts';

const hasAdvice = (meaning: string): boolean => /^[A-Z][^.]*\. [A-Z]/.test(meaning);

test('every rejection says what is wrong and what to do', () => {
  expect(hasAdvice('Another run is active.')).toBe(false);
  expect(Object.entries(REJECTIONS).filter(([, meaning]) => !hasAdvice(meaning))).toEqual([]);
});
