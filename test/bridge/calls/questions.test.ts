// What a bridge does for calls that outlive it, and for calls that ask: handles and questions are recorded before the executor
// goes on, answers reach the call that asked, and another bridge continues what was left.
import { describe, expect, test } from 'vitest';
import type { CallAsk, CallContext, CallReport, Executor } from '../../../bridge/index.ts';
import { stopReasonOf } from '../../../bridge/index.ts';
import type { ElicitationAnswer } from '../../../schemas/elicitation.ts';
import { elicitations } from '../../../src/core/index.ts';
import { SESSION, type World, call, newWorld, resultsOf, statusOf, textOfEntry } from '../../support/bridge/harness.ts';

type Run = (context: CallContext, attempt: number) => Promise<CallReport | CallAsk>;

/** An executor that continues attempts; `run` gets how often it ran before, from 1. */
function executor(run: Run, rest: Partial<Executor> = { resumes: true }): Executor {
  let attempt = 0;
  return {
    tools: ['test.*'],
    ...rest,
    run: (_call, _args, context) => {
      attempt += 1;
      return run(context, attempt);
    },
  };
}

const report = (value: unknown): CallReport => ({ success: true, text: JSON.stringify(value ?? null) });
const ended = (world: World): readonly string[] => resultsOf(world).map(textOfEntry);
const openQuestion = (world: World) => elicitations(world.engine.state(SESSION))[0];

async function passes({ clock }: World, ms: number): Promise<void> {
  let passed = false;
  clock.after(ms, () => (passed = true));
  await clock.until(() => passed);
}

/** Answers the open question of a session. */
function answer(world: World, { action, ...rest }: ElicitationAnswer): void {
  const asked = openQuestion(world);
  if (asked === undefined) throw new Error('no question is open');
  const { batch_id, call_id, attempt, question } = asked;
  world.engine.record(SESSION, {
    kind: 'user.elicitation_result',
    batch_id,
    call_id,
    attempt,
    question,
    action,
    ...rest,
  });
}

function runOf(
  run: Run,
  { tool = 'write', rest }: { readonly tool?: string; readonly rest?: Partial<Executor> } = {},
): World {
  const world = newWorld({ turns: [[call('a', tool)]] });
  world.start({ executors: [executor(run, rest)] });
  world.request();
  return world;
}

const asked = (world: World): Promise<void> => world.clock.until(() => openQuestion(world) !== undefined);

describe('a call that asks and keeps running', () => {
  test('gets the answer, and reports what it made of it', async () => {
    const world = runOf(async ({ ask }) => report(await ask?.({ message: 'which?' })));
    await asked(world);
    answer(world, { action: 'accept', content: { size: 'XL' } });
    await world.finish();
    expect(ended(world)).toEqual(['{"action":"accept","content":{"size":"XL"}}']);
    expect(world.engine.of('ToolCallStarted')).toHaveLength(1);
  });

  test('has the time that people take besides its own', async () => {
    const world = runOf(async ({ ask, timeoutMs, signal }) => {
      const given = await ask?.({ message: 'which?' });
      return report([given?.action, timeoutMs, signal.aborted]);
    });
    await asked(world);
    await passes(world, 10 * 60_000);
    answer(world, { action: 'decline' });
    await world.finish();
    expect(ended(world)).toEqual(['["decline",60000,false]']);
  });

  test('still has no more than its own', async () => {
    const world = runOf(async ({ ask, signal }) => {
      await ask?.({ message: 'which?' });
      return await new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve({ success: false, text: `${stopReasonOf(signal)}` }));
      });
    });
    await asked(world);
    await passes(world, 10 * 60_000);
    answer(world, { action: 'accept' });
    await world.finish();
    expect(world.engine.of('ToolCallSettled')).toMatchObject([{ outcome: 'failed', code: 'timeout' }]);
  });

  test('asks one question after another, and each gets its own answer', async () => {
    const world = runOf(async ({ ask }) => {
      const answers = await Promise.all([ask?.({ message: 'one?' }), ask?.({ message: 'two?' })]);
      return report(answers.map((given) => given?.content?.['n']));
    });
    for (const n of [1, 2]) {
      await asked(world);
      answer(world, { action: 'accept', content: { n } });
      await world.clock.until(
        () => world.engine.of('ToolCallAsked').length > n || world.engine.state(SESSION).run === null,
      );
    }
    await world.finish();
    expect(ended(world)).toEqual(['[1,2]']);
  });

  test('is on record as started first when it only reads', async () => {
    const world = runOf(async ({ ask }) => report(await ask?.({ message: 'which?' })), { tool: 'read' });
    await asked(world);
    answer(world, { action: 'cancel' });
    await world.finish();
    expect(world.engine.of('ToolCallStarted')).toHaveLength(1);
    expect(ended(world)).toEqual(['{"action":"cancel"}']);
  });

  test('reads cancel when the engine takes no question, and when its run ends', async () => {
    const big = 'x'.repeat(20_000);
    const refused = runOf(async ({ ask }) => report(await ask?.({ message: 'which?', schema: { big } })));
    await refused.finish();
    expect(ended(refused)).toEqual(['{"action":"cancel"}']);
    const world = runOf(async ({ ask }) => report(await ask?.({ message: 'which?' })), { tool: 'solo' });
    await asked(world);
    world.engine.record(SESSION, { kind: 'user.interrupt', run_id: world.engine.state(SESSION).run?.run_id as never });
    await world.finish();
    expect(ended(world)).toEqual(['{"action":"cancel"}']);
  });
});

