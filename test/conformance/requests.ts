// The requests of a history: whatever it holds, each API gets a conversation that it takes.
import { type Either, left, right } from 'fp-ts/lib/Either.js';
import { renderTranscript } from '../../bridge/generate/transcript.ts';
import { anthropicMessages } from '../../bridge/providers/anthropic/dialect.ts';
import type { Dialect } from '../../bridge/providers/api/dialect.ts';
import { bedrockConverse } from '../../bridge/providers/bedrock/dialect.ts';
import { gemini } from '../../bridge/providers/gemini/dialect.ts';
import { openAiChat } from '../../bridge/providers/openai-chat/dialect.ts';
import { openAiResponses } from '../../bridge/providers/openai-responses/dialect.ts';
import { type GenerateRequest, type Message, ProviderError } from '../../bridge/providers/provider.ts';
import { digestText } from '../../schemas/canonical.ts';
import type { EffectOfKind } from '../../schemas/effect.ts';
import type { NewEvent } from '../../schemas/event.ts';
import type { Digest } from '../../schemas/ids.ts';
import type { ModelApi } from '../../schemas/model-turn.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { SessionState, TranscriptState } from '../../schemas/state.ts';
import { effects } from '../../src/core/index.ts';
import type { Random } from '../../src/testing/random.ts';
import { checkChat } from '../support/providers/chat-laws.ts';
import { recorded } from '../support/session.ts';

export const DIALECTS: readonly Dialect[] = [openAiChat, openAiResponses, anthropicMessages, gemini, bedrockConverse];

/** A model of each API, and one whose turns go back to it without their items. */
export const MODELS: { readonly [api in ModelApi]: readonly [string, string] } = {
  'openai.chat': ['qwen3-32b', 'mistral-large'],
  'openai.responses': ['gpt-5.4', 'o4-mini'],
  'anthropic.messages': ['claude-sonnet-4-5', 'claude-3-haiku-20240307'],
  'gemini.generate_content': ['gemini-2.5-pro', 'gemini-3-flash'],
  'bedrock.converse': ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 'amazon.nova-pro-v1:0'],
};

/** Sealed pages of a history by their digest. */
export type Pages = Map<Digest, Uint8Array>;

export interface RequestsChecked {
  readonly requests: number;
  /** How many of them were of a window without its first pages, or of one whose beginning a summary replaces. */
  readonly shortened: number;
  /** Each begins with the number of the event after which the request was owed. */
  readonly faults: readonly string[];
}

/** Folds the events, and encodes the request of every generate that is owed on the way for all APIs. */
export async function checkRequests(
  start: SessionState,
  events: readonly NewEvent[],
  pages: Pages,
  random: Random,
): Promise<RequestsChecked> {
  const faults: string[] = [];
  let requests = 0;
  let shortened = 0;
  let state = start;
  for (const [index, given] of events.entries()) {
    const { state: next, sealed } = recorded(state, given);
    state = next;
    if (sealed !== null) pages.set(sealed.ref, new TextEncoder().encode(sealed.text));
    const effect = effects(state).find((owed): owed is Generate => owed.kind === 'llm.generate');
    if (effect === undefined) continue;
    for (const transcript of windowsOf(effect.transcript, random)) {
      requests += DIALECTS.length;
      if (transcript.summary !== undefined || transcript !== effect.transcript) shortened += DIALECTS.length;
      const found = await requestFaults({ ...effect, transcript }, pages, random);
      faults.push(...found.map((fault) => `after event ${index + 1}, ${fault}`));
    }
  }
  return { requests, shortened, faults };
}

type Generate = EffectOfKind<'llm.generate'>;

/** The window that is owed, and a shorter one, as if its first pages had been cut off. */
function windowsOf(transcript: TranscriptState, random: Random): readonly TranscriptState[] {
  const { sealed, summary: _summary, ...rest } = transcript;
  if (sealed.length === 0 || !random.oneIn(3)) return [transcript];
  return [transcript, { ...rest, sealed: sealed.slice(1 + random.below(sealed.length)) }];
}

async function requestFaults(effect: Generate, pages: Pages, random: Random): Promise<readonly string[]> {
  const read = (ref: Digest): Promise<Either<Rejection, Uint8Array>> => Promise.resolve(pageOf(pages, ref));
  const rendered = await renderTranscript(effect.transcript, { read });
  if (rendered._tag === 'Left') return [`the transcript cannot be rendered: ${rendered.left.message}`];
  return DIALECTS.flatMap((dialect) => {
    const model = MODELS[dialect.api][random.oneIn(3) ? 1 : 0];
    return encodeFaults(dialect, model, requestOf(effect, rendered.right)).map((fault) => `${dialect.api}: ${fault}`);
  });
}

function pageOf(pages: Pages, ref: Digest): Either<Rejection, Uint8Array> {
  const page = pages.get(ref);
  return page === undefined ? left(reject('unknown_blob', '', `there is no page ${ref}`)) : right(page);
}

const requestOf = (effect: Generate, messages: readonly Message[]): GenerateRequest => ({
  session_id: effect.session_id,
  run_id: effect.run_id,
  turn: effect.turn,
  provider: effect.provider,
  model: effect.model,
  instructions: null,
  output_tokens_max: effect.output_tokens_max,
  tools: effect.tools,
  messages,
});

function encodeFaults(dialect: Dialect, model: string, request: GenerateRequest): readonly string[] {
  try {
    const { body } = dialect.encode(request, { model, baseUrl: 'https://models.test/v1', stream: true });
    return checkChat(dialect.api, body);
  } catch (error) {
    if (error instanceof ProviderError) return [`it is refused: ${error.message}`];
    throw error;
  }
}

/** Adds pages by their texts. */
export function addPages(pages: Pages, texts: readonly string[]): void {
  for (const text of texts) pages.set(digestText(text), new TextEncoder().encode(text));
}
