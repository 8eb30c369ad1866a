// What every adapter of a framework keeps, whatever its loop: it is tested through a driver, which runs the framework's loop
// with a scripted model.
import { mkdtemp, rm } from 'node:fs/promises';
import { cpSync, readdirSync, renameSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { type SessionId, brand, limits } from '../../../schemas/index.ts';
import { type EngineClient, must } from '../../../src/client/index.ts';
import { newLawCheck, newReplayer } from '../../../src/core/index.ts';
import { openEngine, readToken, serveDataDir, tokenFile } from '../../../src/index.ts';
import { CallDiffers, PromptDiffers, SessionInUse } from '../../../embed/durable/errors.ts';
import { refold } from '../../support/e2e/refold.ts';
import { deliverTwice } from '../../support/loops/twice.ts';
import { roundsOf } from '../../support/random.ts';
import type { DurableOptions, DurableRun } from '../../../embed/durable/open-durable.ts';
import type { Question } from '../../../embed/runs/questions.ts';

/** A call of the scripted model: the only argument is `order`. */
export interface ContractCall {
  readonly id: string;
  readonly tool: string;
  readonly order: string;
}

/** A text ends the loop. */
export interface ContractAnswer {
  readonly text?: string;
  readonly calls?: readonly ContractCall[];
}

export interface ContractTool {
  readonly name: string;
  /** `read`: it changes nothing. Otherwise a call must not be repeated. */
  readonly mode?: 'read';
  readonly run: (order: string) => unknown;
}

export interface ContractOptions extends DurableOptions {
  readonly tools: readonly ContractTool[];
  /** Answers the n-th turn of a run, from 1. `prompt` is what the provider is sent, in the framework's own form. */
  readonly script: (turn: number, prompt: unknown) => ContractAnswer;
  /** The loop brings the tools this order in place of the one that it was told. */
  readonly brings?: (order: string) => string;
  /** Is told what the durable tools throw. */
  readonly onError?: (error: unknown) => void;
}

/** What a driver puts between its loop and a durable tool. */
export async function bringing<A>(onError: ContractOptions['onError'], work: () => Promise<A>): Promise<A> {
  try {
    return await work();
  } catch (error) {
    onError?.(error);
    throw error;
  }
}

export interface ContractLoop {
  readonly handle: DurableRun;
  /** Runs the framework's loop until it ends, and gives its last text. Throws what the loop throws. */
  readonly run: (prompt: string) => Promise<string>;
}

export interface LoopDriver {
  readonly name: string;
  readonly open: (options: ContractOptions) => Promise<ContractLoop>;
}

const { LEASE_TTL_MS } = limits;
const SESSION = brand<'SessionId'>('order-42');
const PROMPT = 'Refund both orders';

/** A sample of the crashes in `npm test`, every one in a soak. */
const EVERY = roundsOf(1, 10) > 1 ? 1 : 4;

/** What the world has seen: which models and functions have run, in order. */
type World = string[];

/** Two reads at the same time, then two calls that must not be repeated. */
const twoRefunds = (turn: number): ContractAnswer => {
  const both = (tool: string): ContractAnswer => ({
    calls: ['a', 'b'].map((order) => ({ id: `${tool}-${order}`, tool, order })),
  });
  return turn === 1 ? both('find') : turn === 2 ? both('refund') : { text: 'Done.' };
};

const toolsOf = (world: World, at: (place: string) => void = () => undefined): readonly ContractTool[] => [
  {
    name: 'find',
    mode: 'read',
    run(order) {
      at(`in find ${order}`);
      return { order, cents: 7 };
    },
  },
  {
    name: 'refund',
    run(order) {
      at(`before refund ${order}`);
      world.push(`refund ${order}`);
      at(`after refund ${order}`);
      return `refunded ${order}`;
    },
  },
];

/** A place of a run at which its process could die: what was on disk then, and what the world had seen. */
interface Crash {
  readonly place: string;
  readonly dataDir: string;
  readonly world: World;
}

/** Opens loops of a driver, and ends them after each test. */
function openerOf(driver: LoopDriver) {
  const ended: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const end of ended.splice(0).toReversed()) await end();
  });

  async function newDirectory(): Promise<string> {
    const directory = await mkdtemp(join(tmpdir(), 'refold-loop-'));
    ended.push(() => rm(directory, { recursive: true, force: true }));
    return directory;
  }

  async function open(
    given: Partial<ContractOptions> & { readonly world?: World; readonly at?: (place: string) => void },
  ) {
    const { world = [], at, ...options } = given;
    const dataDir = options.dataDir ?? (await newDirectory());
    const place = options.engine === undefined ? { dataDir } : {};
    const script = (turn: number, prompt: unknown): ContractAnswer => {
      world.push(`turn ${turn}`);
      at?.(`in turn ${turn}`);
      return (options.script ?? twoRefunds)(turn, prompt);
    };
    const tools = options.tools ?? toolsOf(world, at);
    const loop = await driver.open({
      session: SESSION,
      run: 'both',
      consent: 'allow_all',
      ...options,
      ...place,
      tools,
      script,
    });
    ended.push(() => loop.handle.close());
    return { ...loop, world, dataDir };
  }

  return { open, newDirectory, ended };
}

