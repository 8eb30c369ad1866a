// The loop of OpenAI Agents JS, imitated, as the contract drives it.
import { durable } from '../../../embed/openai-agents/index.ts';
import { functionTool, runAgent, scriptedModel } from '../../support/loops/openai-agents-loop.ts';
import type { LoopDriver } from './contract.ts';

export const openaiAgentsDriver = (streams: boolean): LoopDriver => ({
  name: streams ? 'OpenAI Agents JS, streamed' : 'OpenAI Agents JS',
  async open({ tools, script, ...options }) {
    const model = scriptedModel((turn) => {
      const { calls = [], ...answer } = script(turn);
      return { ...answer, calls: calls.map(({ id, tool, order }) => ({ id, name: tool, args: { order } })) };
    });
    const functions = tools.map(({ name, run }) =>
      functionTool(name, ({ order }: { readonly order: string }) => run(order)),
    );
    const reads = tools.filter(({ mode }) => mode === 'read');
    const hints = Object.fromEntries(reads.map(({ name }) => [name, { mode: 'read' as const }]));
    const agent = await durable({ ...options, model, tools: functions, hints });
    return {
      handle: agent,
      async run(prompt) {
        for (;;) {
          const { text, interruptions } = await runAgent({ model: agent.model, tools: agent.tools, prompt, streams });
          if (interruptions.length === 0) return text;
          // An application goes on when its questions are answered: by running the prompt again.
          while ((await agent.waiting().catch(() => [])).length > 0) await new Promise(setImmediate);
        }
      },
    };
  },
});
