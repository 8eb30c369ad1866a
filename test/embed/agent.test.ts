// An agent of one's own tools: what a program sees of a run, and what a model is told when a tool misbehaves.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import {
  type BridgeClock,
  type GenerateReply,
  type GenerateRequest,
  ProviderError,
  scriptedProvider,
  systemClock,
} from '../../bridge/index.ts';
import { brand } from '../../schemas/index.ts';
import { must } from '../../src/client/index.ts';
import { defaultToolPackage } from '../../src/index.ts';
import { eventsUntil } from '../support/e2e/refold.ts';
import {
  type Agent,
  type AgentOptions,
  type Question,
  type RunPart,
  createAgent,
  tool,
} from '../../embed/agent/index.ts';

const opened: { agent: Agent; dataDir: string }[] = [];

afterEach(async () => {
  for (const { agent, dataDir } of opened.splice(0)) {
    await agent.close();
    await rm(dataDir, { recursive: true, force: true });
  }
});

type Options = Omit<AgentOptions, 'dataDir' | 'model'> & { readonly dataDir?: string };

/** An agent whose model gives these answers, one a turn of each run; what it was sent is in `asked`. */
async function agentWith(replies: readonly GenerateReply[], options: Options = {}) {
  const asked: GenerateRequest[] = [];
  const model = scriptedProvider((request) => {
    asked.push(request);
    return replies[request.turn - 1] ?? null;
  });
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'refold-agent-')));
  const agent = await createAgent({ ...options, dataDir, model });
  opened.push({ agent, dataDir });
  return { agent, asked, dataDir };
}

const says = (content: string): GenerateReply => ({ content, calls: [] });
const calls = (name: string, args: object = {}, id = 'a'): GenerateReply => ({
  calls: [{ id, name, arguments: args as never }],
});

const lookUp = tool({
  name: 'look_up',
  description: 'Look up the price of an article, in cents.',
  input: { type: 'object', properties: { article: { type: 'string' } }, required: ['article'] },
  mode: 'read',
  run: ({ article }) => ({ article, cents: article.length * 100 }),
});

async function partsOf(run: AsyncIterable<RunPart>): Promise<RunPart[]> {
  const parts: RunPart[] = [];
  for await (const part of run) parts.push(part);
  return parts;
}