const refundsIn = (world: World): World => world.filter((line) => line.startsWith('refund'));

/** A model whose server gives every call the same id. */
const sameId =
  (...turns: readonly (readonly [tool: string, order: string])[][]) =>
  (turn: number): ContractAnswer => {
    const calls = turns[turn - 1]?.map(([tool, order]) => ({ id: 'x', tool, order }));
    return calls === undefined ? { text: 'Done.' } : { calls };
  };

/** What holds of a loop whose model is not on record, too: a call is bound to its tool and its arguments, whatever its id. */
export function describeBinding(driver: LoopDriver): void {
  const { open } = openerOf(driver);

  describe(`an id that is given twice, in the loop of ${driver.name}`, () => {
    test('in one turn: a person decides about each call, and a read does not run what asks', async () => {
      const script = sameId([
        ['refund', 'a'],
        ['find', 'b'],
        ['refund', 'c'],
      ]);
      const found: string[] = [];
      const world: World = [];
      const [find, refund] = toolsOf(world, (place) => found.push(place));
      const { handle, run } = await open({ script, world, consent: 'default', tools: [find, refund] as never });
      const running = run(PROMPT);
      const questions = await waitingFor(handle, 2);
      expect(questions.map(({ tool, arguments: { order } }) => [tool, order])).toEqual([
        ['refund', 'a'],
        ['refund', 'c'],
      ]);
      await handle.answer(questions[0] as Question, { allow: false, message: 'Not this one.' });
      await handle.answer(questions[1] as Question, true);
      expect(await running).toBe('Done.');
      expect(refundsIn(world)).toEqual(['refund c']);
      expect(found).toContain('in find b');
    });

    test('in the next turn: what was allowed once is asked again', async () => {
      const script = sameId([['refund', 'a']], [['refund', 'b']]);
      const { handle, run, world } = await open({ script, consent: 'default' });
      const running = run(PROMPT);
      const [first] = await waitingFor(handle, 1);
      await handle.answer(first as Question, true);
      const second = await nextQuestion(handle, first as Question);
      expect(second.arguments).toEqual({ order: 'b' });
      await handle.answer(second, false);
      expect(await running).toBe('Done.');
      expect(refundsIn(world)).toEqual(['refund a']);
    });

    test('a person gives other arguments: the call runs with them, and the loop gets its result in its place', async () => {
      const script = sameId([
        ['refund', 'a'],
        ['refund', 'b'],
      ]);
      const first = await open({ script, consent: 'default' });
      const left = first.run(PROMPT).catch(() => undefined);
      const [a, b] = await waitingFor(first.handle, 2);
      await first.handle.answer(a as Question, { allow: false, message: 'Only c.', instead: { order: 'c' } });
      // The call that was given waits for the others of its turn, also in the next process.
      await first.handle.close();
      await left;
      const prompts: unknown[] = [];
      const second = await open({
        dataDir: first.dataDir,
        consent: 'default',
        script: (turn, prompt) => {
          prompts.push(prompt);
          return script(turn);
        },
      });
      const running = second.run(PROMPT);
      await waitingFor(second.handle, 1);
      await second.handle.answer(b as Question, { allow: false, message: 'Not this one.' });
      expect(await running).toBe('Done.');
      expect(refundsIn([...first.world, ...second.world])).toEqual(['refund c']);
      expect(JSON.stringify(prompts.at(-1))).toMatch(/refunded c.*Not this one\./);
    });

    test('after a restart, with other arguments: nothing runs, and an error names both', async () => {
      const script = sameId([['refund', 'a']]);
      const first = await open({ script, consent: 'default' });
      const left = first.run(PROMPT).catch(() => undefined);
      await waitingFor(first.handle, 1);
      await first.handle.close();
      await left;
      const errors: unknown[] = [];
      const onError = (error: unknown): void => void errors.push(error);
      const { handle, run, world } = await open({
        dataDir: first.dataDir,
        script,
        consent: 'default',
        brings: () => 'b',
        onError,
      });
      const [question] = await waitingFor(handle, 1);
      await handle.answer(question as Question, true);
      await run(PROMPT).catch(() => undefined);
      expect(errors[0]).toBeInstanceOf(CallDiffers);
      expect(errors[0]).toMatchObject(DIFFERENT);
      expect(refundsIn([...first.world, ...world])).toEqual([]);
    });
  });
}

