// generateText of the AI SDK that is killed: two calls that read, then two that must happen once, one of which asks.
import { generateText, stepCountIs, tool } from 'ai';
import { durable } from 'refold/ai-sdk';
import { z } from 'zod';
import { hints, prompt, runSessions, watchSession } from '../support/killed-world.mjs';

const call = (toolName, order) => ({
  type: 'tool-call',
  toolCallId: `${toolName}_${order}`,
  toolName,
  input: JSON.stringify({ order }),
});
const CONTENTS = [
  [call('find', 'a'), call('find', 'b')],
  [call('refund', 'a'), call('refund', 'b')],
  [{ type: 'text', text: 'Done.' }],
];
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const inputSchema = z.object({ order: z.string() });

await runSessions(async (world) => {
  const { dataDir, session, act, at, functions } = world;
  const model = {
    specificationVersion: 'v3',
    provider: 'scripted',
    modelId: 'scripted-1',
    supportedUrls: {},
    doGenerate({ prompt: messages }) {
      const turn = messages.filter(({ role }) => role === 'assistant').length;
      act(`turn ${turn + 1}`);
      at(`in turn ${turn + 1}`);
      const finishReason = { unified: turn === 2 ? 'stop' : 'tool-calls', raw: undefined };
      return Promise.resolve({ content: CONTENTS[turn], finishReason, usage, warnings: [] });
    },
  };
  const { find, refund } = functions;
  const needsApproval = ({ order }) => order === 'b';
  const tools = {
    find: tool({ description: 'Find an order.', inputSchema, execute: find }),
    refund: tool({ description: 'Refund an order.', inputSchema, execute: refund, needsApproval }),
  };
  const shop = await durable({ dataDir, session, run: 'refund', model, tools, hints });
  at('opened');
  const over = new AbortController();
  const watching = watchSession(shop, world, over.signal);
  const { response } = await generateText({
    model: shop.model,
    tools: shop.tools,
    prompt,
    stopWhen: stepCountIs(10),
  });
  at('ended');
  over.abort();
  await watching.catch(() => undefined);
  await shop.close();
  at('closed');
  return JSON.stringify(response.messages);
});
