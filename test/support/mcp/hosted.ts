// A host outside, in one process: an engine in memory, a bridge that runs a few tools, and an MCP client on two streams. Time of
// the host's calls is virtual; `passes` lets a batch begin.
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { vi } from 'vitest';
import { Client } from '@modelcontextprotocol/client';
import type { ClientCapabilities, Transport } from '@modelcontextprotocol/client';
import { type CallContext, type Executor, combineExecutors } from '../../../bridge/executors/executors.ts';
import { runBridge } from '../../../bridge/loop.ts';
import { BRIDGE } from '../../../schemas/access.ts';
import type { ConsentPolicy } from '../../../schemas/consent.ts';
import type { Ingress, IngressEvent } from '../../../schemas/event.ts';
import { type SessionId, brand } from '../../../schemas/ids.ts';
import { HOST_UNREAD_BYTES_MAX, HOST_WINDOW_MS } from '../../../schemas/limits.ts';
import type { ToolSpec } from '../../../schemas/tool-spec.ts';
import { openMemoryBlobs } from '../../../src/blobs/memory-blobs.ts';
import { must } from '../../../src/client/must.ts';
import { withAccess } from '../../../src/client/with-access.ts';
import { systemClock } from '../../../src/clock.ts';
import { startEngine } from '../../../src/engine/engine.ts';
import { openMemoryJournal } from '../../../src/journal/memory-journal.ts';
import { type Host, openMcpHost } from '../../../src/mcp/host.ts';
import { serveHost } from '../../../src/mcp/serve-host.ts';
import { CONSENT_PRESETS } from '../../../src/toolsets/consent-presets.ts';
import { type VirtualClock, newVirtualClock } from '../engine/virtual-clock.ts';
import { packageOf } from '../engine/world.ts';
import { tool } from '../tools.ts';

export const LOOK = tool('look', {
  description: 'looks',
  input_schema: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
  mode: 'read',
  read_only: true,
  destructive: false,
  idempotent: true,
  parallelism_hint: { parallel_safe: true },
});
export const COUNT = tool('count', {
  parallelism_hint: { parallel_safe: true },
  output_schema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
});
export const SLOW = tool('slow', { parallelism_hint: { parallel_safe: true } });
const RISKY = tool('risky', { permission_policy: 'always_ask', parallelism_hint: { parallel_safe: true } });
const PERSON = tool('ask_user', {
  executor: { kind: 'custom' },
  ownership: 'custom',
  output_schema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
});
const TOOLS = [LOOK, COUNT, SLOW, RISKY, PERSON];
/** Is there only when the host session is open, which `release` lets it be. */
export const INSIDE = tool('inside', { availability_rules: ['host_session_ready'] });
const OPENS = 'host.session.open';
/** Runs until it is stopped. */
const HALTS = tool('halts', { interrupt_behavior: 'cancel', parallelism_hint: { parallel_safe: true } });
/** Asks a person while it runs, and says what the person said. */
const ASKS = tool('asks', { parallelism_hint: { parallel_safe: true } });
/** Asks twice: each question ends an attempt. */
const ROUNDS = tool('rounds', { parallelism_hint: { parallel_safe: true } });
/** Its result has more data than an event holds. */
const LARGE = tool('large', {
  output_schema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
});
export const MORE_TOOLS = [...TOOLS, HALTS, ASKS, ROUNDS, LARGE];

export interface HostedOptions {
  readonly hostAnswers?: boolean;
  readonly tools?: readonly ToolSpec[];
  readonly consent?: ConsentPolicy;
}

export interface Hosted {
  readonly host: Host;
  readonly clock: VirtualClock;
  /** The arguments of each call that ran, in order. */
  readonly ran: readonly string[];
  /** The events of one kind in the log. */
  readonly recorded: (kind: Ingress['kind']) => Promise<readonly IngressEvent[]>;
  /** Lets the calls of `slow` end. */
  readonly release: () => void;
  /** Lets the batch begin once so many calls wait for one, or for their end. */
  readonly passes: (calls?: number) => Promise<void>;
  connect(options?: ConnectOptions): Promise<Client>;
  /** Serves two streams until the host closes them. */
  serve(input: PassThrough, output: PassThrough, unreadBytesMax?: number): Promise<void>;
  /** A connection that takes bytes, and the messages that come back. */
  raw(): { readonly input: PassThrough; readonly answers: unknown[] };
  /** Another host of the same session, as after a restart of the server. */
  reopened(): Promise<Hosted>;
  close(): Promise<void>;
}

export interface ConnectOptions {
  readonly modern?: boolean;
  readonly capabilities?: ClientCapabilities;
  /** Whether the client comes back by itself to a call that needs input. */
  readonly autoFulfil?: boolean;
  /** Called whenever the server says that the tools have changed. */
  readonly onToolsChanged?: () => void;
}

const KEY = 'k'.repeat(32);

