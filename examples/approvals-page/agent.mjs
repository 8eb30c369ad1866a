// The agent that the page shows. Its model is a script, so that the example needs no key.
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAgent, tool } from 'refold/agent';
import { scriptedProvider } from 'refold/bridge';

const refund = tool({
  name: 'refund_order',
  description: 'Refund an order, in cents.',
  input: {
    type: 'object',
    properties: { order: { type: 'string' }, cents: { type: 'integer' } },
    required: ['order', 'cents'],
  },
  mode: 'destructive',
  run: ({ order, cents }) => `refunded ${cents} cents of order ${order}`,
});

/** One call that asks, in the first turn; then the model says what it was told. */
const model = scriptedProvider(({ turn, messages }) =>
  turn === 1
    ? { calls: [{ id: 'refund', name: 'refund_order', arguments: { order: '<b>42</b>', cents: 4_200 } }] }
    : { content: `I was told: ${messages.at(-1)?.text}`, calls: [] },
);

export async function openAgent() {
  const dataDir = await mkdtemp(join(tmpdir(), 'refold-approvals-'));
  return await createAgent({ dataDir, model, tools: [refund] });
}
