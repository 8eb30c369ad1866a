// The loop of the AI SDK on the record of a session.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { type DurableOptions, durable } from '../../../embed/ai-sdk/index.ts';
import { type Script, generate, scriptedModel } from '../../support/loops/ai-sdk-loop.ts';

const ended: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).toReversed()) await end();
});

export async function newDataDir(): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'refold-durable-'));
  ended.push(() => rm(dataDir, { recursive: true, force: true }));
  return dataDir;
}

const order = { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] };

function newShop() {
  const refunds: string[] = [];
  const find = {
    description: 'Find an order.',
    inputSchema: order,
    execute: (input: { order: string }) => ({ ...input, cents: 7 }),
  };
  const refund = {
    description: 'Refund an order.',
    inputSchema: order,
    execute(input: { order: string }) {
      refunds.push(input.order);
      return `refunded ${input.order}`;
    },
  };
  return { refunds, tools: { find, refund } };
}

const refunding: Script = (turn) => {
  if (turn === 1) return { text: 'Let me see.', calls: [{ id: 'c1', name: 'find', input: { order: '42' } }] };
  return turn === 2 ? { calls: [{ id: 'c2', name: 'refund', input: { order: '42' } }] } : { text: 'Done.' };
};

type Options = Partial<DurableOptions<never, never>> & { readonly script?: Script };

async function open({ script = refunding, ...options }: Options = {}) {
  const dataDir = options.dataDir ?? (await newDataDir());
  const asked: number[] = [];
  const shop = newShop();
  const model = scriptedModel((turn, call) => {
    asked.push(turn);
    return script(turn, call);
  });
  const agent = await durable({
    session: 'order-42',
    consent: 'allow_all',
    ...options,
    dataDir,
    model,
    tools: shop.tools,
  });
  ended.push(() => agent.close());
  return { agent, asked, dataDir, ...shop };
}

describe('a loop', () => {
  test.each([false, true])('gets its answer and each effect happens once (streams: %s)', async (streams) => {
    const { agent, refunds, asked } = await open();
    const answer = await generate({ ...agent, prompt: 'Refund order 42', streams });
    expect(answer.text).toBe('Done.');
    expect(answer.steps.map(({ results }) => results.map(({ output }) => output))).toEqual([
      [{ type: 'json', value: { order: '42', cents: 7 } }],
      [{ type: 'text', value: 'refunded 42' }],
      [],
    ]);
    expect(refunds).toEqual(['42']);
    expect(asked).toEqual([1, 2, 3]);
  });

  test('with a name gives its record again, and asks no one', async () => {
    const { agent, dataDir } = await open({ run: 'refund' });
    const first = await generate({ ...agent, prompt: 'Refund order 42' });
    await agent.close();
    const second = await open({ run: 'refund', dataDir });
    expect(await generate({ ...second.agent, prompt: 'Refund order 42' })).toEqual(first);
    expect([second.asked, second.refunds]).toEqual([[], []]);
  });
});
