import { expect, test } from 'vitest';
import { parseExact } from '../../../../bridge/providers/api/exact-json.ts';
import { bedrockConverse } from '../../../../bridge/providers/bedrock/dialect.ts';

const NAME = 'com.amazon.coral.service#';

test.each([
  [
    400,
    '{"message":"The model returned the following errors: Input is too long for requested model."}',
    'context_length',
  ],
  [
    400,
    '{"message":"The model returned the following errors: prompt is too long: 9 tokens > 8 maximum"}',
    'context_length',
  ],
  [400, '{"message":"Input Tokens Exceeded: Number of input tokens exceeds maximum length."}', 'context_length'],
  [400, '{"message":"input length and `max_tokens` exceed context limit: 9 + 1 > 8"}', 'context_length'],
  [400, '{"message":"This model\'s maximum context length is 8 tokens."}', 'context_length'],
  [400, '{"message":"too many total text bytes"}', 'context_length'],
  [
    400,
    '{"Message":"The toolConfig field must be defined when using toolUse and toolResult content blocks."}',
    'invalid_request',
  ],
  [400, '{"message":"Malformed input request: extraneous key"}', 'invalid_request'],
  [400, '{"__type":"ServiceQuotaExceededException","message":"x"}', 'provider_quota'],
  [403, '{"message":"The security token included in the request is invalid."}', 'provider_auth'],
  [400, `{"__type":"${NAME}ExpiredTokenException","message":"x"}`, 'provider_auth'],
  [400, '{"__type":"AccessDeniedException:http://internal.amazon.com/x","Message":"x"}', 'provider_auth'],
  [400, `{"__type":"${NAME}UnrecognizedClientException"}`, 'provider_auth'],
  [404, '{"message":"The provided model identifier is invalid."}', 'invalid_request'],
  [408, '{"message":"Model has timed out in processing the request."}', 'provider_retryable'],
  [424, '{"__type":"ModelErrorException","message":"x","originalStatusCode":500}', 'provider_retryable'],
  [424, '{"__type":"ModelStreamErrorException","message":"x"}', 'provider_retryable'],
  [429, '{"message":"Too many requests, please wait before trying again."}', 'provider_retryable'],
  [429, '{"message":"Too many tokens per day, please wait before trying again."}', 'provider_quota'],
  [429, '{"__type":"ModelNotReadyException","message":"x"}', 'provider_retryable'],
  [500, '{"message":"The system encountered an unexpected error."}', 'provider_retryable'],
  [503, '"<html>Service Unavailable</html>"', 'provider_retryable'],
  [null, '{"__type":"throttlingException","message":"x"}', 'provider_retryable'],
  [null, '{"__type":"constructor"}', 'provider_terminal'],
])('%s %s is %s', (status, body, code) => {
  expect(bedrockConverse.errorOf(parseExact(body), status).code).toBe(code);
});

test('the message states the status, the exception and what the server said', () => {
  const body = { __type: `${NAME}ThrottlingException:http://x/`, message: 'slow down' };
  expect(bedrockConverse.errorOf(body, 429).message).toBe('the server answered: 429 ThrottlingException slow down');
  expect(bedrockConverse.errorOf('<html>', 502).message).toBe('the server answered: 502 <html>');
  expect(bedrockConverse.errorOf({ odd: 1 }, 500).message).toBe('the server answered: 500 {"odd":1}');
});
