// Calls that last are tasks, in the extension of 2026-07-28 and in the form of 2025-11-25: as lines of JSON, because the client of
// the SDK takes no tasks.
import { afterEach, describe, expect, test, vi } from 'vitest';
import { HOST_TASK_AFTER_MS } from '../../schemas/limits.ts';
import { denying } from '../../src/core/answers.ts';
import { requiredActions } from '../../src/core/status.ts';
import { type Hosted, type HostedOptions, MORE_TOOLS, newHosted } from '../support/mcp/hosted.ts';

let hosted: Hosted;
const before: Hosted[] = [];
afterEach(async () => {
  for (const each of [...before.splice(0), hosted]) await each.close();
});

type Fields = Readonly<Record<string, unknown>>;

interface Answer {
  readonly id: string | number;
  readonly method?: string;
  readonly params?: Fields;
  readonly result?: Fields;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

const start = async (options: HostedOptions = {}) => (hosted = await newHosted({ tools: MORE_TOOLS, ...options }));

interface HostOptions {
  readonly modern?: boolean;
  /** What the host can do, beside taking tasks. */
  readonly capabilities?: Fields;
  readonly takesTasks?: boolean;
}

/** A host that sends lines of JSON. */
function host({ modern = true, capabilities = {}, takesTasks = true }: HostOptions = {}) {
  const { input, answers } = hosted.raw();
  const clientCapabilities = { ...capabilities, extensions: takesTasks ? { 'io.modelcontextprotocol/tasks': {} } : {} };
  const said = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': clientCapabilities,
  };
  const write = (message: object): void => void input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  let last = 0;
  async function request(method: string, params: Fields = {}): Promise<Answer> {
    const id = (last += 1);
    write({ id, method, params: modern ? { ...params, _meta: said } : params });
    return await vi.waitUntil(
      () => (answers as readonly Answer[]).find((answer) => answer.id === id && answer.method === undefined),
      { timeout: 20_000 },
    );
  }
  const result = async (method: string, params?: Fields): Promise<Fields> => {
    const answer = await request(method, params);
    return answer.result ?? expect.fail(JSON.stringify(answer.error));
  };
  return {
    answers: answers as readonly Answer[],
    write,
    request,
    result,
    get: (taskId: unknown) => result('tasks/get', { taskId }),
    until: async (taskId: unknown, status: string): Promise<Fields> => {
      let task: Fields = {};
      await vi.waitUntil(async () => (task = await result('tasks/get', { taskId }))['status'] === status, {
        timeout: 20_000,
      });
      return task;
    },
    hello: () =>
      result('initialize', {
        protocolVersion: '2025-11-25',
        capabilities,
        clientInfo: { name: 'raw', version: '1' },
      }),
  };
}

type RawHost = ReturnType<typeof host>;

/** Makes a call that runs when this resolves, and lets time pass until it is a task. */
async function taskOf(raw: RawHost, name: string): Promise<Fields> {
  const ran = hosted.ran.length;
  const called = raw.result('tools/call', { name, arguments: {} });
  await hosted.passes();
  await vi.waitUntil(() => hosted.ran.length > ran);
  await hosted.clock.advance(HOST_TASK_AFTER_MS);
  return await called;
}

const FORMS = { elicitation: { form: {} } };
const TEXT = (text: string) => ({ content: [{ type: 'text', text }] });

