// Streams of turns in the format of each model API: texts in pieces, then calls whose arguments come in pieces.
import type { StreamEvent } from '../bridge/providers/api/dialect.ts';
import type { ModelApi } from '../schemas/model-turn.ts';

export interface Turn {
  readonly texts: readonly string[];
  readonly calls: readonly CallPieces[];
}

interface CallPieces {
  readonly id: string;
  /** Together a JSON object. */
  readonly pieces: readonly string[];
}

/** The events of a stream that says this turn. */
export const turnEvents = (api: ModelApi, turn: Turn): readonly StreamEvent[] => WRITERS[api](turn);

const NAME = 'edit_file';

const event = (data: object, name: string | null = null): StreamEvent => ({ name, data: JSON.stringify(data) });

const WRITERS: { readonly [api in ModelApi]: (turn: Turn) => readonly StreamEvent[] } = {
  'openai.chat'({ texts, calls }) {
    const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_760_000_000, model: 'gpt-5.4' };
    const chunk = (delta: object, finish_reason: string | null = null): StreamEvent =>
      event({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason }] });
    const call = (index: number, fields: object): StreamEvent => chunk({ tool_calls: [{ index, ...fields }] });
    return [
      chunk({ role: 'assistant', content: '' }),
      ...texts.map((content) => chunk({ content })),
      ...calls.flatMap(({ id, pieces }, index) => [
        call(index, { id, type: 'function', function: { name: NAME, arguments: '' } }),
        ...pieces.map((piece) => call(index, { function: { arguments: piece } })),
      ]),
      chunk({}, calls.length === 0 ? 'stop' : 'tool_calls'),
      event({ ...head, choices: [], usage: { prompt_tokens: 900, completion_tokens: 80, total_tokens: 980 } }),
      { name: null, data: '[DONE]' },
    ];
  },
  'openai.responses'({ texts, calls }) {
    const response = { id: 'resp_1', object: 'response', model: 'gpt-5.4', output: [] };
    const typed = (type: string, fields: object): StreamEvent => event({ type, ...fields }, type);
    const items = texts.length === 0 ? 0 : 1;
    return [
      typed('response.created', { response: { ...response, status: 'in_progress' } }),
      ...(items === 0
        ? []
        : [
            typed('response.output_item.added', {
              output_index: 0,
              item: { id: 'msg_1', type: 'message', status: 'in_progress', role: 'assistant', content: [] },
            }),
            ...texts.map((delta) =>
              typed('response.output_text.delta', { item_id: 'msg_1', output_index: 0, content_index: 0, delta }),
            ),
          ]),
      ...calls.flatMap(({ id, pieces }, index) => {
        const output_index = items + index;
        const item = { id: `fc_${id}`, type: 'function_call', call_id: id, name: NAME, status: 'in_progress' };
        return [
          typed('response.output_item.added', { output_index, item: { ...item, arguments: '' } }),
          ...pieces.map((delta) =>
            typed('response.function_call_arguments.delta', { item_id: item.id, output_index, delta }),
          ),
        ];
      }),
      typed('response.completed', {
        response: { ...response, status: 'completed', usage: { input_tokens: 900, output_tokens: 80 } },
      }),
    ];
  },
  'anthropic.messages'({ texts, calls }) {
    const typed = (type: string, fields: object): StreamEvent => event({ type, ...fields }, type);
    const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', content: [] };
    const items = texts.length === 0 ? 0 : 1;
    const delta = (index: number, fields: object): StreamEvent =>
      typed('content_block_delta', { index, delta: fields });
    return [
      typed('message_start', { message: { ...message, usage: { input_tokens: 900, output_tokens: 1 } } }),
      ...(items === 0
        ? []
        : [
            typed('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
            ...texts.map((text) => delta(0, { type: 'text_delta', text })),
            typed('content_block_stop', { index: 0 }),
          ]),
      ...calls.flatMap(({ id, pieces }, at) => [
        typed('content_block_start', {
          index: items + at,
          content_block: { type: 'tool_use', id, name: NAME, input: {} },
        }),
        ...pieces.map((partial_json) => delta(items + at, { type: 'input_json_delta', partial_json })),
        typed('content_block_stop', { index: items + at }),
      ]),
      typed('message_delta', {
        delta: { stop_reason: calls.length === 0 ? 'end_turn' : 'tool_use', stop_sequence: null },
        usage: { output_tokens: 80 },
      }),
      typed('message_stop', {}),
    ];
  },
  'gemini.generate_content'({ texts, calls }) {
    const usageMetadata = { promptTokenCount: 900, candidatesTokenCount: 80, totalTokenCount: 980 };
    const chunk = (parts: readonly object[], further: object = {}): StreamEvent =>
      event({
        candidates: [{ content: { parts, role: 'model' }, index: 0, ...further }],
        usageMetadata,
        modelVersion: 'gemini-2.5-pro',
        responseId: 'response-1',
      });
    return [
      ...texts.map((text) => chunk([{ text }])),
      // A call comes whole.
      ...calls.map(({ pieces }) =>
        chunk([{ functionCall: { name: NAME, args: JSON.parse(pieces.join('')) as object } }]),
      ),
      chunk([], { finishReason: 'STOP' }),
    ];
  },
  'bedrock.converse'({ texts, calls }) {
    const items = texts.length === 0 ? 0 : 1;
    const delta = (contentBlockIndex: number, fields: object): StreamEvent =>
      event({ contentBlockIndex, delta: fields, p: 'abcdefghij' }, 'contentBlockDelta');
    const stop = (contentBlockIndex: number): StreamEvent => event({ contentBlockIndex }, 'contentBlockStop');
    return [
      event({ role: 'assistant' }, 'messageStart'),
      ...texts.map((text) => delta(0, { text })),
      ...(items === 0 ? [] : [stop(0)]),
      ...calls.flatMap(({ id, pieces }, at) => [
        event(
          { contentBlockIndex: items + at, start: { toolUse: { toolUseId: id, name: NAME } } },
          'contentBlockStart',
        ),
        ...pieces.map((input) => delta(items + at, { toolUse: { input } })),
        stop(items + at),
      ]),
      event({ stopReason: calls.length === 0 ? 'end_turn' : 'tool_use' }, 'messageStop'),
      event(
        { usage: { inputTokens: 900, outputTokens: 80, totalTokens: 980 }, metrics: { latencyMs: 900 } },
        'metadata',
      ),
    ];
  },
};
