// The loop of OpenAI Agents JS, imitated, as the contract drives it.
import { type AgentsCallDetails, durable } from '../../../embed/openai-agents/index.ts';
import { functionTool, runAgent, scriptedModel } from '../../support/loops/openai-agents-loop.ts';
import { type LoopDriver, bringing } from './contract.ts';

export const openaiAgentsDriver = (streams: boolean): LoopDriver => ({
  name: streams ? 'OpenAI Agents JS, streamed' : 'OpenAI Agents JS',
  async open({ tools, script, brings = (order) => order, onError, ...options }) {
    const model = scriptedModel((turn, input) => {
      const { calls = [], ...answer } = script(turn, input);
      return { ...answer, calls: calls.map(({ id, tool, order }) => ({ id, name: tool, args: { order } })) };
    });
    const functions = tools.map(({ name, run }) =>
      functionTool(name, ({ order }: { readonly order: string }) => run(order)),
    );
    const reads = tools.filter(({ mode }) => mode === 'read');
    const hints = Object.fromEntries(reads.map(({ name }) => [name, { mode: 'read' as const }]));
    const agent = await durable({ ...options, model, tools: functions, hints });
    const given = agent.tools.map((tool) => ({
      ...tool,
      invoke(context: never, input: string, details?: AgentsCallDetails) {
        const { order } = JSON.parse(input) as { readonly order: string };
        return bringing(onError, () => tool.invoke(context, JSON.stringify({ order: brings(order) }), details));
      },
    }));
    return {
      handle: agent,
      async run(prompt) {
        for (;;) {
          const { text, interruptions } = await runAgent({ model: agent.model, tools: given, prompt, streams });
          if (interruptions.length === 0) return text;
          // An application goes on when its questions are answered: by running the prompt again.
          while ((await agent.waiting().catch(() => [])).length > 0) await new Promise(setImmediate);
        }
      },
    };
  },
});