describe('a run', () => {
  test('gives its texts, calls and results in order, and then its result', async () => {
    const usage = { input_tokens: 7, output_tokens: 3 };
    const replies = [{ ...calls('look_up', { article: 'pen' }), content: 'Let me see.', usage }, says('300 cents.')];
    const { agent } = await agentWith(replies, { tools: [lookUp] });
    const run = agent.run('What is a pen?');
    const call = { turn: 1, call: 'a', tool: 'look_up', arguments: { article: 'pen' } };
    const result = { ...call, status: 'succeeded', text: '{"article":"pen","cents":300}', code: null };
    expect(await partsOf(run)).toEqual([
      { type: 'text', turn: 1, text: 'Let me see.' },
      { type: 'call', ...call },
      { type: 'result', ...result },
      { type: 'text', turn: 2, text: '300 cents.' },
    ]);
    expect(await run.result()).toEqual({
      status: 'completed',
      text: '300 cents.',
      usage,
      calls: [result],
      session: run.session,
      run: 'run-1',
      code: null,
      message: null,
      resumed: false,
    });
  });

  test('offers the model exactly the tools of the program', async () => {
    const { agent, asked } = await agentWith([says('Hello.')], { tools: [lookUp], instructions: 'Be brief.' });
    expect((await agent.run('Hello').result()).status).toBe('completed');
    expect(asked[0]?.tools.map(({ tool_name }) => tool_name)).toEqual(['look_up']);
    expect(asked[0]?.instructions).toBe('Be brief.');
  });

  test('of a model that streams gives each text once, and takes back what a failed request had written', async () => {
    let attempt = 0;
    const dataDir = await mkdtemp(join(tmpdir(), 'refold-agent-'));
    const agent = await createAgent({
      dataDir,
      config: { retry: { attempts_max: 3, base_ms: 0, cap_ms: 0 } },
      model: {
        async generate(_request, _signal, onDelta) {
          attempt += 1;
          onDelta?.({ kind: 'text', text: 'Once upon' });
          await watched;
          if (attempt === 1) throw new ProviderError('provider_retryable', 'cut');
          return says('Twice upon a time.');
        },
      },
    });
    opened.push({ agent, dataDir });
    let seen: () => void = () => undefined;
    const watched = new Promise<void>((resolve) => {
      seen = resolve;
    });
    const run = agent.run('A story');
    const parts: RunPart[] = [];
    for await (const part of run) {
      parts.push(part);
      seen();
    }
    const [first, second, ...rest] = parts;
    expect([first, second]).toEqual([
      { type: 'text', turn: 1, text: 'Once upon' },
      { type: 'retract', turn: 1 },
    ]);
    const texts = rest.slice(rest.findLastIndex(({ type }) => type === 'retract') + 1);
    expect(texts.map((part) => (part.type === 'text' ? part.text : '')).join('')).toBe('Twice upon a time.');
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'Twice upon a time.' });
  });

  test('goes on without a reader, and a reader may leave it', async () => {
    const { agent } = await agentWith([calls('look_up', { article: 'pen' }), says('Done.')], { tools: [lookUp] });
    const run = agent.run('Go');
    for await (const part of run) if (part.type === 'call') break;
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(() => run[Symbol.asyncIterator]()).toThrow('read once');
  });

  test('is cancelled by its signal, and its running tool is told', async () => {
    const stop = new AbortController();
    const waits = tool({
      name: 'wait',
      description: 'Waits.',
      input: { type: 'object' },
      mode: 'read',
      run: (_args, { signal }) =>
        new Promise<string>((resolve) => {
          signal.addEventListener('abort', () => resolve('stopped'));
          stop.abort();
        }),
    });
    const { agent } = await agentWith([calls('wait')], { tools: [waits] });
    const { status, calls: made } = await agent.run('Wait', { signal: stop.signal }).result();
    expect(status).toBe('cancelled');
    expect(made).toHaveLength(1);
  });

  test('that is aborted before it begins records nothing', async () => {
    const { agent, asked } = await agentWith([says('Hello.')]);
    const run = agent.run('Hello', { session: 'none', signal: AbortSignal.abort(new Error('too late')) });
    await expect(run.result()).rejects.toThrow('too late');
    expect((await agent.run('Hello', { session: 'none' }).result()).run).toBe('run-1');
    expect(asked).toHaveLength(1);
  });

  test('of a session continues its conversation, with the tools that the program has now', async () => {
    const first = await agentWith([says('Noted.')], { tools: [lookUp] });
    await first.agent.run('I like pens', { session: 'chat' }).result();
    await first.agent.close();
    const other = tool({ name: 'other', description: 'Other.', input: { type: 'object' }, run: () => '' });
    const { agent, asked } = await agentWith([says('Pens.')], { tools: [other], dataDir: first.dataDir });
    await agent.run('What do I like?', { session: 'chat' }).result();
    expect(asked[0]?.messages.map((message) => ('text' in message ? message.text : ''))).toEqual([
      'I like pens',
      'Noted.',
      'What do I like?',
    ]);
    expect(asked[0]?.tools.map(({ tool_name }) => tool_name)).toEqual(['other']);
  });

  test('with a key happens once: a second request gives its record, and asks no model', async () => {
    const { agent, asked } = await agentWith([calls('look_up', { article: 'ink' }), says('300.')], { tools: [lookUp] });
    const options = { session: 'shop', key: 'the price of ink' };
    const first = await agent.run('Price of ink?', options).result();
    const again = agent.run('Price of ink?', options);
    expect((await partsOf(again)).map(({ type }) => type)).toEqual(['call', 'result', 'text']);
    expect(await again.result()).toEqual({ ...first, resumed: true });
    expect(asked).toHaveLength(2);
    await expect(agent.run('Price of paper?', options).result()).rejects.toThrow('event_id_reused');
  });

  test('that is live in this process refuses another one of its session', async () => {
    const { agent } = await agentWith([says('Hello.')]);
    const run = agent.run('One', { session: 'same' });
    expect(() => agent.run('Two', { session: 'same' })).toThrow('session same has a run here');
    await run.result();
    expect((await agent.run('Two', { session: 'same' }).result()).run).toBe('run-2');
  });
});

