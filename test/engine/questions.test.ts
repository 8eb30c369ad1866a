// Notes and questions of running calls at the engine: under the lease of the call, checked at the edge, and answered through the
// bridge that holds the call, also across a restart.
import { describe, expect, test } from 'vitest';
import type { CallQuestion } from '../../schemas/elicitation.ts';
import type { EffectOfKind } from '../../schemas/effect.ts';
import { must } from '../../src/client/must.ts';
import { elicitations } from '../../src/core/index.ts';
import {
  A,
  B,
  type LooseIngress,
  SESSION,
  TTL_MS,
  type World,
  callsIn,
  durable,
  newWorld,
  packageOf,
  settled,
  started,
} from '../support/engine/world.ts';
import { ONCE } from '../support/tools.ts';
import { refusal } from '../support/journal/outcomes.ts';
import { eventsOf } from '../support/records.ts';

type ToolCall = EffectOfKind<'tool.call'>;

const SCHEMA = {
  type: 'object',
  properties: { size: { type: 'string', enum: ['S', 'XL'] } },
  required: ['size'],
  additionalProperties: false,
};

const asked = ({ batch_id, call_id, attempt }: ToolCall, question: Partial<CallQuestion> = {}, resume?: string) =>
  ({
    kind: 'ToolCallAsked',
    batch_id,
    call_id,
    attempt,
    question: { message: 'Which size?', ...question },
    ...(resume === undefined ? {} : { resume: { text: resume } }),
  }) as LooseIngress;

const noted = ({ batch_id, call_id, attempt }: ToolCall): LooseIngress => ({
  kind: 'ToolCallNoted',
  batch_id,
  call_id,
  attempt,
  handle: 'task-7',
});

async function running(): Promise<{ readonly world: World; readonly call: ToolCall }> {
  const world = await newWorld();
  await world.talk.create(packageOf([ONCE]));
  await world.talk.calls(['a', 'once']);
  const [call] = callsIn(await world.talk.lease(A));
  if (call === undefined) throw new Error('nothing was leased');
  await world.talk.submit([started(call, A)], A);
  return { world, call };
}

/** An answer to the open question. */
async function answer({ talk }: World, rest: object): Promise<LooseIngress> {
  const [open] = elicitations(await talk.state());
  if (open === undefined) throw new Error('no question is open');
  const { batch_id, call_id, attempt, question } = open;
  return { kind: 'user.elicitation_result', batch_id, call_id, attempt, question, action: 'accept', ...rest };
}

describe('a note and a question', () => {
  test('need the lease of the call', async () => {
    const { world, call } = await running();
    for (const event of [noted(call), asked(call), asked(call, {}, 'state')]) {
      expect(await world.talk.outcome(event, B)).toBe('stale_lease');
    }
    expect(await world.talk.outcome(noted(call), A)).toBe('done');
  });

  test('that keeps the call running leaves its lease, and one that ends the attempt ends it', async () => {
    const { world, call } = await running();
    await world.talk.submit([asked(call)], A);
    expect(await world.talk.lost(A, 'batch-1/a/1')).toEqual([]);
    await world.talk.submit([await answer(world, { action: 'decline' })]);
    await world.talk.submit([asked(call, {}, 'state')], A);
    expect(await world.talk.lost(A, 'batch-1/a/1')).toEqual(['batch-1/a/1']);
    expect(await world.talk.leased(A)).toEqual([]);
    await world.talk.submit([await answer(world, { action: 'decline' })]);
    expect(callsIn(await world.talk.lease(B))).toMatchObject([{ attempt: 2, resume: { state: { text: 'state' } } }]);
  });
});

describe('the answer to a running call', () => {
  test.each([false, true])('reaches only the bridge that holds it (restarted: %s)', async (restarted) => {
    const { world, call } = await running();
    await world.talk.submit([asked(call)], A);
    if (restarted) {
      await world.restart();
      expect(await world.talk.lost(A, 'batch-1/a/1')).toEqual([]);
    }
    await world.talk.submit([await answer(world, { content: { n: 1 } })]);
    if (restarted) await world.restart();
    expect(await world.talk.leased(B)).toEqual([]);
    expect((await world.talk.lease(A)).effects).toMatchObject([
      { effect_id: 'batch-1/a/1/answer-1', owner: 'bridge-a', answer: { action: 'accept', content: { n: 1 } } },
    ]);
    await world.talk.submit([settled(call)], A);
    expect((await world.talk.state()).active_tool_batch?.running).toBe(0);
    expect(await world.talk.leased(A)).toEqual(['batch-1/settle']);
  });

  test('goes with the call when its bridge is lost', async () => {
    const { world, call } = await running();
    await world.talk.submit([noted(call), asked(call)], A);
    await world.clock.advance(3 * TTL_MS);
    const state = await world.talk.state();
    expect(elicitations(state)).toEqual([]);
    expect(callsIn(await world.talk.lease(B))).toMatchObject([{ attempt: 2, resume: { handle: 'task-7' } }]);
    expect(await durable(world.disk)).toEqual(await world.talk.state());
  });
});

describe('the edge', () => {
  test('refuses an answer that does not fit the schema, and records the verdict on one that does', async () => {
    const { world, call } = await running();
    await world.talk.submit([asked(call, { schema: SCHEMA })], A);
    const misfit = await answer(world, { content: { size: 'M' } });
    expect(await refusal(world.talk.client.submit(SESSION, { events: [misfit as never] }))).toMatchObject({
      code: 'answer_invalid',
      path: '/events/0/content/size',
    });
    expect(await world.talk.outcome(await answer(world, {}))).toBe('answer_invalid');
    // What a client claims is dropped.
    const claimed = await answer(world, { content: { size: 'M' }, content_verdict: { valid: true } });
    expect(await world.talk.outcome(claimed)).toBe('answer_invalid');
    await world.talk.submit([await answer(world, { content: { size: 'XL' } })]);
    const recorded = eventsOf(await must(world.talk.client.records(SESSION))).at(-1);
    expect(recorded).toMatchObject({ kind: 'user.elicitation_result', content_verdict: { valid: true } });
  });

  test('takes the content of an answer as it is, even when it looks like a reference to a blob', async () => {
    const { world, call } = await running();
    await world.talk.submit([asked(call)], A);
    const content = { ref: `sha256:${'0'.repeat(64)}`, bytes: 1, head: 'x', tail: '' };
    expect(await world.talk.outcome(await answer(world, { content }))).toBe('done');
  });

  test.each([
    ['does not compile', { type: 'nonsense' }],
    ['refers to itself without end', { $ref: '#' }],
    ['refers elsewhere', { $ref: 'https://example.org/schema.json' }],
  ])('refuses a question whose schema %s', async (_, schema) => {
    const { world, call } = await running();
    expect(await world.talk.outcome(asked(call, { schema }), A)).toBe('question_invalid');
    expect(await world.talk.outcome(asked(call, { schema: SCHEMA }), A)).toBe('done');
  });
});
