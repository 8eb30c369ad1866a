// A program of the AI SDK whose refunds must happen once. Only `agent.model` and `agent.tools` tell it from one without refold.
import { generateText, stepCountIs, tool } from 'ai';
import { durable } from 'refold/ai-sdk';
import { z } from 'zod';
import { model } from './model.mjs';
import { openShop } from './shop.mjs';

const directory = process.argv[2];
const shop = openShop(directory);
const inputSchema = z.object({ order: z.string() });
const tools = {
  find_order: tool({ description: 'Find an order.', inputSchema, execute: ({ order }) => shop.find(order) }),
  refund_order: tool({
    description: 'Refund an order in full.',
    inputSchema,
    execute: ({ order }) => shop.refund(order),
  }),
};

const agent = await durable({
  dataDir: `${directory}/data`,
  session: 'orders',
  run: 'refund',
  model: model(directory),
  tools,
  hints: { find_order: { mode: 'read' } },
  consent: 'allow_all', // `default` asks a person before each refund
});
const prompt = 'Refund the orders 41 and 42';
const answer = await generateText({ model: agent.model, tools: agent.tools, prompt, stopWhen: stepCountIs(10) });
console.log(answer.text);
await agent.close();
