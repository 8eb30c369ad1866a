// The loop of the AI SDK, imitated, as the contract drives it.
import { durable } from '../../../embed/ai-sdk/index.ts';
import { generate, scriptedModel } from '../../support/loops/ai-sdk-loop.ts';
import type { LoopDriver } from './contract.ts';

const inputSchema = { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] };

export const aiSdkDriver = (streams: boolean): LoopDriver => ({
  name: streams ? 'streamText' : 'generateText',
  async open({ tools, script, ...options }) {
    const model = scriptedModel((turn) => {
      const { calls = [], ...answer } = script(turn);
      return { ...answer, calls: calls.map(({ id, tool, order }) => ({ id, name: tool, input: { order } })) };
    });
    const objects = tools.map(({ name, run }) => [
      name,
      { description: `The tool ${name}.`, inputSchema, execute: ({ order }: { order: string }) => run(order) },
    ]);
    const reads = tools.filter(({ mode }) => mode === 'read');
    const hints = Object.fromEntries(reads.map(({ name }) => [name, { mode: 'read' as const }]));
    const agent = await durable({ ...options, model, tools: Object.fromEntries(objects), hints });
    return { handle: agent, run: async (prompt) => (await generate({ ...agent, prompt, streams })).text };
  },
});
