// Bodies and stream events that providers sent, a file for each: `*.json` is a body, `*.chunks.txt` has the data of one event
// a line. What a file holds is told from its form, because the same folder has the files of several services.
import { anthropicMessages } from '../../bridge/providers/anthropic/dialect.ts';
import type { Dialect, StreamEvent, StreamFold } from '../../bridge/providers/api/dialect.ts';
import {
  type ExactObject,
  exactText,
  isExactObject,
  listIn,
  objectIn,
  parseExact,
  textIn,
} from '../../bridge/providers/api/exact-json.ts';
import { bedrockConverse } from '../../bridge/providers/bedrock/dialect.ts';
import { gemini } from '../../bridge/providers/gemini/dialect.ts';
import { openAiChat } from '../../bridge/providers/openai-chat/dialect.ts';
import { openAiResponses } from '../../bridge/providers/openai-responses/dialect.ts';
import { ProviderError } from '../../bridge/providers/provider.ts';
import { contentDigest, filesBelow, readText } from './corpus-files.ts';
import { UNDECODABLE } from './known-undecodable.ts';
import { jsonOrText } from './recording.ts';
import type { Section, Tally } from './tally.ts';
import { runSteps } from '../../src/core/steps.ts';

export const fixtures: Section = {
  name: 'vercel-ai-fixtures',
  check(corpora, tally, progress) {
    const paths = filesBelow(corpora, 'vercel-ai-fixtures').filter((path) => /\.(?:json|chunks\.txt)$/.test(path));
    for (const path of paths) {
      progress(path);
      tally.count('files');
      const text = readText(corpora, path);
      if (path.endsWith('.json')) checkBody(path, text, tally);
      else checkChunks(path, text, tally);
    }
    return Promise.resolve(paths.length > 0);
  },
};

function checkBody(path: string, text: string, tally: Tally): void {
  const body = parseExact(text);
  const dialect = isExactObject(body) ? dialectOfBody(body) : null;
  if (dialect !== null) return decodes({ path, text }, dialect, tally, () => runSteps(dialect.read(body)));
  if (!isExactObject(body) || body['error'] === undefined) return otherFile(path, tally);
  // The bodies of errors do not name their API; each dialect must find a code for them.
  for (const dialect of DIALECTS) dialect.errorOf(body, 400);
  tally.count('errors');
}

const DIALECTS: readonly Dialect[] = [openAiChat, openAiResponses, anthropicMessages, gemini, bedrockConverse];

function dialectOfBody(body: ExactObject): Dialect | null {
  if (body['object'] === 'response') return openAiResponses;
  if (body['type'] === 'message' && Array.isArray(body['content'])) return anthropicMessages;
  if (isExactObject(objectIn(body['output'])['message'])) return bedrockConverse;
  if (Array.isArray(body['candidates'])) return gemini;
  return isExactObject(objectIn(listIn(body['choices'])[0])['message']) ? openAiChat : null;
}

function dialectOfEvent({ name, data }: StreamEvent): Dialect | null {
  if (name !== null && CONVERSE.test(name)) return bedrockConverse;
  const event = objectIn(jsonOrText(data));
  const type = textIn(event['type']);
  if (type.startsWith('response.')) return openAiResponses;
  if (type === 'message_start') return anthropicMessages;
  if (Array.isArray(event['candidates'])) return gemini;
  return isChatChunk(event) ? openAiChat : null;
}

/** Its first chunk may have no choice yet. */
const isChatChunk = ({ object, choices }: ExactObject): boolean =>
  Array.isArray(choices) && (object === 'chat.completion.chunk' || isExactObject(objectIn(choices[0])['delta']));

/** A file may hold several answers: the next one begins behind the end of the one before. */
function checkChunks(path: string, text: string, tally: Tally): void {
  const events = text.split('\n').flatMap(eventsIn);
  const dialect = events.map(dialectOfEvent).find((each) => each !== null);
  if (dialect === undefined) return otherFile(path, tally);
  const answers: StreamEvent[][] = [];
  let fold: StreamFold | null = null;
  let failed = false;
  for (const event of events) {
    if (fold === null || fold.isClosed()) {
      fold = dialect.newFold();
      failed = false;
      answers.push([]);
    }
    answers.at(-1)?.push(event);
    if (!failed) failed = !isTaken(fold, event);
  }
  for (const answer of answers) {
    if (answer.some(statesError)) {
      if (failsToRead(dialect, answer)) tally.count('errors');
      else tally.fail(path, 'the error in the stream is no failure');
    } else decodes({ path, text }, dialect, tally, () => readAll(dialect, answer));
  }
}

/** The data of a line, some of which stand in a further pair of quotes; Converse's events have their name around the data. */
function eventsIn(line: string): readonly StreamEvent[] {
  const data = line.trim();
  if (data === '') return [];
  const value = objectIn(jsonOrText(data));
  const [name, ...others] = Object.keys(value);
  const isConverse = name !== undefined && others.length === 0 && CONVERSE.test(name);
  return [isConverse ? { name, data: exactText(value[name] ?? {}) } : { name: textIn(value['type']) || null, data }];
}

const CONVERSE = /^(?:messageStart|messageStop|contentBlock(?:Start|Delta|Stop)|metadata)$/;

const statesError = ({ name, data }: StreamEvent): boolean =>
  name === 'error' || name === 'response.failed' || isExactObject(objectIn(jsonOrText(data))['error']);

function failsToRead(dialect: Dialect, answer: readonly StreamEvent[]): boolean {
  try {
    readAll(dialect, answer);
    return false;
  } catch (error) {
    if (error instanceof ProviderError) return true;
    throw error;
  }
}

function isTaken(fold: StreamFold, event: StreamEvent): boolean {
  try {
    fold.add(event);
    return true;
  } catch {
    return false;
  }
}

function readAll(dialect: Dialect, events: readonly StreamEvent[]): void {
  const fold = dialect.newFold();
  for (const event of events) fold.add(event);
  const final = runSteps(fold.final());
  if (final === null) throw new ProviderError('provider_retryable', 'the stream has no end marker');
  runSteps(dialect.read(final));
}

function decodes(
  { path, text }: { path: string; text: string },
  { api }: Dialect,
  tally: Tally,
  read: () => unknown,
): void {
  try {
    read();
    tally.count('answers decoded');
    tally.count(`answers decoded: ${api}`);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    const why = UNDECODABLE.get(contentDigest(text));
    const reason = `${error.code} ${error.message}`;
    if (why === undefined) return tally.fail(path, reason);
    tally.count('not decoded, as known');
    tally.note(`${path}: ${why} (${reason})`);
  }
}

function otherFile(path: string, tally: Tally): void {
  tally.count('of other services');
  tally.note(`${path}: of another service`);
}
