// The rows: each opens one way to run the workload, and resolves with `run`, which runs TURNS turns, and `close`.
import { generateText, stepCountIs, tool } from 'ai';
import { z } from 'zod';
import { PROMPT, TOOLS, TURNS, result, scriptedModel } from './workload.mjs';

const inputSchema = z.object({ order: z.string() });
const stopWhen = stepCountIs(TURNS + 1);
const toolsThat = (execute) =>
  Object.fromEntries(TOOLS.map((name) => [name, tool({ description: name, inputSchema, execute })]));

async function bare({ asked }) {
  const model = scriptedModel(asked);
  const tools = toolsThat(result);
  const run = () => generateText({ model, tools, prompt: PROMPT, stopWhen });
  return { run, close: async () => undefined };
}

/** A session for each run, all on one engine. */
async function refold({ folder, asked }, mode) {
  const { durable } = await import('refold/ai-sdk');
  const tools = toolsThat(result);
  const options = {
    dataDir: `${folder}/data`,
    model: scriptedModel(asked),
    tools,
    hints: Object.fromEntries(TOOLS.map((name) => [name, { mode }])),
    consent: 'allow_all',
  };
  const keeper = await durable({ ...options, session: 'keeper' });
  let runs = 0;
  async function run() {
    runs += 1;
    const agent = await durable({ ...options, session: `run-${runs}` });
    await generateText({ model: agent.model, tools: agent.tools, prompt: PROMPT, stopWhen });
    await agent.close();
  }
  return { run, close: () => keeper.close() };
}

/** The loop is a workflow; every answer of the model and every call is a step of it. */
async function dbos({ asked }) {
  const { DBOS } = await import('@dbos-inc/dbos-sdk');
  const plain = scriptedModel(asked);
  const doGenerate = (options) => DBOS.runStep(() => plain.doGenerate(options), { name: 'model' });
  const model = { ...plain, doGenerate };
  const tools = toolsThat((input) => DBOS.runStep(() => Promise.resolve(result(input)), { name: 'tool' }));
  const workflow = DBOS.registerWorkflow(
    async () => (await generateText({ model, tools, prompt: PROMPT, stopWhen })).text,
    { name: 'run' },
  );
  const systemDatabaseUrl = process.env.REFOLD_POSTGRES;
  DBOS.setConfig({ name: 'overhead', systemDatabaseUrl, systemDatabasePoolSize: 20, logLevel: 'error' });
  await DBOS.launch();
  const run = async () => await (await DBOS.startWorkflow(workflow)()).getResult();
  return { run, close: () => DBOS.shutdown() };
}

/** A model node and a tool node. With the checkpointer, each step is on disk before the next one begins. */
async function langgraph({ folder, asked }, isDurable) {
  const { MessagesAnnotation, StateGraph } = await import('@langchain/langgraph');
  const { ToolNode, toolsCondition } = await import('@langchain/langgraph/prebuilt');
  const { AIMessage } = await import('@langchain/core/messages');
  const core = await import('@langchain/core/tools');
  const answer = async ({ messages }) => {
    const turn = messages.filter((message) => message.getType() === 'ai').length + 1;
    asked(turn);
    const calls = TOOLS.map((name) => ({ id: `${name}-${turn}`, name, args: { order: `${name}-${turn}` } }));
    return { messages: [new AIMessage({ content: '', tool_calls: turn === TURNS ? [] : calls })] };
  };
  const tools = TOOLS.map((name) => core.tool(result, { name, description: name, schema: inputSchema }));
  const saver = isDurable ? await sqliteSaver(`${folder}/checkpoints.sqlite`) : null;
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('agent', answer)
    .addNode('tools', new ToolNode(tools))
    .addEdge('__start__', 'agent')
    .addConditionalEdges('agent', toolsCondition)
    .addEdge('tools', 'agent')
    .compile(saver === null ? {} : { checkpointer: saver.checkpointer });
  let runs = 0;
  async function run() {
    runs += 1;
    const options = { configurable: { thread_id: `run-${runs}` }, recursionLimit: 1_000, durability: 'sync' };
    await graph.invoke({ messages: [{ role: 'user', content: PROMPT }] }, options);
  }
  return { run, close: async () => saver?.close() };
}

/** Its default, synchronous=NORMAL, syncs no commit. */
async function sqliteSaver(file) {
  const { SqliteSaver } = await import('@langchain/langgraph-checkpoint-sqlite');
  const { default: Database } = await import('better-sqlite3');
  const db = new Database(file);
  const checkpointer = new SqliteSaver(db);
  checkpointer.setup?.();
  db.pragma('synchronous = FULL');
  return { checkpointer, close: () => db.close() };
}

/** `over`: the row that this one is compared with. */
export const ROWS = {
  'AI SDK': { open: bare },
  'refold, calls that read': { over: 'AI SDK', open: (world) => refold(world, 'read') },
  'refold, calls that write': { over: 'AI SDK', open: (world) => refold(world, 'safe_write') },
  DBOS: { over: 'AI SDK', needs: 'REFOLD_POSTGRES', open: dbos },
  LangGraph: { open: (world) => langgraph(world, false) },
  'LangGraph, SqliteSaver': { over: 'LangGraph', open: (world) => langgraph(world, true) },
};
