// What a turn of a model says besides its text and calls: why it stopped, and the parts that only its own API understands.
import { type TypeOf, flag, integer, oneOf, shape, text } from './codec.ts';
import { Content } from './content.ts';
import { Digest } from './ids.ts';

/** The APIs that refold speaks. */
export const MODEL_APIS = [
  'openai.chat',
  'openai.responses',
  'anthropic.messages',
  'gemini.generate_content',
  'bedrock.converse',
] as const;
export type ModelApi = (typeof MODEL_APIS)[number];

/** What writes layouts: the APIs, and the model interfaces of frameworks whose loops run on refold. A layout goes back only there. */
export const LAYOUT_APIS = [
  ...MODEL_APIS,
  'ai_sdk.language_model',
  'langchain.chat_model',
  'openai_agents.model',
] as const;
export type LayoutApi = (typeof LAYOUT_APIS)[number];

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
  api: oneOf('api', LAYOUT_APIS),
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

/** What a request was written for, beside the conversation: enough to write the same bytes again. */
export const ExchangeTarget = shape('ExchangeTarget', {
  model: text('model', { min: 1, max: 256 }),
  base_url: text('base_url', { min: 1, max: 2_048 }),
  stream: flag,
});
export type ExchangeTarget = TypeOf<typeof ExchangeTarget>;

/**
 * What went over the wire for one answer of a model, as evidence: the fold ignores it. `encoder` names what wrote the
 * request, with its version; `request` is the digest of the exact body. `response` is a blob with the bytes as received; it
 * was stored without waiting for the disk, so that it may be absent. `keep_turns`: after so many further turns of the
 * session the blob may be collected. The flags say that a secret was cut out: of the request before it was sent, of the
 * response before it was stored (then the response is not stored at all when the secret came in pieces).
 */
export const Exchange = shape(
  'Exchange',
  { encoder: text('encoder', { max: 64, pattern: /^[a-z][a-z0-9_.-]*\/[1-9][0-9]{0,5}$/ }), request: Digest },
  {
    target: ExchangeTarget,
    request_redacted: flag,
    response: Digest,
    response_bytes: integer('response_bytes', 0),
    response_redacted: flag,
    keep_turns: integer('keep_turns', 1),
  },
);
export type Exchange = TypeOf<typeof Exchange>;
