// The check of recorded traffic on recordings of our own: it passes what is right, and finds what is not.
import { expect, test } from 'vitest';
import type { Dialect } from '../../../../bridge/providers/api/dialect.ts';
import type { GenerateReply } from '../../../../bridge/providers/provider.ts';
import { anthropicMessages, vertexAnthropic } from '../../../../bridge/providers/anthropic/dialect.ts';
import { anthropicCheck, streamOf } from '../../../conformance/providers/anthropic.ts';
import { reportOf } from '../../../conformance/recording.ts';
import { messageOf } from './samples.ts';
import type { ExactJson } from '../../../../bridge/providers/api/exact-json.ts';
import type { Steps } from '../../../../src/core/steps.ts';

const rich = messageOf(
  [
    { type: 'thinking', thinking: 'Länger 🙂 nachdenken', signature: 'c2ln' },
    { type: 'text', text: 'Es ist 🙂 so: ', citations: [{ type: 'page_location', cited_text: 'x' }] },
    { type: 'text', text: '\n' },
    { type: 'server_tool_use', id: 'srv_1', name: 'web_search', input: { query: 'q' } },
    { type: 'web_search_tool_result', tool_use_id: 'srv_1', content: [{ type: 'web_search_result', url: 'u' }] },
    { type: 'tool_use', id: 'toolu_1', name: 'read', input: { path: 'ä', n: [1, null] }, caller: { type: 'direct' } },
    { type: 'tool_use', id: 'toolu_2', name: 'read', input: {} },
  ],
  { stop_reason: 'tool_use', usage: { input_tokens: 1, output_tokens: 2, cache_read_input_tokens: 3 } },
);
const plain = messageOf([{ type: 'text', text: 'Hello' }]);
const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };

const lines = [
  { status: 200, response: rich },
  { status: 200, response_text: streamOf(rich) },
  { status: 200, response: plain, response_text: null },
  { status: 529, response: overloaded },
  { status: 200, response: overloaded },
  { status: 200, response: { object: 'list', data: [] } },
  {
    status: 200,
    response_text: streamOf(rich).replace('event: message_stop', 'event: ping').replace('"message_stop"', '"ping"'),
  },
];

test.each([
  ['Anthropic', anthropicMessages],
  ['Vertex AI', vertexAnthropic],
])('what is right passes (%s)', async (_, dialect) => {
  expect(await reportOf(lines, anthropicCheck(dialect))).toEqual({
    records: 7,
    decoded: 3,
    errors: { provider_retryable: 1 },
    undecoded: [
      expect.stringMatching(/^5: provider_retryable .*Overloaded/),
      expect.stringMatching(/^6: provider_retryable .*"\/content"/),
      expect.stringMatching(/^7: provider_retryable .*end marker/),
    ],
    differences: [],
  });
});

/** A reader that reads right, and then changes the reply. */
const readAs = (change: (reply: GenerateReply) => GenerateReply): Partial<Dialect> => ({
  *read(final) {
    return change(yield* anthropicMessages.read(final));
  },
});

function* halfTurn(): Steps<ExactJson> {
  yield;
  return plain;
}

test.each<[string, Partial<Dialect>]>([
  ['a wrong count', readAs((reply) => ({ ...reply, usage: { input_tokens: 1, output_tokens: 2 } }))],
  ['a lost layout', readAs(withoutLayout)],
  ['a half turn', { newFold: () => ({ ...anthropicMessages.newFold(), final: halfTurn }) }],
])('%s is found', async (_, broken) => {
  const { differences } = await reportOf(lines.slice(0, 1), anthropicCheck({ ...anthropicMessages, ...broken }));
  expect(differences.length).toBeGreaterThan(0);
});

function withoutLayout(reply: GenerateReply): GenerateReply {
  const { layout, ...rest } = reply;
  expect(layout).toBeDefined();
  return rest;
}