describe('a call that ends its attempt with a question', () => {
  const leaves: Run = ({ resume }) =>
    Promise.resolve(resume === undefined ? { ask: { message: 'which?' }, state: 'page 2' } : report(resume));

  test('continues with its state and the answer, under a start of its own', async () => {
    const world = runOf(leaves);
    await asked(world);
    expect(world.engine.leases.size).toBe(0);
    answer(world, { action: 'accept', content: { n: 1 } });
    await world.finish();
    expect(ended(world).map((text) => JSON.parse(text) as unknown)).toEqual([
      { answer: { action: 'accept', content: { n: 1 } }, state: 'page 2' },
    ]);
    expect(world.engine.of('ToolCallStarted').map(({ attempt }) => attempt)).toEqual([1, 2]);
  });

  test('gets a long state unchanged', async () => {
    const state = 'x'.repeat(50_000);
    const world = runOf(({ resume }) =>
      Promise.resolve(resume === undefined ? { ask: { message: 'which?' }, state } : report(resume.state === state)),
    );
    await asked(world);
    answer(world, { action: 'decline' });
    await world.finish();
    expect(ended(world)).toEqual(['true']);
  });

  test('continues in another bridge', async () => {
    const world = newWorld({ turns: [[call('a', 'write')]] });
    const first = world.start({ executors: [executor(leaves)] });
    world.request();
    await asked(world);
    first.kill();
    world.start({ owner: 'bridge-b', executors: [executor(leaves)] });
    answer(world, { action: 'decline' });
    await world.finish();
    expect(statusOf(world)).toBe('completed');
    expect(ended(world)).toEqual(['{"answer":{"action":"decline"},"state":"page 2"}']);
  });

  test('fails when the question is refused, and when its executor could not continue', async () => {
    const big = runOf(() =>
      Promise.resolve({ ask: { message: 'which?', schema: { big: 'x'.repeat(20_000) } }, state: 's' }),
    );
    await big.finish();
    expect(big.engine.of('ToolCallSettled')).toMatchObject([{ outcome: 'failed', code: 'question_refused' }]);
    const unable = runOf(leaves, { rest: {} });
    await unable.finish();
    expect(unable.engine.of('ToolCallSettled')).toMatchObject([{ outcome: 'failed', code: 'invalid_output' }]);
  });

  test('has an unknown outcome in a bridge that cannot continue it', async () => {
    const world = newWorld({ turns: [[call('a', 'write')]] });
    const first = world.start({ executors: [executor(leaves)] });
    world.request();
    await asked(world);
    await first.stop();
    world.start({ owner: 'bridge-b', executors: [executor(() => Promise.resolve(report('again')), {})] });
    answer(world, { action: 'decline' });
    await world.finish();
    expect(world.engine.of('ToolCallSettled')).toMatchObject([{ outcome: 'unknown', code: 'resume_unsupported' }]);
  });
});

describe('a call that notes what it waits for', () => {
  const forever = new Promise<never>(() => undefined);
  const notes: Run = async ({ resume, note }) => {
    if (resume !== undefined) return report(resume);
    await note?.('task-7');
    return await forever;
  };

  test('is continued by the next bridge when this one dies, although it must not run twice', async () => {
    const world = newWorld({ turns: [[call('a', 'write')]] });
    const first = world.start({ executors: [executor(notes)] });
    world.request();
    await world.clock.until(() => world.engine.of('ToolCallNoted').length === 1);
    first.kill();
    world.start({ owner: 'bridge-b', executors: [executor(notes)] });
    await world.finish();
    expect(ended(world)).toEqual(['{"handle":"task-7"}']);
    expect(world.engine.of('ToolCallStarted').map(({ owner, attempt }) => `${owner} ${attempt}`)).toEqual([
      'bridge-a 1',
      'bridge-b 2',
    ]);
  });

  test('is left to the next bridge when this one stops, and reads why', async () => {
    const world = newWorld({ turns: [[call('a', 'write')]] });
    const why: unknown[] = [];
    const first = world.start({
      executors: [
        executor(async ({ note, signal }) => {
          await note?.('task-7');
          await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
          why.push(stopReasonOf(signal));
          return { success: false, text: 'left' };
        }),
      ],
    });
    world.request();
    await world.clock.until(() => world.engine.of('ToolCallNoted').length === 1);
    await first.stop();
    expect(why).toEqual(['stopping']);
    expect(world.engine.of('ToolCallSettled')).toEqual([]);
    world.start({ owner: 'bridge-b', executors: [executor(notes)] });
    await world.finish();
    expect(ended(world)).toEqual(['{"handle":"task-7"}']);
  });

  test('cannot, with an executor that does not continue', async () => {
    const world = runOf(notes, { rest: {} });
    await world.finish();
    expect(world.engine.of('ToolCallSettled')).toMatchObject([{ outcome: 'failed', code: 'tool_threw' }]);
    expect(world.engine.of('ToolCallNoted')).toEqual([]);
  });

  test('goes on without a note that holds a secret', async () => {
    const secret = 'a-secret-of-more-than-16';
    const world = newWorld({ turns: [[call('a', 'write')]] });
    world.start({ executors: [executor(async ({ note }) => report(await note?.(`of ${secret}`)))], secrets: [secret] });
    world.request();
    await world.finish();
    expect([ended(world), world.engine.of('ToolCallNoted')]).toEqual([['false'], []]);
  });
});
