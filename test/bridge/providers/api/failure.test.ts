import { expect, test } from 'vitest';
import { failureOf, withHeaders } from '../../../../bridge/providers/api/failure.ts';
import { RETRY_CAP_MS_MAX } from '../../../../schemas/limits.ts';

test.each<[number | null, string, string]>([
  [401, 'no', 'provider_auth'],
  [400, 'API key not valid. Please pass a valid API key. API_KEY_INVALID', 'provider_auth'],
  [402, 'Payment Required', 'provider_quota'],
  [403, 'no', 'provider_auth'],
  [400, 'Your credit balance is too low to access the API', 'provider_quota'],
  [429, 'insufficient_quota', 'provider_quota'],
  [429, 'Resource has been exhausted (e.g. check quota).', 'provider_retryable'],
  [429, 'too many tokens per minute', 'provider_retryable'],
  [400, 'context_length_exceeded', 'context_length'],
  [400, 'prompt is too long: 213000 tokens > 200000 maximum', 'context_length'],
  [400, 'input length and `max_tokens` exceed context limit: 1 + 2 > 3', 'context_length'],
  [400, 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).', 'context_length'],
  [400, 'Input Tokens Exceeded: Number of input tokens exceeds maximum length.', 'context_length'],
  [400, 'Input is too long for requested model.', 'context_length'],
  [400, 'prompt too long; exceeded max context length by 9 tokens', 'context_length'],
  [400, 'The total length of all messages is too long. too_many_prompt_tokens', 'context_length'],
  [413, 'request_too_large', 'context_length'],
  [null, 'exceed_context_size_error the request exceeds the available context size', 'context_length'],
  [404, 'model not found', 'invalid_request'],
  [422, 'bad', 'invalid_request'],
  [408, '', 'provider_retryable'],
  [409, '', 'provider_retryable'],
  [425, '', 'provider_retryable'],
  [500, 'context window', 'provider_retryable'],
  [529, 'overloaded_error Overloaded', 'provider_retryable'],
  [null, 'overloaded_error Overloaded', 'provider_retryable'],
  [null, 'ThrottlingException', 'provider_retryable'],
  [null, 'validationException', 'invalid_request'],
  [null, 'model was removed', 'provider_terminal'],
  [302, 'moved', 'provider_terminal'],
])('status %s with "%s" is %s', (status, words, code) => {
  expect(failureOf({ status, words, message: words })).toMatchObject({ code, retryAfterMs: null });
});

test('a wait in the body makes an exhausted quota a rate, and is bounded', () => {
  const words = 'RESOURCE_EXHAUSTED You exceeded your current quota, please check your plan and billing details';
  expect(failureOf({ status: 429, words, message: words }).code).toBe('provider_quota');
  const waiting = failureOf({ status: 429, words, message: words, retryAfterMs: 1_500.2 });
  expect(waiting).toMatchObject({ code: 'provider_retryable', retryAfterMs: 1_501 });
  expect(failureOf({ status: 429, words, message: '', retryAfterMs: 1e12 }).retryAfterMs).toBe(RETRY_CAP_MS_MAX);
  expect(failureOf({ status: 429, words, message: '', retryAfterMs: Number.NaN }).code).toBe('provider_quota');
});

test('a wait in the headers counts before that of the body', () => {
  const fault = failureOf({ status: 429, words: 'insufficient_quota', message: 'no', retryAfterMs: null });
  const headers = new Headers({ 'retry-after': '7' });
  expect(withHeaders(fault, 429, headers, 0)).toMatchObject({ code: 'provider_retryable', retryAfterMs: 7_000 });
  expect(withHeaders(fault, 429, new Headers(), 0)).toBe(fault);
  for (const odd of ['', ' ', 'soon', '-1', 'NaN']) {
    expect(withHeaders(fault, 429, new Headers({ 'retry-after': odd, 'retry-after-ms': odd }), 0)).toBe(fault);
  }
});
