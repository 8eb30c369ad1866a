import { expect, test } from 'vitest';
import { sameFamily } from '../../../../bridge/providers/api/model-family.ts';

test.each([
  ['anthropic/claude-4.5-haiku-20251001', 'anthropic/claude-haiku-4.5'],
  ['us.anthropic.claude-3-7-sonnet-20250219-v1:0', 'claude-3-7-sonnet'],
  ['models/gemini-2.0-flash', 'gemini-2.0-flash-001'],
  ['gpt-4o-2024-08-06', 'gpt-4o'],
  ['claude-sonnet-4-0', 'claude-sonnet-4-20250514'],
  ['claude-sonnet-4@20250514', 'claude-sonnet-4-20250514'],
  ['openai.gpt-5.5', 'gpt-5.5-2026-04-23'],
  ['claude-3-5-haiku-latest', 'claude-3-5-haiku-20241022'],
  ['meta-llama/llama-3.2-3b-instruct:free', 'llama-3.2-3b-instruct'],
  ['arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-haiku-4-5-20251001-v1:0', 'claude-haiku-4-5'],
])('%s and %s are one family', (a, b) => {
  expect(sameFamily(a, b)).toBe(true);
  expect(sameFamily(b, a)).toBe(true);
});

test.each([
  ['gpt-4.1', 'gpt-4.1-mini'],
  ['gpt-4', 'gpt-4.1'],
  ['claude-sonnet-4-5', 'claude-sonnet-4'],
  ['gemini-2.5-pro', 'gemini-2.5-flash'],
  ['gpt-oss:120b', 'gpt-oss:20b'],
  ['', ''],
])('%s and %s are two families', (a, b) => {
  expect(sameFamily(a, b)).toBe(false);
});
