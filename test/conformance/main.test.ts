// The command's sections on a small folder made up here: counts, places of failures, and what is not there.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { conform } from './main.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'refold-corpora-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(path: string, ...lines: readonly unknown[]): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), lines.map((line) => JSON.stringify(line)).join('\n'));
}

async function checked(...sections: readonly string[]): Promise<{ readonly ok: boolean; readonly text: string }> {
  const lines: string[] = [];
  const ok = await conform(
    folder,
    sections,
    (line) => lines.push(line),
    () => undefined,
  );
  return { ok, text: lines.join('\n') };
}

const message = (text: string): object => ({
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-4-5',
  content: [{ type: 'text', text }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 2 },
});

test('recordings are counted, and one that does not decode is named by its line', async () => {
  const api = { api: 'anthropic.messages', urlpath: '/v1/messages' };
  write(
    'provider-recordings/mine.jsonl',
    { ...api, status: 200, response: message('Hello') },
    { ...api, status: 401, response: { type: 'error', error: { type: 'authentication_error', message: 'no' } } },
    { ...api, urlpath: '/v1/threads/t/messages', status: 200, response: { object: 'thread.message' } },
    { ...api, status: 200, response: { hello: 1 } },
  );
  const { ok, text } = await checked('provider-recordings');
  expect(ok).toBe(false);
  for (const row of [/records +4\n/, /decoded +1\n/, /provider_auth +1\n/, /of another API +1\n/]) {
    expect(text).toMatch(row);
  }
  expect(text).toMatch(/FAILED provider-recordings\/mine\.jsonl:4: provider_retryable .*\/content/);
});

test('bodies, streams and errors are told apart, and files of other services are listed', async () => {
  const chunk = (delta: object, finish_reason: string | null) => ({
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason }],
  });
  write('vercel-ai-fixtures/a/body.json', message('Hello'));
  write('vercel-ai-fixtures/a/error.json', { error: { message: 'no' } });
  write('vercel-ai-fixtures/a/other.json', { object: 'list', data: [] });
  write('vercel-ai-fixtures/b/whole.chunks.txt', chunk({ content: 'Hi' }, null), chunk({}, 'stop'));
  write('vercel-ai-fixtures/b/cut.chunks.txt', chunk({ content: 'Hi' }, null));
  const { ok, text } = await checked('vercel-ai-fixtures');
  expect(ok).toBe(false);
  for (const row of [/files +5\n/, /answers decoded +2\n/, /openai\.chat +1\n/, /errors +1\n/])
    expect(text).toMatch(row);
  expect(text).toContain('note: vercel-ai-fixtures/a/other.json: of another service');
  expect(text).toMatch(/FAILED vercel-ai-fixtures\/b\/cut\.chunks\.txt: .*end marker/);
});

test('schemas, batches and sessions pass', async () => {
  const call = { id: 'functions.read:0', name: 'read', args: { path: 'a' } };
  const turn = { kind: 'assistant', text_bytes: 3, calls: [call, call], results: [{ content: 'x' }, { content: 'y' }] };
  write(
    'unified/tool-schemas.jsonl',
    { name: 'read', parameters: { type: 'OBJECT', properties: { path: { type: 1 } } } },
    { name: 'broken', parameters: { type: 'strng' } },
  );
  write('unified/batches.jsonl', { calls: [call, { name: 'a.b', python: 'a.b(1)' }, { ...call, id: '' }] });
  write('unified/sessions.jsonl', { turns: [{ kind: 'user', content: 'go' }, turn, turn, { ...turn, calls: [] }] });
  write('tau-bench/one.jsonl', {
    messages: [
      { role: 'user', content: 'go' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c', function: { name: 'read', arguments: '{"path":"a"}' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: 'x' },
    ],
  });
  const { ok, text } = await checked('tool-schemas', 'batches', 'sessions');
  expect(text).toContain('3 sections passed');
  expect(ok).toBe(true);
  for (const row of [/translated types +1\n/, /refused at the edge +1\n/, /planned +3\n/, /sessions +2\n/]) {
    expect(text).toMatch(row);
  }
});

test('a folder without a corpus says so, and an unknown section is refused', async () => {
  expect(await checked('provider-recordings')).toEqual({
    ok: true,
    text: 'provider-recordings: not in this folder\n1 sections passed',
  });
  await expect(checked('everything')).rejects.toThrow('no section everything');
});