const DIFFERENT = {
  session: 'order-42',
  recorded: { tool: 'refund', arguments: '{"order":"a"}' },
  given: { tool: 'refund', arguments: '{"order":"b"}' },
};

export function describeLoop(driver: LoopDriver): void {
  const { open, newDirectory, ended } = openerOf(driver);
  describeBinding(driver);

  describe(`the loop of ${driver.name}`, () => {
    test('that is cut off at any durable boundary, in the model or in a function goes on: each effect once, or unknown', async () => {
      const crashes = await crashesOf();
      const places = crashes.map(({ place }) => place);
      for (const place of ['in turn 1', 'in find b', 'in turn 2', 'before refund a', 'after refund b', 'in turn 3']) {
        expect(places).toContain(place);
      }
      for (const { place, dataDir, world } of crashes.filter((_, index) => index % EVERY === 0)) {
        const { handle, run } = await open({ dataDir, world });
        expect({ place, text: await run(PROMPT) }).toEqual({ place, text: 'Done.' });
        const refunds = refundsIn(world);
        expect({ place, refunds }).toEqual({ place, refunds: [...new Set(refunds)] });
        await handle.close();
        const { breaches, succeeded } = await readRecord(dataDir);
        expect({ place, breaches }).toEqual({ place, breaches: [] });
        expect({ place, lost: succeeded.filter((call) => !refunds.includes(call)) }).toEqual({ place, lost: [] });
      }
      expect(crashes.length).toBeGreaterThan(12);
    });

    /** Runs the loop once, and keeps what is on disk after each commit and at each place in a function or the model. */
    async function crashesOf(): Promise<readonly Crash[]> {
      const crashes: Crash[] = [];
      const dataDir = await newDirectory();
      const kept = await newDirectory();
      const world: World = [];
      // At once, so that nothing happens between the files and the list.
      const keep = (place: string): void => {
        const copy = join(kept, String(crashes.length));
        cpSync(dataDir, copy, { recursive: true });
        const notes = join(copy, 'bridges');
        // The notes of a process that is gone: none has the id 0.
        for (const name of crashes.length === 0 ? [] : readdirSync(notes)) {
          renameSync(join(notes, name), join(notes, name.replace(/@\d+\./, '@0.')));
        }
        crashes.push({ place, dataDir: copy, world: [...world] });
      };
      const { handle, run } = await open({ dataDir, world, at: keep });
      const stopped = new AbortController();
      const running = run(PROMPT);
      while ((await handle.client.session(SESSION)())._tag === 'Left') await new Promise(setImmediate);
      const following = (async () => {
        for await (const commit of handle.client.followCommits(SESSION, { signal: stopped.signal })) {
          keep(`commit ${commit.position}`);
        }
      })();
      expect(await running).toBe('Done.');
      stopped.abort();
      await following.catch(() => undefined);
      await handle.close();
      return crashes;
    }

    test('gets its record again under the same name, whoever asks how often', async () => {
      const first = await open({});
      expect(await first.run(PROMPT)).toBe('Done.');
      const before = [...first.world];
      expect(await first.run(PROMPT)).toBe('Done.');
      await first.handle.close();
      const again = await open({ dataDir: first.dataDir, world: first.world });
      expect(await again.run(PROMPT)).toBe('Done.');
      expect(first.world).toEqual(before);
    });

    test('that opens a session which is open is told so, and the other one ends', async () => {
      const { run, dataDir, world } = await open({});
      await expect(open({ dataDir })).rejects.toThrow(SessionInUse);
      expect(await run(PROMPT)).toBe('Done.');
      expect(refundsIn(world)).toEqual(['refund a', 'refund b']);
    });

    test('has its functions run under the tools of the program that runs now', async () => {
      const first = await open({ run: 'one' });
      expect(await first.run(PROMPT)).toBe('Done.');
      await first.handle.close();
      const world: World = [];
      const tools = toolsOf(world).map((tool) =>
        tool.name === 'refund' ? { ...tool, run: () => world.push('other') } : tool,
      );
      const second = await open({ dataDir: first.dataDir, run: 'two', tools, world });
      expect(await second.run(PROMPT)).toBe('Done.');
      expect(world.filter((line) => line === 'other')).toHaveLength(2);
    });

    test('waits for a person, also in the next process, and a call that is denied never runs', async () => {
      const first = await open({ consent: 'default' });
      const running = first.run(PROMPT).catch((error: unknown) => error);
      await waitingFor(first.handle, 2);
      await first.handle.close();
      expect(await running).toMatchObject({ name: 'RunUnfinished' });
      const second = await open({ dataDir: first.dataDir, consent: 'default', world: first.world });
      const [a, b] = await waitingFor(second.handle, 2);
      await second.handle.answer(a as Question, true);
      const answer = second.run(PROMPT);
      await second.handle.answer(b as Question, { allow: false, message: 'Not this one.' });
      expect(await answer).toBe('Done.');
      expect(refundsIn(first.world)).toEqual(['refund a']);
    });

    test('that brings other arguments than those on record runs nothing, and an error names both', async () => {
      const errors: unknown[] = [];
      const { run, world } = await open({
        script: sameId([['refund', 'a']]),
        brings: () => 'b',
        onError: (error) => void errors.push(error),
      });
      await run(PROMPT).catch(() => undefined);
      expect(errors[0]).toBeInstanceOf(CallDiffers);
      expect(errors[0]).toMatchObject(DIFFERENT);
      expect(refundsIn(world)).toEqual([]);
    });

    test('knows every call by an id of its own, and the provider by the one that it gave', async () => {
      const prompts: string[] = [];
      const script = sameId([['find', 'a']], [['find', 'b']]);
      const { handle, run } = await open({
        script(turn, prompt) {
          prompts.push(JSON.stringify(prompt));
          return script(turn);
        },
      });
      expect(await run(PROMPT)).toBe('Done.');
      expect(prompts.map((prompt) => prompt.match(/"x"/g)?.length ?? 0)).toEqual([0, 2, 4]);
      const ids: string[] = [];
      for (const record of await recordsOf(handle.client, SESSION)) {
        if (record.kind !== 'commit') continue;
        for (const event of record.events) {
          if (event.kind === 'ToolCallsObserved') ids.push(...event.calls.map(({ call_id }) => call_id));
        }
      }
      expect(ids).toEqual(['run-1-1-0', 'run-1-2-0']);
      expect(prompts.join('')).not.toContain('run-1-');
    });

    test('with `serve` is answered by the commands beside it', async () => {
      const { handle, run, world, dataDir } = await open({ consent: 'default', serve: true });
      const answer = run(PROMPT);
      await waitingFor(handle, 2);
      expect(handle.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
      const listed = await refold(['approvals', '--json', '--data-dir', dataDir]);
      for (const line of listed.stdout.trimEnd().split('\n')) {
        const { call_id, digest } = JSON.parse(line) as { readonly call_id: string; readonly digest: string };
        const args = ['approve', call_id, '--digest', digest, '--data-dir', dataDir];
        expect(await refold(args)).toMatchObject({ code: 0, stderr: '' });
      }
      expect(await answer).toBe('Done.');
      expect(refundsIn(world)).toEqual(['refund a', 'refund b']);
    });

    test('on the engine of another process, through a network that delivers twice, has each effect once', async () => {
      const inProcess = await must(openEngine({ dataDir: await newDirectory() }));
      const { client } = inProcess;
      const served = await newDirectory();
      const engine = await serveDataDir(client, { dataDir: served, port: 0 });
      const network = await deliverTwice(engine.url);
      ended.push(
        () => inProcess.close(),
        () => engine.close(),
        () => network.close(),
      );
      const token = await readToken(tokenFile(served, 'operator'));
      const there = { engine: network.url, token, stateDir: await newDirectory() };
      const first = await open(there);
      expect(first.handle.url).toBe(network.url);
      expect(await first.run(PROMPT)).toBe('Done.');
      const { world } = first;
      expect(world).toEqual(['turn 1', 'turn 2', 'refund a', 'refund b', 'turn 3']);
      await first.handle.close();
      expect(await (await open({ ...there, world })).run(PROMPT)).toBe('Done.');
      expect(world).toHaveLength(5);
      const { run_history } = (await must(client.session(SESSION))).state;
      expect(run_history.map(({ ending }) => ending.outcome)).toEqual(['completed']);
      expect(network.doubled()).toBeGreaterThan(5);
    });

    test('on an engine where another process holds the turn is told at once who does, and that one goes on', async () => {
      const inProcess = await must(openEngine({ dataDir: await newDirectory() }));
      const served = await newDirectory();
      const engine = await serveDataDir(inProcess.client, { dataDir: served, port: 0 });
      // By another address, because this process has each session of one address once.
      const address = await deliverTwice(engine.url);
      ended.push(
        () => inProcess.close(),
        () => engine.close(),
        () => address.close(),
      );
      const token = await readToken(tokenFile(served, 'operator'));
      let isOut = true;
      const first = await open({
        engine: engine.url,
        token,
        owner: 'first',
        script(turn) {
          if (isOut) throw new Error('the model is out');
          return twoRefunds(turn);
        },
      });
      await first.run(PROMPT).catch(() => undefined);
      const second = await open({ engine: address.url, token, owner: 'second' });
      const before = performance.now();
      const error: unknown = await second.run(PROMPT).catch((thrown: unknown) => thrown);
      expect(inUse(error)).toMatchObject({ name: 'SessionInUse', session: 'order-42', holder: 'first' });
      expect(performance.now() - before).toBeLessThan(LEASE_TTL_MS);
      expect(second.world).toEqual([]);
      isOut = false;
      expect(await first.run(PROMPT)).toBe('Done.');
      expect(refundsIn(first.world)).toEqual(['refund a', 'refund b']);
      await second.handle.close();
      const third = await open({ engine: address.url, token, owner: 'third' });
      expect(await third.run(PROMPT)).toBe('Done.');
      expect(third.world).toEqual([]);
    });

    test('with another prompt than the recorded one is told which message differs', async () => {
      const first = await open({ consent: 'default' });
      const running = first.run(PROMPT).catch(() => undefined);
      await waitingFor(first.handle, 2);
      await first.handle.close();
      await running;
      const second = await open({ dataDir: first.dataDir, consent: 'default' });
      const error: unknown = await second.run('Refund nothing').catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(PromptDiffers);
      expect(error).toMatchObject({ turn: 1, role: 'user', session: SESSION });
    });
  });
}

/** A framework may wrap the error that its model throws. */
function inUse(error: unknown): unknown {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof SessionInUse) return cause;
  return error;
}

