// A graph of LangGraph, imitated, as the contract drives it.
import { type GraphCall, type GraphModel, durable } from '../../../embed/langgraph/index.ts';
import { runGraph, scriptedModel, structuredTool } from '../../support/loops/langgraph-loop.ts';
import { type LoopDriver, bringing } from './contract.ts';

/** Without `records`, the model is not on record: the graph asks it by itself. */
export const langgraphDriver = (records: boolean): LoopDriver => ({
  name: records ? 'LangGraph' : 'LangGraph without a model',
  async open({ tools, script, brings = (order) => order, onError, ...options }) {
    const model = scriptedModel((turn, messages) => {
      const { calls = [], ...answer } = script(turn, messages);
      return { ...answer, calls: calls.map(({ id, tool, order }) => ({ id, name: tool, args: { order } })) };
    });
    // A chat model of the framework answers with a message.
    const bare: GraphModel = {
      invoke: async (input: never) => ({ ...(await model.invoke(input)), type: 'ai' }),
    };
    const structured = tools.map(({ name, run }) =>
      structuredTool(name, ({ order }: { readonly order: string }) => run(order)),
    );
    const reads = tools.filter(({ mode }) => mode === 'read');
    const hints = Object.fromEntries(reads.map(({ name }) => [name, { mode: 'read' as const }]));
    const graph = await durable({ ...options, ...(records ? { model } : {}), tools: structured, hints });
    const given = graph.tools.map((tool) => ({
      ...tool,
      name: tool.name,
      invoke(call: never, config?: never) {
        const { args, ...rest } = call as GraphCall;
        const changed = { ...rest, args: { order: brings((args as { readonly order: string }).order) } };
        return bringing(onError, () => tool.invoke(changed as never, config));
      },
    }));
    return {
      handle: graph,
      async run(prompt) {
        const messages = await runGraph({
          model: records ? graph.model : bare,
          tools: given,
          messages: [{ type: 'human', content: prompt }],
        });
        const [, last] = (messages.at(-1)?.content ?? []) as readonly { readonly text: string }[];
        return last?.text ?? '';
      },
    };
  },
});