describe('in 2026-07-28', () => {
  test('a call that lasts is a task; its result is in tasks/get', async () => {
    await start();
    const raw = host();
    const task = await taskOf(raw, 'slow');
    expect(task).toMatchObject({ resultType: 'task', status: 'working', ttlMs: null, pollIntervalMs: 500 });
    expect(task).not.toHaveProperty('result');
    expect(new Date(task['createdAt'] as string).getTime()).toBeLessThanOrEqual(hosted.host.state().updated_at_ms);
    expect(await raw.get(task['taskId'])).toMatchObject({ resultType: 'complete', status: 'working' });
    hosted.release();
    const done = await raw.until(task['taskId'], 'completed');
    expect(done).toMatchObject({ createdAt: task['createdAt'], result: TEXT('ran slow') });
    expect(hosted.ran).toEqual(['slow {}']);
  });

  test('a call that ends in time has its result; a host that takes no tasks waits for it', async () => {
    await start();
    const raw = host();
    const quick = raw.result('tools/call', { name: 'look', arguments: { at: 'a' } });
    await hosted.passes();
    expect(await quick).toMatchObject({ resultType: 'complete', content: [{ text: 'ran look' }] });
    const patient = host({ takesTasks: false });
    const slow = patient.result('tools/call', { name: 'slow', arguments: {} });
    await hosted.passes();
    await vi.waitUntil(() => hosted.ran.length === 2);
    await hosted.clock.advance(10 * HOST_TASK_AFTER_MS);
    hosted.release();
    expect(await slow).toMatchObject(TEXT('ran slow'));
  });

  test('a tool that fails has a result: the task is completed', async () => {
    await start();
    const raw = host();
    const { taskId } = await taskOf(raw, 'slow');
    hosted.release();
    await raw.until(taskId, 'completed');
    const failing = raw.result('tools/call', { name: 'count', arguments: { fail: true } });
    await hosted.passes();
    expect(await failing).toMatchObject({ isError: true });
  });

  test('while a call is a task, a later one is busy and names it', async () => {
    await start();
    const raw = host();
    const { taskId } = await taskOf(raw, 'slow');
    const busy = await raw.result('tools/call', { name: 'look', arguments: { at: 'a' } });
    expect(busy).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining(taskId as string) as string }],
    });
    expect(await hosted.recorded('ToolCallsObserved')).toHaveLength(1);
  });

  test('what waits behind a call when it becomes a task is busy, too', async () => {
    await start();
    const raw = host();
    const slow = raw.result('tools/call', { name: 'slow', arguments: {} });
    await hosted.passes();
    await vi.waitUntil(() => hosted.ran.length === 1);
    const behind = raw.result('tools/call', { name: 'look', arguments: { at: 'a' } });
    await vi.waitUntil(() => hosted.host.calls.open() === 2);
    await hosted.clock.advance(HOST_TASK_AFTER_MS);
    expect(await slow).toMatchObject({ resultType: 'task' });
    expect(await behind).toMatchObject({ isError: true });
    expect(hosted.ran).toHaveLength(1);
  });

  test('another connection, and a restarted server, go on with the task, and nothing runs twice', async () => {
    await start();
    const { taskId, createdAt } = await taskOf(host(), 'slow');
    expect(await host().get(taskId)).toMatchObject({ status: 'working', createdAt });
    before.push(hosted);
    hosted = await hosted.reopened();
    const raw = host();
    expect(await raw.get(taskId)).toMatchObject({ status: 'working', createdAt });
    hosted.release();
    expect(await raw.until(taskId, 'completed')).toMatchObject({ createdAt, result: TEXT('ran slow') });
    expect(hosted.ran).toHaveLength(1);
  });

  test('tasks/cancel ends the call', async () => {
    await start();
    const raw = host();
    const { taskId } = await taskOf(raw, 'halts');
    const ack = await raw.result('tasks/cancel', { taskId });
    expect(Object.keys(ack).sort()).toEqual(['_meta', 'resultType']);
    const cancelled = await raw.until(taskId, 'cancelled');
    expect(cancelled).not.toHaveProperty('result');
    expect(await raw.result('tasks/cancel', { taskId })).toMatchObject({ resultType: 'complete' });
    expect(await hosted.recorded('user.interrupt')).toMatchObject([{ by: 'mcp-host:raw' }]);
    const next = raw.result('tools/call', { name: 'look', arguments: { at: 'a' } });
    await hosted.passes();
    expect(await next).toMatchObject(TEXT('ran look'));
  });

  test('a call that asks while it runs is a task, whose question is answered with tasks/update', async () => {
    await start({ hostAnswers: true });
    const raw = host({ capabilities: FORMS });
    const called = raw.result('tools/call', { name: 'asks', arguments: {} });
    await hosted.passes();
    const { taskId } = await called;
    const { inputRequests } = await raw.until(taskId, 'input_required');
    const [key = ''] = Object.keys(inputRequests as Fields);
    const asked = { method: 'elicitation/create', params: { message: 'Which name?' } };
    expect(inputRequests).toMatchObject({ [key]: asked });
    const response = { action: 'accept', content: { name: 'Ada' } };
    await raw.result('tasks/update', { taskId, inputResponses: { another: response, __proto__x: response } });
    expect(await hosted.recorded('user.elicitation_result')).toEqual([]);
    const unfit = { [key]: { action: 'accept', content: { name: 7 } } };
    expect((await raw.request('tasks/update', { taskId, inputResponses: unfit })).error?.code).toBe(-32_602);
    await raw.result('tasks/update', { taskId, inputResponses: { [key]: response } });
    const { result } = await raw.until(taskId, 'completed');
    expect(result).toMatchObject(TEXT('said {"action":"accept","content":{"name":"Ada"}}'));
    expect(await hosted.recorded('user.elicitation_result')).toMatchObject([{ by: 'mcp-host:raw' }]);
    expect(hosted.ran).toHaveLength(1);
  });

  test('without --host-answers the task says how to answer at refold, and updates count for nothing', async () => {
    await start();
    const raw = host({ capabilities: FORMS });
    const called = raw.result('tools/call', { name: 'asks', arguments: {} });
    await hosted.passes();
    const { taskId } = await called;
    const task = await raw.get(taskId);
    expect(task).toMatchObject({
      status: 'working',
      statusMessage: expect.stringContaining('refold answer') as string,
    });
    const inputResponses = { answer: { action: 'accept', content: { name: 'Ada' } } };
    expect(await raw.result('tasks/update', { taskId, inputResponses })).toMatchObject({ resultType: 'complete' });
    expect(await hosted.recorded('user.elicitation_result')).toEqual([]);
  });

  test('a call whose attempts end with questions asks each with input_required', async () => {
    await start({ hostAnswers: true });
    const raw = host({ capabilities: FORMS });
    const call = (more: Fields = {}) => raw.result('tools/call', { name: 'rounds', arguments: {}, ...more });
    const first = call();
    await hosted.passes();
    const one = await first;
    expect(one).toMatchObject({
      resultType: 'input_required',
      inputRequests: { answer: { params: { message: 'Which name?' } } },
    });
    const answer = (content: Fields) => ({ answer: { action: 'accept', content } });
    const two = await call({ requestState: one['requestState'], inputResponses: answer({ name: 'Ada' }) });
    expect(two).toMatchObject({
      resultType: 'input_required',
      inputRequests: { answer: { params: { message: 'Which color?' } } },
    });
    expect(two['requestState']).not.toBe(one['requestState']);
    const done = await call({ requestState: two['requestState'], inputResponses: answer({ color: 'red' }) });
    expect(done).toMatchObject(TEXT('said [{"name":"Ada"},{"color":"red"}]'));
    expect(hosted.ran).toHaveLength(3);
  });

  test('a call that a person changes ends with the changed call, also for a task', async () => {
    await start();
    const raw = host();
    const called = raw.result('tools/call', { name: 'risky', arguments: { path: 'a' } });
    await hosted.passes();
    const { requestState } = await called;
    const [action] = requiredActions(hosted.host.state());
    if (action === undefined) expect.fail('no call waits for a person');
    await hosted.host.submit(denying(action, 'me', { instead: { path: 'b' } }));
    const done = await raw.result('tools/call', { name: 'risky', arguments: {}, requestState });
    expect(done).not.toHaveProperty('isError');
    const content = [{ text: expect.stringContaining('{"path":"b"}') as string }, { text: 'ran risky' }];
    expect(done).toMatchObject({ content });
    expect(await raw.get(action.call_id)).toMatchObject({ status: 'completed', result: { content } });
    before.push(hosted);
    hosted = await hosted.reopened();
    expect(await host().get(action.call_id)).toMatchObject({ status: 'completed', result: { content } });
    expect(hosted.ran).toEqual(['risky {"path":"b"}']);
  });

  test('a changed call that is not made after all ends with the denial', async () => {
    await start();
    const raw = host();
    const slow = raw.result('tools/call', { name: 'halts', arguments: {} });
    const risky = raw.result('tools/call', { name: 'risky', arguments: {} });
    await hosted.passes(2);
    await vi.waitUntil(() => hosted.ran.length === 1);
    const [action] = requiredActions(hosted.host.state());
    const { run } = hosted.host.state();
    if (action === undefined || run === null) expect.fail('no call waits for a person');
    expect(await risky).toMatchObject({ resultType: 'input_required' });
    await hosted.host.submit(denying(action, 'me', { instead: { path: 'b' } }));
    await vi.waitUntil(() => hosted.host.state().run?.amended !== undefined);
    expect(await raw.get(action.call_id)).toMatchObject({ status: 'working' });
    await hosted.host.submit({ kind: 'user.interrupt', run_id: run.run_id, by: 'me' });
    expect(await slow).toMatchObject({ isError: true });
    expect(await raw.until(action.call_id, 'completed')).toMatchObject({ result: { isError: true } });
    expect(hosted.ran).toEqual(['halts {}']);
  });

  test.each(['tasks/get', 'tasks/update', 'tasks/cancel'])(
    '%s: a host that takes no tasks, and unknown ids',
    async (method) => {
      await start();
      const params = { taskId: 'host-unknown', inputResponses: {} };
      const refused = (await host({ takesTasks: false }).request(method, params)).error;
      expect(refused).toMatchObject({
        code: -32_021,
        data: { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } },
      });
      const raw = host();
      for (const taskId of ['host-unknown', 'x', '', '__proto__', 7, null, { a: 1 }, 'x'.repeat(10_000)]) {
        expect((await raw.request(method, { ...params, taskId })).error?.code).toBe(-32_602);
      }
    },
  );

  test('methods of the older form are not known', async () => {
    await start();
    for (const method of ['tasks/list', 'tasks/result']) {
      expect((await host().request(method, { taskId: 'x' })).error?.code).toBe(-32_601);
    }
  });
});

