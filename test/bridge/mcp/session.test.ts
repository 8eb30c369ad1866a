// MCP tools in a session: an engine, a bridge and real servers together, with a scripted model.
import { expect, test } from 'vitest';
import { combineExecutors } from '../../../bridge/executors/executors.ts';
import { withChangingTools } from '../../../bridge/executors/changing-tools.ts';
import type { BridgeLogLine } from '../../../bridge/log.ts';
import { runBridge } from '../../../bridge/loop.ts';
import type { GenerateRequest, ReplyCall } from '../../../bridge/providers/provider.ts';
import { scriptedProvider } from '../../../bridge/providers/scripted.ts';
import { brand } from '../../../schemas/ids.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { openMemoryBlobs } from '../../../src/blobs/memory-blobs.ts';
import type { EngineClient } from '../../../src/client/client.ts';
import { must, resultsOf, waitForRun } from '../../../src/client/index.ts';
import { systemClock } from '../../../src/clock.ts';
import { startEngine } from '../../../src/engine/engine.ts';
import { openMemoryJournal } from '../../../src/journal/memory-journal.ts';
import { CONSENT_PRESETS } from '../../../src/toolsets/consent-presets.ts';
import { type Opened, open, raw } from '../../support/mcp/opened.ts';

const SESSION = brand<'SessionId'>('s');
const call = (id: string, name: string, args: JsonObject = {}): ReplyCall => ({ id, name, arguments: args });

interface World extends AsyncDisposable {
  readonly client: EngineClient;
  readonly opened: Opened;
  readonly log: BridgeLogLine[];
  readonly asked: GenerateRequest[];
  /** How often the state of a session was read. */
  reads(): number;
  run(number: number): Promise<readonly (readonly [success: boolean, text: string])[]>;
}

async function world(servers: JsonObject, turns: readonly (readonly ReplyCall[])[]): Promise<World> {
  const engine = await must(startEngine({ journal: openMemoryJournal(), blobs: openMemoryBlobs() }));
  const { client } = engine;
  const opened = await open(servers);
  const log: BridgeLogLine[] = [];
  const asked: GenerateRequest[] = [];
  let reads = 0;
  let turn = 0;
  const stop = new AbortController();
  const bridge = runBridge({
    client: {
      ...client,
      session(id) {
        reads += 1;
        return client.session(id);
      },
    },
    owner: brand('bridge'),
    provider: scriptedProvider((request) => {
      asked.push(request);
      const calls = turns[turn];
      turn += 1;
      return calls === undefined || calls.length === 0 ? { content: 'done', calls: [] } : { calls };
    }),
    executors: withChangingTools(combineExecutors([]), opened.mcp.executor),
    toolsets: [opened.mcp.toolsets],
    clock: systemClock,
    random: Math.random,
    log: (line) => log.push(line),
    signal: stop.signal,
  });
  await must(
    client.createSession({
      session_id: SESSION,
      consent: CONSENT_PRESETS.allow_all,
      config: { host_session_open: false },
    }),
  );
  return {
    client,
    opened,
    log,
    asked,
    reads: () => reads,
    async run(number) {
      const run_id = brand<'RunId'>(`run-${number}`);
      await must(client.submit(SESSION, { events: [{ kind: 'RunRequested', input: { text: 'go' } }] }));
      await waitForRun(client, SESSION, run_id);
      const results = await resultsOf(client, SESSION, run_id);
      return results.map(
        ({ status, output }) =>
          [status === 'succeeded', output !== null && 'text' in output ? output.text : ''] as const,
      );
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await bridge;
      await opened[Symbol.asyncDispose]();
      await engine.close();
    },
  };
}

const namesOf = ({ tools }: GenerateRequest): readonly string[] =>
  tools.map(({ tool_name }) => tool_name).filter((name) => name.startsWith('mcp__'));

