// `refold run` against an OpenAI-compatible server: a simulated model on loopback.
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freshDirectory, refold, refoldBuilt, refoldProcess } from '../support/e2e/refold.ts';

interface Asked {
  readonly authorization: string | undefined;
  readonly body: {
    readonly model: string;
    readonly tools: readonly { function: { name: string } }[];
    readonly messages: readonly { role: string; content: unknown; tool_call_id?: string }[];
  };
}

const asked: Asked[] = [];
let server: Server;
let baseUrl: string;

const call = (id: string, name: string, args: object) => ({
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(args) },
});

const ANSWERS = [
  { content: null, tool_calls: [call('r', 'read_file', { path: 'a.txt' })] },
  {
    content: null,
    tool_calls: [call('w', 'write_file', { path: 'b.txt', text: 'copied\n' }), call('e', 'exists', { path: 'b.txt' })],
  },
  { content: 'Copied.' },
  { content: 'Again.' },
];

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = JSON.parse(await textOf(request)) as Asked['body'];
  asked.push({ authorization: request.headers.authorization, body });
  const message = { role: 'assistant', ...ANSWERS[asked.length - 1] };
  const choices = [{ index: 0, message, finish_reason: 'stop' }];
  const usage = { prompt_tokens: 7, completion_tokens: 3 };
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ id: 'x', object: 'chat.completion', choices, usage }));
}

beforeAll(async () => {
  server = createServer((request, response) => {
    void answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

test('a live model works in a workspace until the run ends, and receives every result', async () => {
  const workspace = await freshDirectory(true);
  await writeFile(join(workspace, 'a.txt'), 'copied\n');
  const data = join(await freshDirectory(), 'data');
  const args = [
    'run',
    'copy a.txt to b.txt',
    '--workspace',
    workspace,
    '--data-dir',
    data,
    '--base-url',
    baseUrl,
    '--model',
    'played',
  ];
  const { code, stdout, stderr } = await refoldProcess(args, { OPENAI_API_KEY: 'sk-canary-31415926535' });
  expect(stderr).toBe('');
  expect(stdout).toContain('run-1 completed');
  expect(code).toBe(0);
  expect(await readFile(join(workspace, 'b.txt'), 'utf8')).toBe('copied\n');
  expect(asked.map(({ authorization }) => authorization)).toEqual(Array(3).fill('Bearer sk-canary-31415926535'));
  expect(asked[0]?.body.model).toBe('played');
  expect(asked[0]?.body.tools.map((tool) => tool.function.name)).toContain('apply_patch');
  const results = asked[2]?.body.messages.filter((message) => message.role === 'tool');
  expect(results?.map((message) => message.tool_call_id)).toEqual(['r', 'w', 'e']);
  expect(stdout).not.toContain('sk-canary');
  const id = String(/session (s-\S+)/.exec(stdout)?.[1]);
  const again = ['run', 'again', '--session', id, '--workspace', workspace, '--data-dir', data, '--base-url', baseUrl];
  expect(await refoldBuilt(again)).toMatchObject({ code: 0 });
  // The command named no model, so the session's model is used.
  expect(asked[3]?.body.model).toBe('played');
  const { stdout: exported } = await refold(['events', '--json', id, '--data-dir', data]);
  expect(exported).toContain('Copied.');
  expect(exported).not.toContain('sk-canary');
});