export async function newHosted({ hostAnswers = false, tools = TOOLS, consent }: HostedOptions = {}): Promise<Hosted> {
  const engine = await must(startEngine({ journal: openMemoryJournal(), blobs: openMemoryBlobs() }));
  const ran: string[] = [];
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const stop = new AbortController();
  const bridge = runBridge({
    client: withAccess(engine.client, BRIDGE),
    owner: brand('bridge-1'),
    executors: combineExecutors([executorOf(ran, released)]),
    provider: { generate: () => Promise.reject(new Error('no model is to be asked')) },
    clock: systemClock,
    random: Math.random,
    log: () => undefined,
    signal: stop.signal,
    toolsOnly: true,
  });
  const create = { tool_package: packageOf(tools), consent: consent ?? CONSENT_PRESETS.allow_all };

  async function open(session?: SessionId): Promise<Hosted> {
    const clock = newVirtualClock();
    const host = await openMcpHost({
      client: engine.client,
      clock,
      ...(session === undefined ? { create } : { session }),
    });
    const ends = new AbortController();
    const serve: Hosted['serve'] = (input, output, unreadBytesMax = HOST_UNREAD_BYTES_MAX) =>
      serveHost({ host, clock, key: KEY, hostAnswers, place: '' }, { input, output, unreadBytesMax }, ends.signal);
    return {
      host,
      clock,
      ran,
      recorded: async (kind) => {
        const records = await must(engine.client.records(host.session));
        const events = records.flatMap((record) => (record.kind === 'commit' ? record.events : []));
        return events.filter((event) => event.kind === kind);
      },
      release,
      passes: async (calls = 1) => {
        await vi.waitUntil(() => host.calls.open() >= calls, { timeout: 20_000 });
        await clock.advance(HOST_WINDOW_MS);
      },
      connect: async ({ modern = false, capabilities = {}, autoFulfil = true, onToolsChanged } = {}) => {
        const [up, down] = [new PassThrough(), new PassThrough()];
        void serve(up, down).catch(() => undefined);
        const client = new Client(
          { name: 'test-host', version: '1' },
          {
            capabilities,
            ...(autoFulfil ? {} : { inputRequired: { autoFulfill: false } }),
            ...(onToolsChanged === undefined
              ? {}
              : { listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: onToolsChanged } } }),
            ...(modern ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {}),
          },
        );
        await client.connect(pipeTransport(down, up));
        return client;
      },
      serve,
      raw: () => {
        const [input, output] = [new PassThrough(), new PassThrough()];
        const answers: unknown[] = [];
        createInterface({ input: output }).on('line', (line) => answers.push(JSON.parse(line)));
        void serve(input, output).catch(() => undefined);
        return { input, answers };
      },
      reopened: () => open(host.session),
      close: async () => {
        ends.abort();
        host.close();
        stop.abort();
        release();
        await bridge;
        await engine.close();
      },
    };
  }
  return await open();
}

const executorOf = (ran: string[], released: Promise<void>): Executor => ({
  tools: ['*'],
  resumes: true,
  run: async ({ call_id: _id, tool_id }, args, context) => {
    ran.push(`${tool_id} ${JSON.stringify(args)}`);
    if (tool_id === SLOW.tool_id || tool_id === OPENS) await released;
    if (tool_id === HALTS.tool_id) await aborted(context.signal);
    if (tool_id === ASKS.tool_id) return said(await context.ask?.(question('name')));
    if (tool_id === ROUNDS.tool_id) return nextRound(context.resume);
    if (tool_id === LARGE.tool_id) return { success: true, text: 'large', data: { text: 'x'.repeat(10_000) } };
    if (args['fail'] === true) return { success: false, code: 'broken', text: 'error: broken: it broke' };
    return { success: true, text: `ran ${tool_id}`, ...(tool_id === COUNT.tool_id ? { data: { n: ran.length } } : {}) };
  },
});

const question = (field: string) => ({
  message: `Which ${field}?`,
  schema: { type: 'object', properties: { [field]: { type: 'string' } }, required: [field] },
});

const said = (answer: unknown) => ({ success: true, text: `said ${JSON.stringify(answer)}` });

/** Asks for a name, then for a color; then says both. */
function nextRound(resume: CallContext['resume']) {
  const answers = JSON.parse(resume?.state ?? '[]') as unknown[];
  if (resume?.answer !== undefined) answers.push(resume.answer.content);
  const field = ['name', 'color'][answers.length];
  return field === undefined ? said(answers) : { ask: question(field), state: JSON.stringify(answers) };
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((_resolve, fail) => {
    signal.addEventListener('abort', () => fail(new Error('stopped')), { once: true });
  });

/** The client's end of two streams of JSON lines. */
function pipeTransport(input: PassThrough, output: PassThrough): Transport {
  let rest = '';
  const transport: Transport = {
    start: () => {
      input.setEncoding('utf8').on('data', (text: string) => {
        const lines = (rest + text).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) transport.onmessage?.(JSON.parse(line));
      });
      return Promise.resolve();
    },
    send: (message) => {
      output.write(`${JSON.stringify(message)}\n`);
      return Promise.resolve();
    },
    close: () => {
      output.end();
      transport.onclose?.();
      return Promise.resolve();
    },
  };
  return transport;
}
