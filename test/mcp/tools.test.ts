// What a host lists and calls, over the client of the SDK, in the old protocol and in the new one.
import { ProtocolError } from '@modelcontextprotocol/client';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { EventOfKind } from '../../schemas/event.ts';
import { brand } from '../../schemas/ids.ts';
import { must } from '../../src/client/must.ts';
import { HOST_CALLS_WAITING_MAX, HOST_OPENING_MS } from '../../schemas/limits.ts';
import { COUNT, INSIDE, LOOK, MORE_TOOLS, SLOW, type Hosted, newHosted } from '../support/mcp/hosted.ts';

let hosted: Hosted;
afterEach(() => hosted.close());

const look = (at: string) => ({ name: 'look', arguments: { at } });

/** The ids of the batches of the session so far, with the number of calls of each. */
async function batches(): Promise<readonly number[]> {
  const { client, session } = hosted.host;
  const records = await must(client.records(session));
  const events = records.flatMap((record) => (record.kind === 'commit' ? record.events : []));
  return events.flatMap((event) => (event.kind === 'ToolCallsObserved' ? [event.calls.length] : []));
}

describe.each([false, true])('modern: %s', (modern) => {
  test('the effective tools are listed as their specs say', async () => {
    hosted = await newHosted();
    const { tools } = await (await hosted.connect({ modern })).listTools();
    expect(tools.map(({ name }) => name)).toEqual(['look', 'count', 'slow', 'risky', 'ask_user']);
    const annotations = { readOnlyHint: true, destructiveHint: false, idempotentHint: true };
    expect(tools[0]).toMatchObject({ description: 'looks', inputSchema: LOOK.input_schema, annotations });
    expect(tools[1]?.outputSchema).toEqual(COUNT.output_schema);
  });

  test('the list, and a call, wait until the host session is open', async () => {
    hosted = await newHosted({ tools: [LOOK, INSIDE] });
    const client = await hosted.connect({ modern });
    const listed = client.listTools();
    const called = client.callTool({ name: 'inside', arguments: {} });
    await vi.waitUntil(() => hosted.ran.length === 1);
    expect(hosted.host.state().run?.phase).toBe('opening');
    hosted.release();
    expect((await listed).tools.map(({ name }) => name)).toEqual(['look', 'inside']);
    await hosted.passes();
    expect(await called).toMatchObject({ content: [{ type: 'text', text: 'ran inside' }] });
  });

  test('a host session that is not opened in time leaves the tools that are there', async () => {
    hosted = await newHosted({ tools: [LOOK, INSIDE] });
    const client = await hosted.connect({ modern });
    const listed = client.listTools();
    await vi.waitUntil(() => hosted.ran.length === 1);
    await hosted.clock.advance(HOST_OPENING_MS);
    expect((await listed).tools.map(({ name }) => name)).toEqual(['look']);
  });

  test('a call runs on the bridge, and its result is what the log says', async () => {
    hosted = await newHosted();
    const client = await hosted.connect({ modern });
    const called = client.callTool({ name: 'count', arguments: { a: 1 } });
    await hosted.passes();
    expect(await called).toMatchObject({ content: [{ type: 'text', text: 'ran count' }], structuredContent: { n: 1 } });
    expect((await called).isError).toBeUndefined();
    expect(hosted.ran).toEqual(['count {"a":1}']);
    expect(hosted.host.state().run?.config.provider).toBe('external');
  });

  test('data that is too long for its event comes with the result, and fits the schema of the tool', async () => {
    hosted = await newHosted({ tools: MORE_TOOLS });
    const client = await hosted.connect({ modern });
    const called = client.callTool({ name: 'large', arguments: {} });
    await hosted.passes();
    expect(await called).toMatchObject({ structuredContent: { text: 'x'.repeat(10_000) } });
    const [{ result, data_ref, output_verdict } = expect.fail('no settlement')] = (await hosted.recorded(
      'ToolCallSettled',
    )) as readonly EventOfKind<'ToolCallSettled'>[];
    expect({ data: result.data, data_ref, output_verdict }).toMatchObject({
      data: undefined,
      data_ref: { bytes: 10_011 },
      output_verdict: { valid: true },
    });
  });

  test('a failure, and arguments that do not fit the schema, are results that say so', async () => {
    hosted = await newHosted();
    const client = await hosted.connect({ modern });
    const failing = client.callTool({ name: 'count', arguments: { fail: true } });
    const unfit = client.callTool({ name: 'look', arguments: { at: 7 } });
    await hosted.passes(2);
    expect(await failing).toMatchObject({ isError: true, content: [{ text: 'error: broken: it broke' }] });
    expect(await unfit).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('/at') as string }] });
    expect(hosted.ran).toHaveLength(1);
  });

  test('an unknown tool is an error of the protocol, and nothing is recorded', async () => {
    hosted = await newHosted();
    const client = await hosted.connect({ modern });
    const { version } = hosted.host.state();
    const refused = client.callTool({ name: 'nothing', arguments: {} });
    await expect(refused).rejects.toThrow(ProtocolError);
    await expect(refused).rejects.toThrow('there is no tool "nothing"; list the tools again');
    expect(hosted.host.state().version).toBe(version);
  });

  test('the host is told when the tools change, and then lists and calls those that are left', async () => {
    hosted = await newHosted();
    let told = 0;
    const client = await hosted.connect({ modern, onToolsChanged: () => (told += 1) });
    const { host } = hosted;
    const disable = [COUNT.tool_id];
    await host.submit({ kind: 'ToolOverridesSet', scope: 'session', disable });
    await vi.waitUntil(() => told > 0);
    expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain('count');
    await expect(client.callTool({ name: 'count', arguments: {} })).rejects.toThrow(
      'there is no tool "count"; list the tools again',
    );
  });
});

