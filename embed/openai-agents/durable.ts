// An agent of OpenAI Agents JS on the record of a session: its model and its tools, as the framework's own loop takes them.
import { inputSchemaOf } from '../tools/json-schema.ts';
import { type LoopTool, type ToolHints } from '../durable/loop-tools.ts';
import { type DurableOptions, type DurableRun, openDurable } from '../durable/open-durable.ts';
import { durableAgentsModel } from './model.ts';
import type { AgentsModel, AgentsTool } from './sdk.ts';
import { durableAgentsTool, isAlwaysAsking } from './tools.ts';

export interface DurableAgentOptions<Model extends AgentsModel, Tool extends AgentsTool> extends DurableOptions {
  /** The model of the agent, such as `await new OpenAIProvider().getModel('gpt-…')`. */
  readonly model: Model;
  /** Its name, for the record; `agents` when absent. */
  readonly modelName?: string;
  /** Its function tools. Other kinds of tools go to the agent as they are, and are not recorded as calls. */
  readonly tools?: readonly Tool[];
  /** What a call of a tool may do, by the name of the tool. */
  readonly hints?: Readonly<Record<string, ToolHints>>;
}

/** What the agent takes in place of its own. */
export interface DurableAgent<Model extends AgentsModel, Tool extends AgentsTool> extends DurableRun {
  /** The model, whose answers come from the record; a turn that is not on record is asked of the model that was given. */
  readonly model: Model;
  /** Gives the same model for every name, for `new Runner({ modelProvider })`. */
  readonly modelProvider: {
    /** Returns the model. The name is not read. */
    readonly getModel: (name?: string) => Model;
  };
  /** The function tools, in the order given; their functions run as calls of the session. */
  readonly tools: Tool[];
}

/**
 * Opens a session for an agent. Throws a `SessionInUse` when another loop has it, and a TypeError for tools that cannot be
 * offered to a model.
 */
export async function durable<Model extends AgentsModel, Tool extends AgentsTool>(
  options: DurableAgentOptions<Model, Tool>,
): Promise<DurableAgent<Model, Tool>> {
  const { model, modelName = 'agents', tools = [], hints = {} } = options;
  const known: LoopTool[] = [];
  for (const tool of tools) known.push(await loopToolOf(tool, hints[tool.name]));
  const {
    turn,
    call,
    question,
    takeUp: _,
    ...run
  } = await openDurable(options, { api: 'openai_agents.model', model: modelName });
  const durableOne = durableAgentsModel(model, { turn, tools: known });
  return {
    ...run,
    model: durableOne,
    modelProvider: { getModel: () => durableOne },
    tools: tools.map((tool) => durableAgentsTool(tool, { call, question })),
  };
}

/** The framework bounds the time of a call from when it is asked for; the record, from when it may run. */
async function loopToolOf(tool: AgentsTool, hints: ToolHints = {}): Promise<LoopTool> {
  const { name, description, parameters, timeoutMs } = tool;
  return {
    name,
    description,
    schema: inputSchemaOf(name, parameters),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...((await isAlwaysAsking(tool)) ? { ask: true } : {}),
    ...hints,
  };
}
