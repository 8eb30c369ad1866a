// Recorded traffic of real servers, checked when the recordings are present.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isRight } from 'fp-ts/lib/Either.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { toObservedCalls } from '../../../../bridge/generate/observed-calls.ts';
import { apiProvider } from '../../../../bridge/providers/api/api-provider.ts';
import { type GenerateReply, ProviderError } from '../../../../bridge/providers/provider.ts';
import { parseJson } from '../../../../schemas/json.ts';
import { ToolCallObserved } from '../../../../schemas/tool-call.ts';
import { type Answer, type ChatServer, chatRequestOf, openChatServer } from '../../../support/bridge/chat-server.ts';

const corpora = fileURLToPath(new URL('../../../../../shared/corpora/', import.meta.url));
const present = existsSync(join(corpora, 'provider-recordings'));
if (!present)
  process.stderr.write(`openai-recordings.test.ts: no recordings at ${corpora}, so nothing is checked here\n`);

interface Exchange {
  readonly h: string;
  readonly status: number;
  readonly content_type: string | null;
  readonly response?: unknown;
  readonly response_text?: string | null;
  readonly request?: { readonly n?: number } | null;
  readonly summary: { readonly n_client_calls?: number; readonly error?: unknown };
}

let server: ChatServer;
beforeAll(async () => {
  server = await openChatServer();
});
afterAll(() => server.close());

async function replay(answer: Answer): Promise<GenerateReply | ProviderError> {
  server.answer(answer);
  const clock = { now: () => 0, after: () => () => undefined };
  const provider = apiProvider({ api: 'openai-chat', baseUrl: server.url, clock });
  try {
    return await provider.generate(chatRequestOf(), new AbortController().signal);
  } catch (error) {
    if (error instanceof ProviderError) return error;
    throw error;
  }
}

const answerOf = ({ status, content_type, response, response_text }: Exchange): Answer => ({
  status,
  ...(content_type === null ? { headers: { 'content-type': '' } } : { headers: { 'content-type': content_type } }),
  ...(response_text === undefined || response_text === null ? { json: response } : { raw: response_text }),
});

const isJsonText = (text: string): boolean => isRight(parseJson(text));

const check = (reply: GenerateReply): void => {
  expect(toObservedCalls(1, reply.calls).filter((call) => !ToolCallObserved.is(call))).toEqual([]);
};

describe.skipIf(!present)('recorded exchanges', () => {
  test.each(present ? ['openai', 'azure', 'compat'] : [])('of %s servers', async (host) => {
    const path = join(corpora, 'provider-recordings', `openai.chat_completions.${host}.jsonl`);
    // One recording is not a completion, but the echo of a test service.
    const lines = readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line !== '' && !line.includes('/bin/content-type/'));
    const wrong: string[] = [];
    for (const line of lines) {
      const exchange = JSON.parse(line) as Exchange;
      const reply = await replay(answerOf(exchange));
      if (reply instanceof ProviderError) {
        if (exchange.status === 200 && exchange.summary.error !== true) wrong.push(`${exchange.h}: ${reply.message}`);
        continue;
      }
      check(reply);
      // The summary counts the calls of all choices; the answer is the first of them.
      const calls = (exchange.summary.n_client_calls ?? 0) / (exchange.request?.n ?? 1);
      if (exchange.status !== 200) wrong.push(`${exchange.h}: status ${exchange.status} was not reported as an error`);
      else if (reply.calls.length !== calls) wrong.push(`${exchange.h}: ${reply.calls.length} calls, not ${calls}`);
    }
    expect(wrong).toEqual([]);
  });

  const fixtures = present ? fixtureFiles(join(corpora, 'vercel-ai-fixtures')) : [];
  test.each(fixtures)('%s', async (path) => {
    const text = readFileSync(join(corpora, 'vercel-ai-fixtures', path), 'utf8');
    const streamed = path.endsWith('.txt');
    const answer: Answer = streamed ? { chunks: text.split('\n').filter((line) => line.trim() !== '') } : { raw: text };
    const reply = await replay(answer);
    const failed = reply instanceof ProviderError;
    expect(failed).toBe(path.includes('error'));
    if (failed) return;
    check(reply);
    expect(reply.calls.length > 0).toBe(path.includes('tool-call'));
    expect(reply.calls.filter(({ name, arguments_text = '{}' }) => name === '' || !isJsonText(arguments_text))).toEqual(
      [],
    );
  });
});

/** Chat completions only: other services of the same providers have other formats. */
function fixtureFiles(folder: string): readonly string[] {
  const of = ['openai/src/chat', 'openai-compatible/src/chat', 'deepseek/src/chat', 'groq/src', 'mistral/src'];
  return of.flatMap((part) =>
    readdirSync(join(folder, part, '__fixtures__'))
      .filter((name) => !name.includes('transcription'))
      .map((name) => join(part, '__fixtures__', name)),
  );
}
