// What Google's errors mean.
import { describe, expect, test } from 'vitest';
import { gemini } from '../../../../bridge/providers/gemini/dialect.ts';
import type { ExactJson } from '../../../../bridge/providers/api/exact-json.ts';

const errorOf = (status: number, state: string, message: string, details: readonly ExactJson[] = []) =>
  gemini.errorOf({ error: { code: status, status: state, message, details } }, status);

const RETRY = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '36.5s' };
const quota = (quotaId: string): ExactJson => ({
  '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
  violations: [{ quotaId }],
});

describe('an error', () => {
  test.each([
    [401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.', 'provider_auth'],
    [403, 'PERMISSION_DENIED', 'The caller does not have permission.', 'provider_auth'],
    [400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', 'provider_auth'],
    [
      400,
      'INVALID_ARGUMENT',
      'The input token count (12) exceeds the maximum number of tokens allowed (10).',
      'context_length',
    ],
    [400, 'INVALID_ARGUMENT', 'Request payload size exceeds the limit: 20971520 bytes.', 'context_length'],
    [400, 'INVALID_ARGUMENT', 'Invalid value at contents[0].', 'invalid_request'],
    [404, 'NOT_FOUND', 'models/x is not found.', 'invalid_request'],
    [429, 'RESOURCE_EXHAUSTED', 'Resource has been exhausted (e.g. check quota).', 'provider_retryable'],
    [429, 'RESOURCE_EXHAUSTED', 'Quota exceeded for metric x, limit requests per minute.', 'provider_retryable'],
    [429, 'RESOURCE_EXHAUSTED', 'Quota exceeded for metric x, limit requests per day.', 'provider_quota'],
    [
      429,
      'RESOURCE_EXHAUSTED',
      'You exceeded your current quota, please check your billing details.',
      'provider_quota',
    ],
    [500, 'INTERNAL', 'An internal error has occurred.', 'provider_retryable'],
    [503, 'UNAVAILABLE', 'The model is overloaded.', 'provider_retryable'],
    [504, 'DEADLINE_EXCEEDED', 'Deadline expired.', 'provider_retryable'],
  ])('%i %s %s', (status, state, message, code) => {
    expect(errorOf(status, state, message)).toMatchObject({ code, message: expect.stringContaining(message) });
  });

  test('states its kind in the details', () => {
    const expired = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' };
    expect(errorOf(400, 'INVALID_ARGUMENT', 'API key expired.', [expired]).code).toBe('provider_auth');
    const daily = [quota('GenerateRequestsPerDayPerProjectPerModel-FreeTier')];
    expect(errorOf(429, 'RESOURCE_EXHAUSTED', 'Exhausted.', daily).code).toBe('provider_quota');
  });

  test('with a time to retry is no exhausted quota', () => {
    const message = 'You exceeded your current quota.';
    const details = [quota('GenerateRequestsPerMinutePerProjectPerModel-FreeTier'), RETRY];
    const wanted = { code: 'provider_retryable', retryAfterMs: 36_500 };
    expect(errorOf(429, 'RESOURCE_EXHAUSTED', message, details)).toMatchObject(wanted);
    expect(errorOf(429, 'RESOURCE_EXHAUSTED', `${message} Please retry in 36.5s.`)).toMatchObject(wanted);
  });

  test('within a 200 has the status that it states, as a number or a word', () => {
    expect(gemini.errorOf({ error: { code: 503, message: 'x' } }, null).code).toBe('provider_retryable');
    expect(gemini.errorOf({ error: { status: 'UNAUTHENTICATED', message: 'x' } }, null).code).toBe('provider_auth');
  });

  test('of a stream may be wrapped in a list', () => {
    const error = { error: { code: 404, status: 'NOT_FOUND', message: 'models/x is not found.' } };
    expect(gemini.errorOf([error], 404)).toMatchObject({
      code: 'invalid_request',
      message: 'the server answered: 404 NOT_FOUND models/x is not found.',
    });
  });

  test.each(['<html>Bad gateway</html>', null, [], { detail: 'x' }, { error: 'gone' }])('may be %j', (body) => {
    expect(gemini.errorOf(body as ExactJson, 502).code).toBe('provider_retryable');
  });
});
