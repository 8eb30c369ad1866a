// A graph of LangGraph, imitated, as the contract drives it.
import { durable } from '../../../embed/langgraph/index.ts';
import { runGraph, scriptedModel, structuredTool } from '../../support/loops/langgraph-loop.ts';
import type { LoopDriver } from './contract.ts';

export const langgraphDriver: LoopDriver = {
  name: 'LangGraph',
  async open({ tools, script, ...options }) {
    const model = scriptedModel((turn) => {
      const { calls = [], ...answer } = script(turn);
      return { ...answer, calls: calls.map(({ id, tool, order }) => ({ id, name: tool, args: { order } })) };
    });
    const structured = tools.map(({ name, run }) =>
      structuredTool(name, ({ order }: { readonly order: string }) => run(order)),
    );
    const reads = tools.filter(({ mode }) => mode === 'read');
    const hints = Object.fromEntries(reads.map(({ name }) => [name, { mode: 'read' as const }]));
    const graph = await durable({ ...options, model, tools: structured, hints });
    return {
      handle: graph,
      async run(prompt) {
        const messages = await runGraph({ ...graph, messages: [{ type: 'human', content: prompt }] });
        const [, last] = (messages.at(-1)?.content ?? []) as readonly { readonly text: string }[];
        return last?.text ?? '';
      },
    };
  },
};
