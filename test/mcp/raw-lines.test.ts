// What comes as bytes on standard input: messages, and everything else, which gets an error or nothing, and never ends the server.
import { PassThrough } from 'node:stream';
import * as fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { HOST_CALLS_WAITING_MAX, HOST_LINE_BYTES_MAX, HOST_UNREAD_BYTES_MAX } from '../../schemas/limits.ts';
import { newLineReader } from '../../src/mcp/line-transport.ts';
import { type Hosted, newHosted } from '../support/mcp/hosted.ts';

let hosted: Hosted;
afterEach(() => hosted?.close());

interface Answer {
  readonly id: string | number | null;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A connection that takes bytes, and the messages that came back. */
async function connection() {
  hosted = await newHosted();
  return connectionOf(hosted);
}

function connectionOf(served: Hosted) {
  const { input, answers } = served.raw();
  const send = (...values: readonly unknown[]): void => {
    for (const value of values) input.write(`${typeof value === 'string' ? value : JSON.stringify(value)}\n`);
  };
  const next = async (count: number): Promise<readonly Answer[]> => {
    await vi.waitUntil(() => answers.length >= count, { timeout: 20_000 });
    return answers as readonly Answer[];
  };
  return { input, send, next, answers };
}

const request = (id: string | number, method: string, params: object = {}) => ({ jsonrpc: '2.0', id, method, params });
const HELLO = request('hello', 'initialize', {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'raw', version: '1' },
});
const PING = request('ping', 'ping');

/** Each line, and the code of the error it gets; null for a line that gets none. */
const GARBAGE: readonly (readonly [name: string, line: string, code: number | null])[] = [
  ['no JSON', 'hello', -32_700],
  ['half of a message', '{"jsonrpc":"2.0","id":1', -32_700],
  ['a key twice', '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32_700],
  ['deep nesting', `${'['.repeat(10_000)}${']'.repeat(10_000)}`, -32_700],
  ['bytes that are no UTF-8 as text', '\uFFFD\uFFFD', -32_700],
  ['a number that is none', '{"jsonrpc":"2.0","id":NaN,"method":"ping"}', -32_700],
  ['a string', '"ping"', -32_600],
  ['null', 'null', -32_600],
  ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32_600],
  ['an empty object', '{}', -32_600],
  ['another version', '{"jsonrpc":"1.0","id":1,"method":"ping"}', -32_600],
  ['an id that is an object', '{"jsonrpc":"2.0","id":{},"method":"ping"}', -32_600],
  ['a method that is a number', '{"jsonrpc":"2.0","id":1,"method":7}', -32_600],
  ['an unknown method', '{"jsonrpc":"2.0","id":"x","method":"no/such"}', -32_601],
  ['a call without a name', '{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{}}', -32_602],
  [
    'a call with a list',
    '{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"look","arguments":[]}}',
    -32_602,
  ],
  ['a call of __proto__', '{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"__proto__"}}', -32_602],
  ['an unknown notification', '{"jsonrpc":"2.0","method":"notifications/no_such"}', null],
  [
    'a cancelled request that is unknown',
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}',
    null,
  ],
  ['a response to nothing', '{"jsonrpc":"2.0","id":77,"result":{}}', null],
  ['an empty line', '', null],
  ['blanks', ' \t \r', null],
];

test.each(GARBAGE)('%s', async (_name, line, code) => {
  const { send, next, answers } = await connection();
  send(HELLO);
  await next(1);
  send(line, PING);
  await vi.waitUntil(() => (answers as readonly Answer[]).some(({ id }) => id === 'ping'));
  const errors = (await next(2)).flatMap(({ error }) => (error === undefined ? [] : [error.code]));
  expect(errors).toEqual(code === null ? [] : [code]);
});

test('a line beyond the limit is skipped to its end, in chunks of any size', async () => {
  const { input, send, next } = await connection();
  send(HELLO);
  await next(1);
  for (let sent = 0; sent <= HOST_LINE_BYTES_MAX; sent += 65_536) input.write('x'.repeat(65_536));
  input.write('\n');
  send(PING);
  const answers = await next(3);
  expect(answers[1]?.error).toMatchObject({ code: -32_600, message: expect.stringContaining('skipped') as string });
  expect(answers[2]).toMatchObject({ id: 'ping', result: {} });
});