describe('a call that asks', () => {
  const paid: number[] = [];
  const pay = tool({
    name: 'pay',
    description: 'Pay.',
    input: { type: 'object', properties: { cents: { type: 'integer' } }, required: ['cents'] },
    mode: 'destructive',
    run: ({ cents }) => {
      paid.push(cents);
      return `paid ${cents}`;
    },
  });
  const replies = [calls('pay', { cents: 5 }), says('Done.')];

  test('runs when the program allows it', async () => {
    paid.length = 0;
    const { agent } = await agentWith(replies, { tools: [pay] });
    const run = agent.run('Pay 5');
    for await (const part of run) if (part.type === 'question') await part.answer(true);
    expect((await run.result()).calls).toMatchObject([{ tool: 'pay', status: 'succeeded', text: 'paid 5' }]);
    expect(paid).toEqual([5]);
  });

  test('does not run when it is denied, and the model reads why', async () => {
    paid.length = 0;
    const { agent, asked } = await agentWith(replies, { tools: [pay] });
    const run = agent.run('Pay 5');
    for await (const part of run) {
      if (part.type === 'question') await part.answer({ allow: false, message: 'not today' });
    }
    expect((await run.result()).calls).toMatchObject([{ status: 'denied', code: 'permission_denied' }]);
    expect(JSON.stringify(asked[1]?.messages)).toContain('not today');
    expect(paid).toEqual([]);
  });

  test('runs with other arguments when those are allowed instead', async () => {
    paid.length = 0;
    const { agent } = await agentWith(replies, { tools: [pay] });
    const run = agent.run('Pay 5');
    for await (const part of run) {
      if (part.type === 'question') await part.answer({ allow: false, instead: { cents: 3 } });
    }
    expect((await run.result()).calls.map(({ status }) => status)).toEqual(['denied', 'succeeded']);
    expect(paid).toEqual([3]);
  });

  test('is listed while it waits, and answered once from anywhere in the program', async () => {
    paid.length = 0;
    const { agent } = await agentWith(replies, { tools: [pay] });
    const run = agent.run('Pay 5');
    for await (const part of run) if (part.type === 'question') break;
    const [question] = await agent.waiting();
    expect(question).toMatchObject({ tool: 'pay', kind: 'approval', arguments: { cents: 5 }, reasons: ['mode_asks'] });
    await agent.answer(question as Question, { allow: true, by: 'ada' });
    await expect(agent.answer(question as Question, true)).rejects.toThrow('waits for no answer');
    expect((await run.result()).status).toBe('completed');
    expect(await agent.waiting()).toEqual([]);
    expect(paid).toEqual([5]);
  });

  test('is not answered by what was said of an earlier call with the same id', async () => {
    paid.length = 0;
    const { agent } = await agentWith([calls('pay', { cents: 5 }), calls('pay', { cents: 99 }), says('Done.')], {
      tools: [pay],
    });
    const run = agent.run('Pay 5');
    const parts = run[Symbol.asyncIterator]();
    const nextQuestion = async (): Promise<Question> => {
      for (;;) {
        const { value } = await parts.next();
        if (value.type === 'question') return value;
      }
    };
    const first = await nextQuestion();
    await agent.answer(first, true);
    const second = await nextQuestion();
    expect([first.call, second.call]).toEqual(['a', 'a']);
    // The button was pressed twice.
    await expect(agent.answer(first, true)).rejects.toThrow('waits for no answer');
    await expect(first.answer(true)).rejects.toThrow('batch-2 is open');
    await agent.answer(second, false);
    await run.result();
    expect(paid).toEqual([5]);
  });

  test('that ended between the restart and the request is given, and not begun anew', async () => {
    paid.length = 0;
    const first = await agentWith(replies, { tools: [pay] });
    for await (const part of first.agent.run('Pay 5', { session: 'till' })) if (part.type === 'question') break;
    await first.agent.close();
    const { agent } = await agentWith(replies, { tools: [pay], dataDir: first.dataDir });
    const [question] = await agent.waiting();
    await agent.answer(question as Question, true);
    await eventsUntil(agent.client, brand('till'), ({ event }) => event.ends !== undefined);
    expect(await agent.run('Pay 5', { session: 'till' }).result()).toMatchObject({ run: 'run-1', resumed: true });
    expect(paid).toEqual([5]);
  });

  test('is answered as cancelled when a person interrupts the run', async () => {
    paid.length = 0;
    const { agent } = await agentWith(replies, { tools: [pay] });
    const run = agent.run('Pay 5', { session: 'till' });
    const types: string[] = [];
    for await (const part of run) {
      types.push(part.type);
      const interrupt = { kind: 'user.interrupt', run_id: brand<'RunId'>('run-1') } as const;
      if (part.type === 'question') await must(agent.client.submit(brand('till'), { events: [interrupt] }));
    }
    expect(types).toEqual(['call', 'question', 'result']);
    const { status, calls: made } = await run.result();
    expect({ status, made }).toMatchObject({ status: 'interrupted', made: [{ status: 'cancelled' }] });
    expect(paid).toEqual([]);
  });

  test('asks nobody under another policy', async () => {
    paid.length = 0;
    const { agent } = await agentWith(replies, { tools: [pay], consent: 'allow_all' });
    expect((await partsOf(agent.run('Pay 5'))).map(({ type }) => type)).toEqual(['call', 'result', 'text']);
    expect(paid).toEqual([5]);
  });

  test('waits through a restart: the session shows the run from its beginning, and the question again', async () => {
    paid.length = 0;
    const first = await agentWith(replies, { tools: [pay] });
    const run = first.agent.run('Pay 5', { session: 'till' });
    for await (const part of run) if (part.type === 'question') break;
    await first.agent.close();
    await expect(run.result()).rejects.toThrow('the run of session till is not over');
    const { agent } = await agentWith(replies, { tools: [pay], dataDir: first.dataDir });
    await expect(agent.run('Something else', { session: 'till', resume: false }).result()).rejects.toThrow(
      'run_already_active',
    );
    const resumed = agent.run('Pay 5', { session: 'till' });
    const types: string[] = [];
    for await (const part of resumed) {
      types.push(part.type);
      if (part.type === 'question') await part.answer(true);
    }
    expect(types).toEqual(['call', 'question', 'result', 'text']);
    expect(await resumed.result()).toMatchObject({ status: 'completed', resumed: true, run: 'run-1' });
    expect(paid).toEqual([5]);
  });
});

