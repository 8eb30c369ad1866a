// Recorded HTTP exchanges: each answer decodes as a second reader reads it and goes back as it was, each error is classified.
import { vertexAnthropic } from '../../bridge/providers/anthropic/dialect.ts';
import { type Line, contentDigest, filesBelow, linesOf } from './corpus-files.ts';
import { UNDECODABLE } from './known-undecodable.ts';
import { anthropicCheck } from './providers/anthropic.ts';
import { bedrockCheck } from './providers/bedrock.ts';
import { geminiCheck } from './providers/gemini.ts';
import { openAiChatCheck } from './providers/openai-chat.ts';
import { openAiResponsesCheck } from './providers/openai-responses.ts';
import { type Recording, type RecordingCheck, bodyText, outcomeOf } from './recording.ts';
import type { Section, Tally } from './tally.ts';

export const recordings: Section = {
  name: 'provider-recordings',
  async check(corpora, tally, progress) {
    const paths = filesBelow(corpora, 'provider-recordings').filter((path) => path.endsWith('.jsonl'));
    for (const path of paths) {
      progress(path);
      for (const line of linesOf(corpora, path)) await checkLine(line, tally);
    }
    return paths.length > 0;
  },
};

/** A recording names its API, and where it was sent. */
type Exchange = Recording & { readonly api?: string; readonly urlpath?: string };

const CHECKS: Readonly<Record<string, RecordingCheck>> = {
  'anthropic.messages': anthropicCheck(),
  'bedrock.converse': bedrockCheck,
  'gemini.generateContent': geminiCheck,
  'gemini.streamGenerateContent': geminiCheck,
  'openai.chat_completions': openAiChatCheck,
  'openai.responses': openAiResponsesCheck,
  'vertex.rawPredict': anthropicCheck(vertexAnthropic),
};

async function checkLine({ place, text }: Line, tally: Tally): Promise<void> {
  const exchange = JSON.parse(text) as Exchange;
  tally.count('records');
  const check = checkOf(exchange);
  if (check === undefined) return tally.count('of another API');
  const outcome = await outcomeOf(exchange, check);
  if (outcome.kind === 'error') {
    tally.count('errors classified');
    return tally.count(`errors classified: ${outcome.code}`);
  }
  if (outcome.kind === 'decoded') {
    tally.count('decoded');
    tally.count(`decoded: ${check.dialect.api}`);
    for (const fault of outcome.faults) tally.fail(place, fault);
    return;
  }
  const why = UNDECODABLE.get(exchange.h ?? contentDigest(bodyText(exchange)));
  tally.count(why === undefined ? 'not decoded' : 'not decoded, as known');
  if (why === undefined) tally.fail(place, outcome.reason);
  else tally.note(`${place}: ${why} (${outcome.reason})`);
}

/** Undefined for an exchange with another API, such as OpenAI's threads, whose path also ends in `messages`. */
const checkOf = ({ api = '', urlpath = '' }: Exchange): RecordingCheck | undefined =>
  /\/threads\//.test(urlpath) ? undefined : CHECKS[api];