test('an id that is in use is refused, and may be used again once it is answered', async () => {
  const { send, next } = await connection();
  send(HELLO);
  await next(1);
  const call = request(5, 'tools/call', { name: 'slow', arguments: {} });
  send(call, call);
  expect((await next(2))[1]).toMatchObject({ id: 5, error: { code: -32_600 } });
  await hosted.passes();
  hosted.release();
  expect((await next(3))[2]).toMatchObject({ id: 5, result: {} });
  send(request(5, 'ping'));
  expect((await next(4))[3]).toMatchObject({ id: 5, result: {} });
  expect(hosted.ran).toHaveLength(1);
});

test('requests beyond the limit are refused, and the others are answered', async () => {
  const { send, next } = await connection();
  send(HELLO);
  await next(1);
  for (let id = 0; id <= HOST_CALLS_WAITING_MAX; id += 1) {
    send(request(id, 'tools/call', { name: 'look', arguments: { at: 'a' } }));
  }
  expect((await next(2))[1]?.error?.code).toBe(-32_000);
  await hosted.passes(HOST_CALLS_WAITING_MAX);
  expect(await next(HOST_CALLS_WAITING_MAX + 2)).toHaveLength(HOST_CALLS_WAITING_MAX + 2);
});

test('a host that goes in the middle of a call leaves the call to its end', async () => {
  const { input, send, next } = await connection();
  send(HELLO);
  await next(1);
  send(request(1, 'tools/call', { name: 'slow', arguments: {} }));
  await hosted.passes();
  await vi.waitUntil(() => hosted.ran.length === 1);
  input.end();
  hosted.release();
  const { host } = hosted;
  await vi.waitUntil(() => host.state().run?.turn === 2);
  expect(host.state().run?.phase).toBe('generating');
  expect(hosted.ran).toHaveLength(1);
});

describe('lines', () => {
  const max = 16;
  const bytes = (text: string) => new TextEncoder().encode(text);

  test('are the same whole and in any pieces', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: fc.constantFrom('a', 'é', '\n') })), fc.nat(7), (texts, step) => {
        const all = bytes(texts.join(''));
        const whole = newLineReader(max)(all);
        const reader = newLineReader(max);
        const pieces = Array.from({ length: Math.ceil(all.length / (step + 1)) }, (_, n) =>
          reader(all.subarray(n * (step + 1), (n + 1) * (step + 1))),
        ).flat();
        const shown = (lines: readonly (Uint8Array | null)[]) =>
          lines.map((line) => (line === null ? null : Buffer.from(line).toString('hex')));
        expect(shown(pieces)).toEqual(shown(whole));
      }),
    );
  });

  test('keep no more than the limit', () => {
    const reader = newLineReader(max);
    expect(reader(bytes('x'.repeat(max)))).toEqual([]);
    expect(reader(bytes('x'))).toEqual([null]);
    expect(reader(bytes('yyyy\nz\n')).map((line) => Buffer.from(line ?? []).toString())).toEqual(['z']);
  });
});

test('a host that does not read is not read from until it reads', async () => {
  hosted = await newHosted();
  const input = new PassThrough();
  const output = new PassThrough({ highWaterMark: 1_024 });
  const served = hosted.serve(input, output);
  input.write(`${JSON.stringify(HELLO)}\n`);
  for (let id = 0; id < 100; id += 1) input.write(`${JSON.stringify(request(id, 'tools/list'))}\n`);
  await vi.waitUntil(() => input.isPaused());
  expect(output.writableLength + output.readableLength).toBeLessThan(HOST_UNREAD_BYTES_MAX);
  output.resume();
  await vi.waitUntil(() => !input.isPaused());
  input.end();
  await expect(served).resolves.toBeUndefined();
});

test('once too much waits for a host that does not read, its connection ends, and its session goes on', async () => {
  hosted = await newHosted();
  const [input, output] = [new PassThrough(), new PassThrough({ highWaterMark: 1_024 })];
  const unreadBytesMax = 16_384;
  const served = hosted.serve(input, output, unreadBytesMax);
  const lists = Array.from({ length: 100 }, (_, id) => JSON.stringify(request(id, 'tools/list')));
  input.write([JSON.stringify(HELLO), ...lists, ''].join('\n'));
  await expect(served).resolves.toBeUndefined();
  expect(output.writableLength).toBeGreaterThan(unreadBytesMax);
  const held = output.writableLength;
  input.write(`${lists.join('\n')}\n`);
  const { send, next } = connectionOf(hosted);
  send(HELLO, PING);
  expect(await next(2)).toMatchObject([{ id: 'hello' }, { id: 'ping', result: {} }]);
  expect(output.writableLength).toBe(held);
});

test('a stream that ends at once ends the server', async () => {
  hosted = await newHosted();
  const input = new PassThrough();
  const served = hosted.serve(input, new PassThrough());
  input.end();
  await expect(served).resolves.toBeUndefined();
});
