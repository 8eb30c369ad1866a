// Conversations of all kinds, as requests hold them.
import * as fc from 'fast-check';
import type { GenerateRequest, Message, MessageAttachment, ReplyLayout } from '../../../bridge/providers/provider.ts';
import type { OfferedTool } from '../../../schemas/effect.ts';
import { brand } from '../../../schemas/ids.ts';
import { type LayoutPart, MODEL_APIS } from '../../../schemas/model-turn.ts';

const text = fc.oneof(
  { weight: 4, arbitrary: fc.string({ maxLength: 12 }) },
  { weight: 1, arbitrary: fc.constantFrom('', ' ', '\n\t', 'text\ud800', 'é\u0000') },
);
const id = fc.oneof(
  fc.constantFrom('call-1-0', 'call-1-1', 'functions.add:0', 'toolu_1', '', 'id with spaces', 'é', 'x'.repeat(300)),
  fc.string({ maxLength: 8 }),
);
const name = fc.constantFrom('read', 'write', 'a.b', '', 'tool'.repeat(40));
const argumentsText = fc.oneof(
  fc.constantFrom('{}', '{"path":"a"}', '{"n":12345678901234567890}', '[1]', 'null', '', '{"cut', '"\\ud800"'),
  fc.json(),
);
const attachment: fc.Arbitrary<MessageAttachment> = fc
  .record({
    media_type: fc.constantFrom('image/png', 'image/webp', 'application/pdf', 'audio/wav'),
    name: fc.option(fc.constantFrom('a.pdf', 'Größe & Co (1).pdf', ''), { nil: undefined }),
    bytes: fc.uint8Array({ minLength: 1, maxLength: 4 }),
  })
  .map(({ name: file, ...rest }) => (file === undefined ? rest : { ...rest, name: file }));
const attachments = fc.oneof(
  { weight: 3, arbitrary: fc.constant([]) },
  { weight: 1, arbitrary: fc.array(attachment, { maxLength: 2 }) },
);

const call = fc
  .record({ id, provider_id: fc.option(id, { nil: undefined }), name, arguments: argumentsText })
  .map(({ provider_id, ...rest }) => (provider_id === undefined ? rest : { ...rest, provider_id }));

/** A turn of the model without a layout. The ids of its calls differ, as the port guarantees. */
const turn = fc
  .record({ text, calls: fc.uniqueArray(call, { maxLength: 3, selector: ({ id: own }) => own }) })
  .map((said) => ({ role: 'assistant', ...said }) as const);

type Step =
  | { readonly kind: 'user'; readonly message: Message }
  | {
      readonly kind: 'assistant';
      readonly message: Extract<Message, { role: 'assistant' }>;
      readonly results: readonly Message[];
    };

const user: fc.Arbitrary<Message> = fc
  .record({ text, attachments })
  .map(({ text: written, attachments: files }) => ({ role: 'user', text: written, attachments: files }));

const step: fc.Arbitrary<Step> = fc.oneof(
  user.map((message): Step => ({ kind: 'user', message })),
  fc
    .record({ message: turn, shown: text, is_error: fc.boolean(), files: attachments, reversed: fc.boolean() })
    .map(({ message, shown, is_error, files, reversed }): Step => {
      const results = message.calls.map(({ id: call_id, name: called }): Message => ({
        role: 'tool',
        call_id,
        name: called,
        text: shown,
        is_error,
        attachments: files,
      }));
      return { kind: 'assistant', message, results: reversed ? results.toReversed() : results };
    }),
);

/** What a session may hold: calls are answered, in any order, before the next turn; the window may begin anywhere. */
export const sessionChat: fc.Arbitrary<readonly Message[]> = fc
  .record({ steps: fc.array(step, { maxLength: 7 }), ending: user, cut: fc.nat(3) })
  .map(({ steps, ending, cut }) => [
    ...steps.slice(cut).flatMap((each) => (each.kind === 'user' ? [each.message] : [each.message, ...each.results])),
    ending,
  ]);

/** Anything that has the type: calls without results, results without calls, or twice, or late; ids that come again. */
export const anyChat: fc.Arbitrary<readonly Message[]> = fc
  .tuple(fc.array(step, { maxLength: 7 }), fc.infiniteStream(fc.nat(9)))
  .map(([steps, dice]) =>
    steps
      .flatMap((each) => (each.kind === 'user' ? [each.message] : [each.message, ...each.results]))
      .flatMap((message, index, all) => {
        const cast = dice.next().value ?? 0;
        const later = all[index + 1];
        if (cast === 0) return [];
        if (cast === 1) return [message, message];
        return cast === 2 && later !== undefined ? [later, message] : [message];
      }),
  );

/** Gives the model's turns layouts, some of which do not fit. `item` writes an item of the API. */
export const withLayouts = (
  chat: fc.Arbitrary<readonly Message[]>,
  model: string,
  item: string,
): fc.Arbitrary<readonly Message[]> =>
  fc.tuple(chat, fc.infiniteStream(fc.nat(5)), fc.constantFrom(...MODEL_APIS)).map(([messages, dice, api]) =>
    messages.map((message) => {
      if (message.role !== 'assistant') return message;
      const cast = dice.next().value ?? 0;
      const half = cast === 1 ? 1 : Math.floor(message.text.length / 2);
      const parts: readonly LayoutPart[] = [
        { item },
        { text: half },
        ...message.calls.map((_, index) => ({ call: index })),
        { text: message.text.length - half },
        ...(cast === 2 ? [{ call: message.calls.length }] : []),
      ];
      const layout: ReplyLayout = { api, model: cast === 3 ? 'another-model' : model, parts };
      return cast === 0 ? message : { ...message, layout };
    }),
  );

const tool = (tool_name: string): OfferedTool => ({
  tool_id: brand<'ToolId'>(`t.${tool_name}`),
  tool_ref: brand<'Digest'>('0'.repeat(64)),
  tool_name: brand<'ToolName'>(tool_name),
  description: 'x',
  input_schema: { type: 'object', properties: { path: { type: 'string' } } },
});

/** A request with these messages, with and without tools and instructions. */
export const requestWith = (messages: readonly Message[], model: string): GenerateRequest => ({
  session_id: brand<'SessionId'>('session'),
  run_id: brand<'RunId'>('run'),
  turn: 1,
  provider: 'any',
  model,
  instructions: messages.length % 2 === 0 ? null : 'Be brief.',
  output_tokens_max: null,
  tools: messages.length % 3 === 0 ? [] : [tool('read'), tool('write')],
  messages,
});