/** The calls that wait, once there are so many. */
async function waitingFor({ waiting }: DurableRun, count: number): Promise<readonly Question[]> {
  for (;;) {
    const questions = await waiting().catch(() => []);
    if (questions.length === count) return questions;
    await new Promise(setImmediate);
  }
}

/** The only call that waits, once it is another one. */
async function nextQuestion(handle: DurableRun, last: Question): Promise<Question> {
  for (;;) {
    const [question] = await waitingFor(handle, 1);
    if (question !== undefined && question.batch !== last.batch) return question;
  }
}

/** The refunds that the record calls succeeded, and the laws that it breaks. */
async function readRecord(dataDir: string) {
  const engine = await must(openEngine({ dataDir }));
  const laws = newLawCheck();
  const succeeded: string[] = [];
  const names = new Map<string, string>();
  const replayer = newReplayer((folded) => {
    laws.add(folded);
    const { event } = folded;
    if (event.kind === 'ToolCallsObserved') {
      for (const { call_id, tool_name, arguments: args } of event.calls)
        names.set(call_id, `${tool_name} ${args?.['order'] as string}`);
    }
    if (event.kind !== 'ToolCallSettled' || event.outcome !== 'succeeded') return;
    const name = names.get(event.call_id) ?? '';
    if (name.startsWith('refund')) succeeded.push(name);
  });
  for (const record of await recordsOf(engine.client, SESSION)) replayer.add(record);
  const { divergence } = replayer.result();
  await engine.close();
  expect(divergence).toBeNull();
  return { breaches: laws.breaches(), succeeded };
}

async function recordsOf(client: EngineClient, session: SessionId) {
  const records = [...(await must(client.records(session)))];
  for (;;) {
    const last = records.at(-1);
    const from = last?.kind === 'commit' ? last.position + last.events.length : 0;
    const page = await must(client.records(session, from));
    if (page.length === 0) return records;
    records.push(...page);
  }
}