describe('batches', () => {
  test('calls within the window are one batch; a later one is the next', async () => {
    hosted = await newHosted();
    const client = await hosted.connect();
    const first = [client.callTool(look('a')), client.callTool(look('b'))];
    await hosted.passes(2);
    await Promise.all(first);
    const later = client.callTool(look('c'));
    await hosted.passes();
    await later;
    expect(await batches()).toEqual([2, 1]);
  });

  test('calls that come while a batch runs are one batch after it', async () => {
    hosted = await newHosted();
    const client = await hosted.connect();
    const slow = client.callTool({ name: 'slow', arguments: {} });
    await hosted.passes();
    await vi.waitUntil(() => hosted.ran.length === 1);
    const rest = [client.callTool(look('a')), client.callTool(look('b'))];
    await vi.waitUntil(() => hosted.host.calls.open() === 3);
    expect(await batches()).toEqual([1]);
    hosted.release();
    await Promise.all([slow, ...rest]);
    expect(await batches()).toEqual([1, 2]);
    expect(hosted.ran[0]).toBe(`${SLOW.tool_id} {}`);
  });

  test('a call that is cancelled before its batch begins is never made', async () => {
    hosted = await newHosted();
    const client = await hosted.connect();
    const stop = new AbortController();
    const called = client.callTool(look('a'), { signal: stop.signal });
    const kept = client.callTool(look('b'));
    await vi.waitUntil(() => hosted.host.calls.open() === 2);
    stop.abort();
    await expect(called).rejects.toThrow('This operation was aborted');
    await vi.waitUntil(() => hosted.host.calls.open() === 1);
    await hosted.passes();
    await kept;
    expect(hosted.ran).toEqual(['look {"at":"b"}']);
  });

  test('more calls than may wait are refused, and the others run', async () => {
    hosted = await newHosted();
    const { calls } = hosted.host;
    const made = Array.from({ length: HOST_CALLS_WAITING_MAX + 1 }, (_, n) => calls.call('look', { at: `${n}` }));
    await hosted.passes(HOST_CALLS_WAITING_MAX);
    const answers = await Promise.all(made);
    expect(answers.at(-1)).toMatchObject({ kind: 'refused', code: 'queue_full' });
    expect(answers.filter(({ kind }) => kind === 'ended')).toHaveLength(HOST_CALLS_WAITING_MAX);
  });

  test('a run that has ended is followed by the next, and calls in a run of a model are refused', async () => {
    hosted = await newHosted();
    const { host } = hosted;
    const call = async () => {
      const made = host.calls.call('look', { at: 'a' });
      await hosted.passes();
      return await made;
    };
    await call();
    await host.submit({ kind: 'user.interrupt', run_id: brand('run-1'), by: 'me' });
    await vi.waitUntil(() => host.state().run === null);
    expect(await call()).toMatchObject({ kind: 'ended' });
    expect(host.state().runs_started).toBe(2);
    await host.submit({ kind: 'RunCancelled', run_id: brand('run-2') });
    const run_overrides = { provider: 'openai', model: 'm', host_session_open: false };
    await host.submit({ kind: 'RunRequested', input: { text: 'go' }, run_overrides });
    await vi.waitUntil(() => host.state().run?.config.provider === 'openai');
    expect(await call()).toMatchObject({ kind: 'refused', code: 'wrong_phase' });
  });
});

test('progress follows the log: received, recorded, running, ended', async () => {
  hosted = await newHosted();
  const client = await hosted.connect();
  const seen: (string | undefined)[] = [];
  const onprogress = ({ message }: { readonly message?: string | undefined }): number => seen.push(message);
  const called = client.callTool({ name: 'count', arguments: {} }, { onprogress });
  await hosted.passes();
  await called;
  expect(seen).toEqual(['received', 'recorded', 'running', 'ended']);
});

test('state and timeline are read as they are; other names are refused', async () => {
  hosted = await newHosted();
  const client = await hosted.connect();
  const { session } = hosted.host;
  const { resources } = await client.listResources();
  expect(resources.map(({ uri }) => uri)).toEqual([
    `refold://session/${session}/state`,
    `refold://session/${session}/timeline`,
  ]);
  const called = client.callTool(look('a'));
  await hosted.passes();
  await called;
  const read = async (name: string) => {
    const { contents } = await client.readResource({ uri: `refold://session/${session}/${name}` });
    return JSON.parse((contents[0] as { readonly text: string }).text) as Readonly<Record<string, unknown>>;
  };
  const { state, state_digest } = await must(hosted.host.client.session(session));
  expect(await read('state')).toEqual({ state, state_digest });
  const bytes = Uint8Array.of(0xff, 0, 1);
  const ref = await must(hosted.host.client.putBlob(bytes));
  const blob = Buffer.from(bytes).toString('base64');
  const file = { uri: `refold://blob/${ref}`, mimeType: 'application/octet-stream', blob };
  expect(await client.readResource({ uri: file.uri })).toMatchObject({ contents: [file] });
  for (const uri of [`refold://blob/sha256:${'0'.repeat(64)}`, 'refold://blob/', `${file.uri}/..`]) {
    await expect(client.readResource({ uri })).rejects.toThrow(ProtocolError);
  }
  expect(await read('timeline')).toMatchObject({ session, turns: [{ turn: 1, calls: [{ status: 'succeeded' }] }] });
  await expect(read('../other/state')).rejects.toThrow(
    `there is no resource refold://session/${session}/../other/state.`,
  );
  await expect(client.readResource({ uri: 'file:///etc/passwd' })).rejects.toThrow(
    'there is no resource file:///etc/passwd.',
  );
});
