// What a turn of a model says besides its text and calls: why it stopped, and the parts that only its own API understands.
import { type TypeOf, oneOf, shape, text } from './codec.ts';
import { Content } from './content.ts';

/** The APIs that refold speaks. A layout goes back only to the API that it came from. */
export const MODEL_APIS = [
  'openai.chat',
  'openai.responses',
  'anthropic.messages',
  'gemini.generate_content',
  'bedrock.converse',
] as const;
export type ModelApi = (typeof MODEL_APIS)[number];

/**
 * Why the model stopped: `end` (it was done), `calls` (it waits for results), `length` (the limit of output tokens),
 * `refusal`, `filtered` (a content filter of the provider), `paused` (a long turn that goes on when it is sent back) or
 * `other`. `word` is the provider's own.
 */
export const Stop = shape(
  'Stop',
  { reason: oneOf('reason', ['end', 'calls', 'length', 'refusal', 'filtered', 'paused', 'other']) },
  { word: text('word', { max: 64 }) },
);
export type Stop = TypeOf<typeof Stop>;
export type StopReason = Stop['reason'];

/**
 * The parts of the turn in the provider's order, for the API and the model that wrote them. `parts` is JSON: a list of
 * {@link LayoutPart}. State keeps it as it is and never reads it.
 */
export const Layout = shape('Layout', {
  api: oneOf('api', MODEL_APIS),
  model: text('model', { max: 128 }),
  parts: Content,
});
export type Layout = TypeOf<typeof Layout>;

/**
 * A part of a turn. `text`: as many UTF-16 units of the turn's text. `call`: the call with this index. `item`: anything
 * else, as the provider's own JSON text, which is spliced into a request unparsed. `with`: a JSON object with the
 * provider's further fields of a text or a call (a signature, an id, citations).
 */
export type LayoutPart =
  | { readonly text: number; readonly with?: string }
  | { readonly call: number; readonly with?: string }
  | { readonly item: string };
