// An agent of OpenAI Agents JS that is killed: two calls that read, then two that must happen once, one of which asks.
import { Agent, run, setTracingDisabled, tool } from '@openai/agents';
import { durable } from 'refold/openai-agents';
import { z } from 'zod';
import { hints, prompt, runSessions, watchSession } from '../support/killed-world.mjs';

setTracingDisabled(true);
const call = (name, order) => ({
  type: 'function_call',
  callId: `${name}_${order}`,
  name,
  status: 'completed',
  arguments: JSON.stringify({ order }),
});
const OUTPUTS = [
  [call('find', 'a'), call('find', 'b')],
  [call('refund', 'a'), call('refund', 'b')],
  [{ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'Done.' }] }],
];
const parameters = z.object({ order: z.string() });

await runSessions(async (world) => {
  const { dataDir, session, act, at, functions } = world;
  const model = {
    getResponse({ input }) {
      const turn =
        typeof input === 'string'
          ? 0
          : new Set(input.filter(({ type }) => type === 'function_call').map(({ name }) => name)).size;
      act(`turn ${turn + 1}`);
      at(`in turn ${turn + 1}`);
      const usage = { requests: 1, inputTokens: 1, outputTokens: 1, totalTokens: 2 };
      return Promise.resolve({ usage, output: OUTPUTS[turn] });
    },
  };
  const tools = Object.entries(functions).map(([name, execute]) =>
    tool({
      name,
      description: name,
      parameters,
      execute,
      needsApproval: async (_, { order }) => name === 'refund' && order === 'b',
    }),
  );
  const shop = await durable({ dataDir, session, run: 'refund', model, tools, hints });
  at('opened');
  const over = new AbortController();
  // The framework answers its own questions: this one watches only.
  const watching = watchSession({ client: shop.client, waiting: () => [] }, world, over.signal);
  const agent = new Agent({ name: 'Clerk', model: shop.model, tools: shop.tools });
  let result = await run(agent, prompt);
  while (result.interruptions.length > 0) {
    at('interrupted');
    for (const item of result.interruptions) result.state.approve(item);
    at('approved');
    result = await run(agent, result.state);
  }
  at('ended');
  over.abort();
  await watching.catch(() => undefined);
  await shop.close();
  at('closed');
  return JSON.stringify(result.history);
});