describe('a tool that', () => {
  const object = { type: 'object' } as const;
  const misbehaving = (run: (signal: AbortSignal) => unknown, timeoutMs?: number) =>
    tool({
      name: 'odd',
      description: 'Odd.',
      input: object,
      mode: 'read',
      run: (_args, { signal }) => run(signal),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });

  const cyclic: Record<string, unknown> = {};
  cyclic['self'] = cyclic;

  test.each<[string, () => unknown, RegExp]>([
    ['throws', () => Promise.reject(new Error('no such shop')), /tool_threw: no such shop/],
    ['returns a Map', () => ({ at: new Map() }), /invalid_output: the tool ran.*"\/at".*instance of a class/],
    ['returns a number that is no JSON', () => Number.NaN, /invalid_output: the tool ran/],
    ['returns a bigint', () => 12n, /invalid_output: the tool ran.*bigint/],
    ['returns itself', () => cyclic, /invalid_output: the tool ran/],
    ['returns a function', () => () => 1, /invalid_output: the tool ran.*function/],
  ])('%s is a failure that the model reads', async (_what, run, text) => {
    const { agent, asked } = await agentWith([calls('odd'), says('I see.')], { tools: [misbehaving(run)] });
    const { status, calls: made } = await agent.run('Go').result();
    expect(made).toMatchObject([{ status: 'failed', text: expect.stringMatching(text) }]);
    expect(status).toBe('completed');
    expect(JSON.stringify(asked[1]?.messages)).toContain('error: ');
  });

  test.each<[string, unknown, string]>([
    ['nothing', undefined, '(no output)'],
    ['a text', 'hello', 'hello'],
    ['null', null, 'null'],
    ['a list', [1, 'b'], '[1,"b"]'],
    ['an object with an absent field', { a: 1, b: undefined, c: [{ d: undefined }] }, '{"a":1,"c":[{}]}'],
  ])('returns %s succeeds, and the model reads it', async (_what, returned, text) => {
    const { agent } = await agentWith([calls('odd'), says('Fine.')], { tools: [misbehaving(() => returned)] });
    expect((await agent.run('Go').result()).calls).toMatchObject([{ status: 'succeeded', text }]);
  });

  test('hangs until its time is over is stopped, and the model is told', async () => {
    const hangs = misbehaving(
      (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve('late'))),
      20,
    );
    const { agent } = await agentWith([calls('odd'), says('Too bad.')], { tools: [hangs] });
    const { status, calls: made } = await agent.run('Go').result();
    expect(status).toBe('completed');
    // What it returned after its time is a result all the same.
    expect(made).toMatchObject([{ status: 'succeeded', text: 'late' }]);
  });

  test('ignores its signal is given up after the grace period', async () => {
    const ignores = misbehaving(() => new Promise(() => undefined), 20);
    const clock: BridgeClock = { ...systemClock, after: (ms, then) => systemClock.after(ms / 50, then) };
    const { agent } = await agentWith([calls('odd'), says('Too bad.')], { tools: [ignores], clock });
    expect((await agent.run('Go').result()).calls).toMatchObject([{ status: 'failed', code: 'timeout' }]);
  });
});

