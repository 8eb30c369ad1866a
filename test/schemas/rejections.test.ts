// Every code says what is wrong and, after it, what to do: the command line prints the second part as advice.
import { expect, test } from 'vitest';
import { decode } from '../../schemas/codec.ts';
import { Content } from '../../schemas/content.ts';
import { INLINE_CHARS_MAX } from '../../schemas/limits.ts';
import { REJECTIONS } from '../../schemas/rejection.ts';

const hasAdvice = (meaning: string): boolean => /^[A-Z][^.]*\. [A-Z]/.test(meaning);

test('every rejection says what is wrong and what to do', () => {
  expect(hasAdvice('Another run is active.')).toBe(false);
  expect(Object.entries(REJECTIONS).filter(([, meaning]) => !hasAdvice(meaning))).toEqual([]);
});

test('text that is too long to be inline is refused with its length, the limit and what to do', () => {
  const answer = decode(Content, { text: 'x'.repeat(INLINE_CHARS_MAX + 1) });
  const message = `has a text of ${INLINE_CHARS_MAX + 1} characters, and at most ${INLINE_CHARS_MAX} may be inline; put longer text into a blob`;
  expect(answer).toMatchObject({ left: { code: 'invalid_shape', message } });
  expect(decode(Content, { text: 7 })).toMatchObject({ left: { message: 'must be Content: InlineText or BlobText' } });
});
