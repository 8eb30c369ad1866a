// The loop of the AI SDK, imitated, as the contract drives it.
import { type AiSdkTools, durable } from '../../../embed/ai-sdk/index.ts';
import { generate, scriptedModel } from '../../support/loops/ai-sdk-loop.ts';
import { type LoopDriver, bringing } from './contract.ts';

const inputSchema = { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] };

export const aiSdkDriver = (streams: boolean): LoopDriver => ({
  name: streams ? 'streamText' : 'generateText',
  async open({ tools, script, brings = (order) => order, onError, ...options }) {
    const model = scriptedModel((turn, { prompt }) => {
      const { calls = [], ...answer } = script(turn, prompt);
      return { ...answer, calls: calls.map(({ id, tool, order }) => ({ id, name: tool, input: { order } })) };
    });
    const objects = tools.map(({ name, run }) => [
      name,
      { description: `The tool ${name}.`, inputSchema, execute: ({ order }: { order: string }) => run(order) },
    ]);
    const reads = tools.filter(({ mode }) => mode === 'read');
    const hints = Object.fromEntries(reads.map(({ name }) => [name, { mode: 'read' as const }]));
    const agent = await durable({ ...options, model, tools: Object.fromEntries(objects), hints });
    const given = Object.entries(agent.tools as AiSdkTools).map(([name, tool]) => {
      const execute = ({ order }: { order: string }, details: object): Promise<unknown> =>
        bringing(onError, () => Promise.resolve(tool.execute?.({ order: brings(order) }, details)));
      return [name, { ...tool, execute }];
    });
    const loop = { ...agent, tools: Object.fromEntries(given) as AiSdkTools, streams };
    return { handle: agent, run: async (prompt) => (await generate({ ...loop, prompt })).text };
  },
});
