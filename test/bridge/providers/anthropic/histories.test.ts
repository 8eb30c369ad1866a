// Random conversations: whatever a window, a steer or a change of models leaves of one, the API takes the request.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AssistantMessage, Message, MessageCall } from '../../../../bridge/providers/provider.ts';
import { anthropicMessages } from '../../../../bridge/providers/anthropic/dialect.ts';
import type { LayoutPart } from '../../../../schemas/model-turn.ts';
import { anthropicFaults } from '../../../conformance/providers/anthropic-rules.ts';
import { requestOf } from '../../../conformance/providers/anthropic.ts';

const words = fc.constantFrom('', ' ', 'One.', 'Two. \n', '\n\n');
const ids = fc.constantFrom('a', 'b', 'call-1-0', 'functions.add:0', '', 'é'.repeat(70), 'x'.repeat(70));
const names = fc.constantFrom('read', '', 'no such/tool');
const args = fc.constantFrom('{}', '{"a":1}', '', '[1]', '{"a');
const items = fc.constantFrom(
  '{"type":"thinking","thinking":"hm","signature":"s"}',
  '{"type":"redacted_thinking","data":"d"}',
  '{"type":"server_tool_use","id":"srv","name":"web_search","input":{}}',
  '{"type":"web_search_tool_result","tool_use_id":"srv","content":[]}',
  '{"container":{"id":"c"}}',
  '{"type":"new"}',
  'not JSON',
);
const attachments = fc.constantFrom(undefined, [
  { media_type: 'image/png', bytes: new Uint8Array([1]) },
  { media_type: 'audio/wav', bytes: new Uint8Array([2]) },
]);

const call: fc.Arbitrary<MessageCall> = fc.record({ id: ids, name: names, arguments: args });
const piece = fc.oneof(
  fc.record({ kind: fc.constant('text' as const), text: words }),
  fc.record({ kind: fc.constant('call' as const), call }),
  fc.record({ kind: fc.constant('item' as const), item: items }),
);

/** A turn of pieces in any order, by this model, by another one, or without a layout. */
const turn = fc
  .tuple(fc.array(piece, { maxLength: 5 }), fc.constantFrom('claude-sonnet-4-5', 'gpt-5', null))
  .map(([pieces, model]): AssistantMessage => {
    const calls: MessageCall[] = [];
    let text = '';
    const parts = pieces.map((each): LayoutPart => {
      if (each.kind === 'item') return { item: each.item };
      if (each.kind === 'text') text += each.text;
      else calls.push(each.call);
      return each.kind === 'text' ? { text: each.text.length } : { call: calls.length - 1 };
    });
    const plain = { role: 'assistant', text, calls: distinct(calls) } as const;
    if (model === null || plain.calls.length !== calls.length) return plain;
    return { ...plain, layout: { api: 'anthropic.messages', model, parts } };
  });

/** The ids of one message are unique: the engine sees to that. */
const distinct = (calls: readonly MessageCall[]): readonly MessageCall[] =>
  calls.filter(({ id }, index) => calls.findIndex((other) => other.id === id) === index);

const message = fc.oneof(
  { weight: 3, arbitrary: turn },
  { weight: 2, arbitrary: fc.record({ role: fc.constant('user' as const), text: words }) },
);

/** Each call is followed by its result, in any order, sometimes with a steer between; the window may begin anywhere. */
const history = fc
  .tuple(fc.array(fc.tuple(message, fc.boolean(), fc.boolean(), words, attachments)), fc.nat(3))
  .map(([turns, cut]) => {
    const messages = turns.flatMap(([each, backwards, is_error, text, files]): readonly Message[] => {
      if (each.role === 'user') return [files === undefined ? each : { ...each, attachments: files }];
      const results = each.calls.map(({ id, name }): Message => {
        const result = { role: 'tool', call_id: id, name, text, is_error } as const;
        return files === undefined ? result : { ...result, attachments: files };
      });
      const steered: readonly Message[] = is_error ? [{ role: 'user', text: 'steer' }, ...results] : results;
      return [each, ...(backwards ? steered.toReversed() : steered)];
    });
    return messages.slice(cut);
  });

test('the API takes the request of any conversation, by any model of it', () => {
  fc.assert(
    fc.property(history, fc.constantFrom('claude-sonnet-4-5', 'claude-opus-5', 'claude-3-opus'), (messages, model) => {
      const target = { model, baseUrl: 'https://api.anthropic.com', stream: true };
      const { body } = anthropicMessages.encode(requestOf(messages), target);
      expect(anthropicFaults(body)).toEqual([]);
      expect(anthropicMessages.encode(requestOf(messages), target).body).toBe(body);
    }),
    { numRuns: 1_000 },
  );
});

test('a conversation that grows keeps its beginning, so that a cached prompt stays the same', () => {
  fc.assert(
    fc.property(history, (messages) => {
      const sent = (list: readonly Message[]): readonly string[] => {
        const target = { model: 'claude-opus-5', baseUrl: 'https://api.anthropic.com', stream: false };
        const { body } = anthropicMessages.encode(requestOf(list), target);
        return (JSON.parse(body) as { readonly messages: readonly object[] }).messages.map((each) =>
          JSON.stringify(each),
        );
      };
      const ended = [...messages, { role: 'user', text: 'and?' } as const];
      const before = sent(ended);
      const after = sent([...ended, { role: 'assistant', text: 'So.', calls: [] }, { role: 'user', text: 'ok' }]);
      expect(after.slice(0, before.length)).toEqual(before);
    }),
  );
});
