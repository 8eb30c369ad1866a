// Calls that their host cancels when they are in the log: each ends as the session permits, and no other call with it.
import { afterEach, expect, test, vi } from 'vitest';
import { type Hosted, MORE_TOOLS, newHosted } from '../support/mcp/hosted.ts';

let hosted: Hosted;
afterEach(() => hosted.close());

/** Calls that run, each with what cancels it. */
async function running(names: readonly string[]) {
  hosted = await newHosted({ tools: MORE_TOOLS });
  const client = await hosted.connect();
  const calls = names.map((name) => {
    const stop = new AbortController();
    const called = client.callTool({ name, arguments: {} }, { signal: stop.signal });
    called.catch(() => undefined);
    return { called, cancel: () => stop.abort() };
  });
  await hosted.passes(names.length);
  await vi.waitUntil(() => hosted.ran.length === names.filter((name) => name !== 'risky').length);
  return { client, calls };
}

test('a call that runs is stopped, and the next call begins another run', async () => {
  const { client, calls } = await running(['halts']);
  calls[0]?.cancel();
  await vi.waitUntil(() => hosted.host.state().run === null);
  expect(await hosted.recorded('user.interrupt')).toMatchObject([{ by: 'mcp-host:test-host' }]);
  expect(await hosted.recorded('ToolCallSettled')).toMatchObject([{ outcome: 'cancelled' }]);
  const next = client.callTool({ name: 'look', arguments: { at: 'a' } });
  await hosted.passes();
  expect((await next).isError).toBeUndefined();
});

test('a call beside it goes on; it is stopped once every call of the batch is cancelled', async () => {
  const { calls } = await running(['halts', 'slow', 'halts']);
  calls[0]?.cancel();
  calls[2]?.cancel();
  await vi.waitUntil(() => hosted.host.calls.open() === 3);
  expect(await hosted.recorded('user.interrupt')).toEqual([]);
  hosted.release();
  expect((await calls[1]?.called)?.isError).toBeUndefined();
  await vi.waitUntil(() => hosted.host.state().run === null);
  expect(await hosted.recorded('user.interrupt')).toHaveLength(1);
  expect(hosted.ran).toHaveLength(3);
});

test('a call that waits for a person beside one that runs is denied, and never runs', async () => {
  const { calls } = await running(['slow', 'risky']);
  // It is told at once that a person is asked, so that there is nothing to cancel but the call itself.
  expect((await calls[1]?.called)?.isError).toBe(true);
  const [, waiting] = hosted.host.state().active_tool_batch?.observed ?? [];
  await hosted.host.calls.cancel(waiting?.call_id ?? expect.fail('no second call'), 'mcp-host:test-host');
  expect(await hosted.recorded('user.tool_confirmation')).toMatchObject([{ result: 'deny', by: 'mcp-host:test-host' }]);
  hosted.release();
  expect((await calls[0]?.called)?.isError).toBeUndefined();
  expect(hosted.ran).toEqual(['slow {}']);
});

test('foreign ids cancel nothing, and an ended call stays as it is', async () => {
  const { client, calls } = await running(['slow']);
  const { version } = hosted.host.state();
  for (const requestId of ['x', 999, '__proto__', -1]) {
    await client.notification({ method: 'notifications/cancelled', params: { requestId } });
    await client.notification({ method: 'notifications/progress', params: { progressToken: requestId, progress: 1 } });
  }
  await client.ping();
  expect(hosted.host.state().version).toBe(version);
  hosted.release();
  expect((await calls[0]?.called)?.isError).toBeUndefined();
  calls[0]?.cancel();
  await client.ping();
  expect(await hosted.recorded('user.interrupt')).toEqual([]);
});
