// An abort ends the run of a loop whenever it comes, and a prompt that is none of a run does not become a turn of it.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Durable, openDurable } from '../../../embed/durable/open-durable.ts';
import type { PromptMessage, RecordedTurn } from '../../../embed/durable/turn.ts';
import { must } from '../../../src/client/index.ts';
import { brand } from '../../../schemas/index.ts';

let dataDir: string;
const opened: Durable[] = [];

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'refold-aborts-'));
});

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
  await rm(dataDir, { recursive: true });
});

async function open(run?: string): Promise<Durable> {
  const named = run === undefined ? {} : { run };
  const core = await openDurable({ dataDir, session: 'shop', ...named }, { api: 'openai_agents.model', model: 'm' });
  opened.push(core);
  return core;
}

const said = (content: string, role = 'user'): PromptMessage => ({ role, content });
const FIRST = [said('Refund order 42')];
const SECOND = [...FIRST, said('a call', 'assistant'), said('found', 'tool')];
const OTHER = [said('What is the weather?')];
const FIND = { name: 'find', description: 'Finds.', schema: {}, mode: 'read' } as const;

/** The model makes one call for each prompt but the weather. */
function ask(core: Durable, prompt: readonly PromptMessage[], signal?: AbortSignal): Promise<RecordedTurn> {
  const input = prompt.at(0)?.content as string;
  const calls = prompt === OTHER ? [] : [{ id: 'c', name: 'find', arguments: {} }];
  const reply = { content: 'Hi.', calls, parts: [{ text: 3 }, ...calls.map((_, call) => ({ call }))] };
  const shared = { prompt, input, instructions: null, tools: [FIND], results: new Map(), signal };
  return core.turn({ ...shared, ask: () => Promise.resolve(reply) });
}

/** The runs of the session by now, and how they ended. */
async function runsOf({ client }: Durable): Promise<readonly string[]> {
  const { run, run_history } = (await must(client.session(brand<'SessionId'>('shop')))).state;
  const over = run_history.map(({ run_id, ending }) => `${run_id} ${ending.outcome}`);
  return run === null ? over : [...over, `${run.run_id} ${run.phase}`];
}

/** Those that are over, once there are some. */
async function runsOverOf(core: Durable): Promise<readonly string[]> {
  for (;;) {
    const runs = await runsOf(core);
    if (runs.every((run) => / (?:completed|cancelled)$/.test(run))) return runs;
    await new Promise(setImmediate);
  }
}

test('an abort between two turns cancels the run, and the next question begins another', async () => {
  const core = await open();
  const stop = new AbortController();
  const { signal } = stop;
  const { calls } = await ask(core, FIRST, signal);
  // The calls of a loop have the same signal.
  for (const { id } of calls) await core.call({ id, tool: 'find', given: {}, run: () => 'found', signal });
  stop.abort(new Error('stop pressed'));
  expect(await runsOverOf(core)).toEqual(['run-1 cancelled']);
  await expect(ask(core, SECOND, stop.signal)).rejects.toThrow('stop pressed');
  expect(await runsOf(core)).toEqual(['run-1 cancelled']);
  expect((await ask(core, OTHER)).turn).toBe(1);
  expect(await runsOf(core)).toEqual(['run-1 cancelled', 'run-2 completed']);
});

test('an abort after the last turn that a loop asks for cancels its run, with nobody who asks', async () => {
  const core = await open();
  const stop = new AbortController();
  await ask(core, FIRST, stop.signal);
  stop.abort();
  await core.close();
  expect(await runsOf(await open())).toEqual(['run-1 cancelled']);
});

test('a signal that has aborted before cancels the run that an earlier process left', async () => {
  const first = await open();
  await ask(first, FIRST);
  await first.close();
  const core = await open();
  await expect(ask(core, SECOND, AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late');
  expect(await runsOf(core)).toEqual(['run-1 cancelled']);
});

test('a signal that has aborted begins nothing', async () => {
  const core = await open();
  await expect(ask(core, FIRST, AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late');
  expect((await core.client.session(brand<'SessionId'>('shop'))())._tag).toBe('Left');
});

test.each(['one', undefined])(
  'an unfinished run, named %s, takes no other question: not now, nor after a restart',
  async (run) => {
    const first = await open(run);
    await ask(first, FIRST);
    await expect(ask(first, OTHER)).rejects.toMatchObject({ name: 'PromptDiffers', index: 0, role: 'user' });
    await first.close();
    const again = await open(run);
    await expect(ask(again, OTHER)).rejects.toMatchObject({ name: 'PromptDiffers', index: 0, role: 'user' });
    expect((await ask(again, SECOND)).turn).toBe(2);
  },
);

test('a shortened prompt goes on when it has a result of the last turn', async () => {
  const core = await open();
  const { calls } = await ask(core, FIRST);
  const results = new Map(calls.map(({ id }) => [id, { text: 'found', success: true }]));
  const reply = { content: 'Hi.', calls: [], parts: [{ text: 3 }] };
  const shared = { prompt: [said('found', 'tool')], input: '', instructions: null, tools: [FIND], results };
  expect((await core.turn({ ...shared, ask: () => Promise.resolve(reply) })).turn).toBe(2);
});
