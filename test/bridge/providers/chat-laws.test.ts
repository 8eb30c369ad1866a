// The laws find what they are for, in the form of each API.
import { describe, expect, test } from 'vitest';
import type { ModelApi } from '../../../schemas/model-turn.ts';
import { checkChat } from '../../support/providers/chat-laws.ts';

type Word = 'user' | 'blank' | 'says' | `calls ${string}` | `answers ${string}` | 'nothing';

/** A body of the API with a message for each word. */
type Writer = (words: readonly Word[]) => object;

const ids = (word: Word): readonly string[] => word.split(' ').slice(1);
const isCall = (word: Word): boolean => word.startsWith('calls');
const isUser = (word: Word): boolean => word === 'user' || word === 'blank' || word.startsWith('answers');
const textOf = (word: Word): readonly string[] =>
  word === 'blank' ? [' '] : word === 'nothing' || ids(word).length > 0 ? [] : [word];

const WRITERS: { readonly [api in ModelApi]: Writer } = {
  'bedrock.converse': (words) => ({
    toolConfig: { tools: [{}] },
    messages: words.map((word) => ({
      role: isUser(word) ? 'user' : 'assistant',
      content: [
        ...textOf(word).map((text) => ({ text })),
        ...ids(word).map((toolUseId) =>
          isCall(word) ? { toolUse: { toolUseId, name: 'x' } } : { toolResult: { toolUseId, content: [{}] } },
        ),
      ],
    })),
  }),
  'anthropic.messages': (words) => ({
    messages: words.map((word) => ({
      role: isUser(word) ? 'user' : 'assistant',
      content: [
        ...textOf(word).map((text) => ({ type: 'text', text })),
        ...ids(word).map((id) =>
          isCall(word) ? { type: 'tool_use', id, name: 'x' } : { type: 'tool_result', tool_use_id: id },
        ),
      ],
    })),
  }),
  'gemini.generate_content': (words) => ({
    contents: words.map((word) => ({
      role: isUser(word) ? 'user' : 'model',
      parts: [
        ...textOf(word).map((text) => ({ text })),
        ...ids(word).map((id) => ({ [isCall(word) ? 'functionCall' : 'functionResponse']: { id, name: 'x' } })),
      ],
    })),
  }),
  'openai.chat': (words) => ({
    messages: words.flatMap((word): readonly object[] => {
      if (word.startsWith('answers')) return ids(word).map((id) => ({ role: 'tool', tool_call_id: id, content: 'x' }));
      const calls = ids(word).map((id) => ({ id, function: { name: 'x' } }));
      const content = textOf(word).join('');
      return [
        {
          role: isUser(word) ? 'user' : 'assistant',
          content: content === '' ? null : content,
          ...(calls.length === 0 ? {} : { tool_calls: calls }),
        },
      ];
    }),
  }),
  'openai.responses': (words) => ({
    input: words.flatMap((word): readonly object[] => {
      if (isCall(word)) return ids(word).map((call_id) => ({ type: 'function_call', call_id, name: 'x' }));
      if (word.startsWith('answers')) return ids(word).map((call_id) => ({ type: 'function_call_output', call_id }));
      return [{ role: isUser(word) ? 'user' : 'assistant', content: textOf(word).map((text) => ({ text })) }];
    }),
  }),
};

const APIS = Object.keys(WRITERS) as readonly ModelApi[];
const broken = (api: ModelApi, words: readonly Word[]) => checkChat(api, JSON.stringify(WRITERS[api](words)));

describe.each(APIS)('%s', (api) => {
  test('a good chat breaks no law', () => {
    expect(broken(api, ['user', 'calls a b', 'answers a b', 'says', 'user', 'calls c', 'answers c'])).toEqual([]);
  });

  test.each<[string, readonly Word[], string]>([
    ['no user first', ['says', 'user'], 'the first message is of the role assistant'],
    ['no message', [], 'the first message is of the role none'],
    [
      'a missing result',
      ['user', 'calls a b', 'answers a', 'says', 'user'],
      'message 1 calls [a b], and the next one answers [a]',
    ],
    [
      'a late result',
      ['user', 'calls a', 'user', 'says', 'answers a'],
      'message 1 calls [a], and the next one answers []',
    ],
    ['an orphan', ['user', 'says', 'answers z'], 'message 1 calls [], and the next one answers [z]'],
    ['another order', ['user', 'calls a b', 'answers b a'], 'message 1 calls [a b], and the next one answers [b a]'],
    ['an id twice', ['user', 'calls a', 'answers a', 'calls a', 'answers a'], 'the id a occurs twice'],
    ['an empty message', ['user', 'nothing', 'user'], 'message 1 is empty'],
  ])('%s is found', (_, words, law) => {
    expect(broken(api, words)).toContain(law);
  });
});

test('laws of some APIs only', () => {
  const by = (words: readonly Word[]) => APIS.filter((api) => broken(api, words).length > 0);
  expect(by(['user', 'says', 'says', 'user'])).toEqual([
    'bedrock.converse',
    'anthropic.messages',
    'gemini.generate_content',
  ]);
  expect(by(['blank'])).toEqual(['bedrock.converse', 'anthropic.messages']);
  expect(by(['user', 'says'])).toEqual(['bedrock.converse']);
  expect(by(['user', 'calls a:0', 'answers a:0'])).toEqual(['anthropic.messages']);
  const { toolConfig, ...without } = WRITERS['bedrock.converse'](['user', 'calls a', 'answers a']) as {
    toolConfig: object;
  };
  expect([toolConfig, checkChat('bedrock.converse', JSON.stringify(without))]).toEqual([
    expect.anything(),
    ['there are calls, but no toolConfig'],
  ]);
});