describe('in 2025-11-25', () => {
  const older = async (options: HostOptions = {}): Promise<RawHost> => {
    const raw = host({ modern: false, takesTasks: false, ...options });
    expect(await raw.hello()).toMatchObject({ capabilities: { tasks: { list: {}, cancel: {} } } });
    raw.write({ method: 'notifications/initialized' });
    return raw;
  };
  const call = async (raw: RawHost, name: string): Promise<Fields> => {
    const created = raw.result('tools/call', { name, arguments: {}, task: { ttl: 60_000 } });
    await hosted.passes();
    return (await created)['task'] as Fields;
  };

  test('a host asks for a task, and gets the result with tasks/result', async () => {
    await start();
    const raw = await older();
    const task = await call(raw, 'slow');
    expect(task).toMatchObject({ status: 'working', ttl: null, pollInterval: 500 });
    const { taskId } = task;
    expect(await raw.result('tasks/list')).toMatchObject({ tasks: [{ taskId, status: 'working' }] });
    const waiting = raw.result('tasks/result', { taskId });
    hosted.release();
    expect(await waiting).toMatchObject({
      ...TEXT('ran slow'),
      _meta: { 'io.modelcontextprotocol/related-task': { taskId } },
    });
    expect(await raw.get(taskId)).toMatchObject({ status: 'completed' });
    expect(await raw.result('tasks/list')).toMatchObject({ tasks: [{ taskId, status: 'completed' }] });
    expect((await raw.request('tasks/list', { cursor: 'x' })).error?.code).toBe(-32_602);
  });

  test('tools may be tasks, and a call without one is none', async () => {
    await start();
    const raw = await older();
    const { tools } = await raw.result('tools/list');
    for (const tool of tools as readonly Fields[]) expect(tool['execution']).toEqual({ taskSupport: 'optional' });
    const plain = raw.result('tools/call', { name: 'look', arguments: { at: 'a' } });
    await hosted.passes();
    expect(await plain).toMatchObject(TEXT('ran look'));
  });

  test('tasks/cancel ends the call; a task that has ended is not cancelled', async () => {
    await start();
    const raw = await older();
    const { taskId } = await call(raw, 'halts');
    await vi.waitUntil(() => hosted.ran.length === 1);
    expect(await raw.result('tasks/cancel', { taskId })).toMatchObject({ taskId, status: 'cancelled' });
    expect((await raw.request('tasks/cancel', { taskId })).error?.code).toBe(-32_602);
  });

  test('tasks/result asks the person of the host what the call asks', async () => {
    await start({ hostAnswers: true });
    const raw = await older({ capabilities: FORMS });
    const { taskId } = await call(raw, 'asks');
    const waiting = raw.result('tasks/result', { taskId });
    const asked = await vi.waitUntil(() => raw.answers.find(({ method }) => method === 'elicitation/create'));
    expect(asked.params).toMatchObject({ message: 'Which name?' });
    expect(await raw.get(taskId)).toMatchObject({ status: 'input_required' });
    raw.write({ id: asked.id, result: { action: 'accept', content: { name: 'Ada' } } });
    expect(await waiting).toMatchObject(TEXT('said {"action":"accept","content":{"name":"Ada"}}'));
  });
});
