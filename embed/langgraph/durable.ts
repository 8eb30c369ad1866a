// A graph of LangGraph on the record of a session: its chat model, and the tools of its tool node.
import type { JsonObject } from '../../schemas/index.ts';
import type { LoopTool, ToolHints } from '../durable/loop-tools.ts';
import { type DurableOptions, type DurableRun, openDurable } from '../durable/open-durable.ts';
import { inputSchemaOf } from '../tools/json-schema.ts';
import type { AnswerMessage } from './answer.ts';
import { checkGraphModel, durableGraphModel } from './model.ts';
import type { GraphModel, GraphTool } from './sdk.ts';
import { newSteps } from './steps.ts';
import { durableGraphTool } from './tools.ts';

export interface DurableGraphOptions<Model extends GraphModel, Tool extends GraphTool> extends DurableOptions {
  /** The tools of the tool node. */
  readonly tools: readonly Tool[];
  /**
   * The chat model of the graph. Without it only the calls are recorded: then the graph needs a checkpointer that survives the
   * process, so that it makes the same calls again, and `complete()` must end the run.
   */
  readonly model?: Model;
  /**
   * Makes a message of a recorded answer, for graphs that take nothing else, such as the prebuilt agent:
   * `(fields) => new AIMessage(fields)`. By default it is an object of type `ai`, which the state of a graph makes a message of.
   * It also makes the one chunk of a recorded answer that is streamed.
   */
  readonly toMessage?: (fields: AnswerMessage) => object;
  /** Its name, for the record; `chat_model` when absent. */
  readonly modelName?: string;
  /** What a call of a tool may do, by the name of the tool. */
  readonly hints?: Readonly<Record<string, ToolHints>>;
}

/** What the graph takes in place of its own. */
export interface DurableGraph<Model extends GraphModel, Tool extends GraphTool> extends DurableRun {
  /**
   * Absent when `durable` was given none. Its `invoke()` and `stream()` ask on record, as does what is made of it by
   * `bindTools()`, `withConfig()`, `pipe()` and the like; any other method that would ask throws a TypeError.
   */
  readonly model: Model;
  /** For `new ToolNode(tools)` and for `model.bindTools(tools)`. */
  readonly tools: Tool[];
}

/**
 * Opens a session for a graph. Throws a `SessionInUse` when another loop has it, and a TypeError for tools that cannot be
 * offered to a model, and for a sequence in place of a model.
 */
export async function durable<Tool extends GraphTool, Model extends GraphModel = never>(
  options: DurableGraphOptions<Model, Tool>,
): Promise<DurableGraph<Model, Tool>> {
  const { model, modelName = 'chat_model', tools, hints = {}, toMessage = (fields) => fields } = options;
  if (model !== undefined) checkGraphModel(model);
  const known = tools.map((tool) => loopToolOf(tool, hints[tool.name]));
  const {
    turn,
    call,
    question: _,
    takeUp,
    ...run
  } = await openDurable(options, {
    api: 'langchain.chat_model',
    model: modelName,
  });
  const steps = newSteps({ turn, takeUp, tools: known });
  const wrapped =
    model === undefined
      ? (undefined as never)
      : durableGraphModel(model, { turn: steps.turn, tools: known, toMessage });
  return {
    ...run,
    model: wrapped,
    tools: tools.map((tool) => durableGraphTool(tool, { call, ready: steps.ready })),
  };
}

/** The tool checks its arguments itself, so that one whose library makes no JSON Schema takes any object. */
function loopToolOf({ name, description, schema }: GraphTool, hints: ToolHints = {}): LoopTool {
  return { name, description, schema: schemaOf(name, schema), ...hints };
}

function schemaOf(name: string, schema: object): JsonObject {
  try {
    return inputSchemaOf(name, schema);
  } catch {
    return { type: 'object' };
  }
}
