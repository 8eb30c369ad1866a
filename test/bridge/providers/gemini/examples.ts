// Bodies and requests in Gemini's form, for the tests of its dialect.
import { parseExact } from '../../../../bridge/providers/api/exact-json.ts';
import { gemini } from '../../../../bridge/providers/gemini/dialect.ts';
import type { AssistantMessage, GenerateReply, GenerateRequest } from '../../../../bridge/providers/provider.ts';
import { brand } from '../../../../schemas/ids.ts';
import { runSteps } from '../../../../src/core/steps.ts';

export const MODEL = 'gemini-2.5-flash';

export type Part = Readonly<Record<string, unknown>>;

export const bodyOf = (
  parts: readonly Part[],
  candidate: object = { finishReason: 'STOP' },
  more: object = {},
): object => ({
  candidates: [{ content: { role: 'model', parts }, index: 0, ...candidate }],
  modelVersion: MODEL,
  ...more,
});

export const read = (body: unknown): GenerateReply => runSteps(gemini.read(parseExact(JSON.stringify(body))));

/** The turn of a stream of these chunks; null when it has no end marker. */
export function readStream(chunks: readonly unknown[]): GenerateReply | null {
  const fold = gemini.newFold();
  for (const chunk of chunks) fold.add({ name: null, data: JSON.stringify(chunk) });
  const final = runSteps(fold.final());
  return final === null ? null : runSteps(gemini.read(final));
}

export const requestOf = (more: Partial<GenerateRequest>): GenerateRequest => ({
  session_id: brand<'SessionId'>('session'),
  run_id: brand<'RunId'>('run'),
  turn: 1,
  provider: 'gemini',
  model: MODEL,
  instructions: null,
  output_tokens_max: null,
  tools: [],
  messages: [{ role: 'user', text: 'Begin.' }],
  ...more,
});

export interface Content {
  readonly role: string;
  readonly parts: readonly Part[];
}

export interface Body {
  readonly contents: readonly Content[];
  readonly [field: string]: unknown;
}

export function encode(more: Partial<GenerateRequest>, model: string = MODEL): Body {
  const { body } = gemini.encode(requestOf(more), { model, baseUrl: 'https://example.org/v1beta', stream: true });
  return JSON.parse(body) as Body;
}

/** The reply as the message that a later request holds. */
export const messageOf = ({ content = '', calls, layout }: GenerateReply): AssistantMessage => ({
  role: 'assistant',
  text: content,
  calls: calls.map(({ id, name, arguments: args, arguments_text }, index) => ({
    id: id ?? `call-1-${index}`,
    name,
    arguments: arguments_text ?? JSON.stringify(args),
  })),
  ...(layout === undefined ? {} : { layout }),
});

/** The parts of the reply's turn in a later request. */
export const partsBack = (reply: GenerateReply, model: string = MODEL): readonly Part[] =>
  encode({ messages: [{ role: 'user', text: 'Begin.' }, messageOf(reply)] }, model).contents[1]?.parts ?? [];