test('the first turn of a session is offered the tools of a trusted server, and calls them', async () => {
  await using run = await world({ files: raw('plain', '', { trust: 'first' }) }, [
    [call('c1', 'mcp__files__echo', { text: 'hi' })],
  ]);
  expect(await run.run(1)).toEqual([[true, 'echo {"text":"hi"}']]);
  expect(run.asked.map(namesOf)).toEqual([['mcp__files__echo'], ['mcp__files__echo']]);
  const { state } = await must(run.client.session(SESSION));
  expect(state.toolsets).toMatchObject({ 'mcp.files': { owner: 'mcp-test' } });
});

test('what a server has is not offered before an operator has approved it', async () => {
  await using run = await world({ files: raw('plain') }, [[]]);
  await run.run(1);
  expect(run.asked.map(namesOf)).toEqual([[]]);
  const { state } = await must(run.client.session(SESSION));
  const tools = state.toolsets?.['mcp.files']?.tools ?? {};
  expect(Object.keys(tools)).toEqual(['mcp.files.echo']);
  await must(run.client.submit(SESSION, { events: [{ kind: 'ToolsetApproved', toolset: 'mcp.files', tools }] }));
  await run.run(2);
  expect(run.asked.map(namesOf)).toEqual([[], ['mcp__files__echo']]);
});

test('a session that is in step costs no reading, however many turns it takes', async () => {
  const turns = Array.from({ length: 5 }, (_, at) => [call(`c${at}`, 'mcp__files__echo')]);
  await using run = await world({ files: raw('plain', '', { trust: 'first' }) }, turns);
  expect(await run.run(1)).toHaveLength(5);
  // Once to compare, and once for the generate with what was set.
  expect(run.reads()).toBe(2);
  await run.run(2);
  expect(run.reads()).toBe(2);
  expect(run.log.filter(({ event }) => event === 'toolset_set')).toHaveLength(1);
});

test('tools that change while a session lives reach its next turn; a server that goes takes its tools away', async () => {
  await using run = await world({ a: raw('changes', '', { trust: 'first' }) }, [[], [], []]);
  await run.opened.until(() => run.opened.toolsOf('a').length === 2);
  await run.run(1);
  run.opened.configure({ b: raw('plain', '', { trust: 'first' }) });
  await run.opened.until(() => run.opened.toolsOf('b').length === 1);
  await run.run(2);
  expect(run.asked.map(namesOf)).toEqual([['mcp__a__after', 'mcp__a__before'], ['mcp__b__echo']]);
  const { state } = await must(run.client.session(SESSION));
  expect(state.toolsets?.['mcp.a']?.tools).toEqual({});
});

test('a broken server hurts no other, and its calls fail with a code', async () => {
  await using run = await world(
    { bad: raw('dies', '', { trust: 'first' }), good: raw('plain', '', { trust: 'first' }) },
    [[call('c1', 'mcp__bad__echo'), call('c2', 'mcp__good__echo')], []],
  );
  const results = await run.run(1);
  expect(results).toEqual([
    [false, expect.stringContaining('server_unavailable') as string],
    [true, 'echo {}'],
  ]);
});

test('a call that asks waits for the person, and its next attempt brings the answer', async () => {
  await using run = await world({ s: raw('asks_one', '', { trust: 'first' }) }, [[call('c1', 'mcp__s__echo')], []]);
  const ended = run.run(1);
  const isAsked = async (): Promise<string | undefined> => {
    const { state } = await must(run.client.session(SESSION));
    return JSON.stringify(state.active_tool_batch).match(/"question":\{.*?"digest":"(sha256:[0-9a-f]+)"/)?.[1];
  };
  await run.opened.until(() => run.log.some(({ event }) => event === 'call_asked'));
  const question = brand<'Digest'>((await isAsked()) ?? '');
  const { state } = await must(run.client.session(SESSION));
  const batch_id = state.active_tool_batch?.batch_id;
  if (batch_id === undefined) throw new Error('there is no batch');
  const answer = {
    kind: 'user.elicitation_result',
    batch_id,
    call_id: brand<'CallId'>('c1'),
    attempt: 1,
    question,
  } as const;
  await must(run.client.submit(SESSION, { events: [{ ...answer, action: 'accept', content: { city: 'Rome' } }] }));
  expect(await ended).toEqual([[true, 'opaque state: {"c":{"action":"accept","content":{"city":"Rome"}}}']]);
});
