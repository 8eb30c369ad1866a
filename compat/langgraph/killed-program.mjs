// A graph of LangGraph that is killed: two calls that read, then two that must happen once, both of which ask.
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { MessagesAnnotation, StateGraph } from '@langchain/langgraph';
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import { durable } from 'refold/langgraph';
import { z } from 'zod';
import { hints, prompt, runSessions, watchSession } from '../support/killed-world.mjs';

const call = (name, order) => ({ type: 'tool_call', id: `${name}_${order}`, name, args: { order } });
const ANSWERS = [
  { content: '', tool_calls: [call('find', 'a'), call('find', 'b')] },
  { content: '', tool_calls: [call('refund', 'a'), call('refund', 'b')] },
  { content: 'Done.', tool_calls: [] },
];

class Scripted extends BaseChatModel {
  constructor({ act, at }) {
    super({});
    this.world = { act, at };
  }

  _llmType() {
    return 'scripted';
  }

  _generate(messages) {
    const turn = messages.filter((message) => message.getType() === 'ai').length;
    this.world.act(`turn ${turn + 1}`);
    this.world.at(`in turn ${turn + 1}`);
    return Promise.resolve({ generations: [{ message: new AIMessage(ANSWERS[turn]), text: '' }] });
  }
}

const schema = z.object({ order: z.string() });
const asking = { ...hints, refund: { ...hints.refund, ask: true } };

await runSessions(async (world) => {
  const { dataDir, session, at, functions } = world;
  const tools = Object.entries(functions).map(([name, run]) => tool(run, { name, description: name, schema }));
  const model = new Scripted(world);
  const shop = await durable({ dataDir, session, run: 'refund', model, tools, hints: asking });
  at('opened');
  const over = new AbortController();
  const watching = watchSession(shop, world, over.signal);
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('agent', async ({ messages }) => ({ messages: [await shop.model.invoke(messages)] }))
    .addNode('tools', new ToolNode(shop.tools, { handleToolErrors: false }))
    .addEdge('__start__', 'agent')
    .addConditionalEdges('agent', toolsCondition)
    .addEdge('tools', 'agent')
    .compile();
  const { messages } = await graph.invoke({ messages: [{ role: 'user', content: prompt }] });
  at('ended');
  over.abort();
  await watching.catch(() => undefined);
  await shop.close();
  at('closed');
  return JSON.stringify(messages.map(({ content }) => content));
});