describe('an agent', () => {
  test.each<[string, string, RegExp]>([
    ['an unknown API', 'claude', /names no API: give API:MODEL, where API is one of openai-chat/],
    ['no model', 'anthropic', /names no model: give anthropic:MODEL/],
    ['no address', 'vertex-anthropic:claude', /give baseUrl, or set ANTHROPIC_VERTEX_BASE_URL/],
  ])('with %s says what to give', async (_what, model, message) => {
    const dataDir = join(tmpdir(), 'refold-agent-never-made');
    await expect(createAgent({ dataDir, model: model as never })).rejects.toThrow(message);
  });

  test('is refused by a second one over the same directory', async () => {
    const { dataDir } = await agentWith([]);
    await expect(createAgent({ dataDir, model: scriptedProvider(() => null) })).rejects.toThrow('in_use');
  });

  test('with a further package offers its tools beside those of the program', async () => {
    const { agent, asked } = await agentWith([says('Hello.')], { tools: [lookUp], package: defaultToolPackage() });
    await agent.run('Hello').result();
    const names = asked[0]?.tools.map(({ tool_name }) => tool_name);
    expect(names).toContain('look_up');
    expect(names?.length).toBeGreaterThan(1);
  });

  test('with a preset that does not exist says which there are', async () => {
    await expect(agentWith([], { consent: 'lenient' as never })).rejects.toThrow(/no preset: give one of default, /);
  });

  test('with two tools of one name is refused', async () => {
    await expect(agentWith([], { tools: [lookUp, lookUp] })).rejects.toThrow('two tools have the tool_name "look_up"');
  });
});
