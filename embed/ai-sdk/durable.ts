// `durable()`: the loop of the AI SDK, unchanged, on the record of a session.
import { type DurableOptions as CoreOptions, type DurableRun, openDurable } from '../durable/open-durable.ts';
import type { ToolHints } from '../durable/loop-tools.ts';
import { durableModel } from './durable-model.ts';
import { type AiSdkTools, durableTools, knownTools } from './durable-tools.ts';
import { type AiSdkModel, checkModel } from './model-types.ts';

/** Give `dataDir`, or `engine` with its `token`; the session, the model and the tools. */
export interface DurableOptions<Model extends AiSdkModel, Tools extends AiSdkTools> extends CoreOptions {
  /** A language model object of the SDK, of specification v3 or v4. */
  readonly model: Model;
  /** Every tool that the loop may use. */
  readonly tools?: Tools;
  /** What refold should know of a tool besides: its mode, and whether a call may run again after a crash. */
  readonly hints?: { readonly [Name in keyof Tools]?: ToolHints };
}

/** A model and tools to give to `generateText` and `streamText` in place of one's own. */
export interface DurableAgent<Model, Tools> extends DurableRun {
  /** The model, whose answers come from the record; a turn that is not on record is asked of the model that was given. */
  readonly model: Model;
  /** The tools under the same names; their functions run as calls of the session. */
  readonly tools: Tools;
}

/**
 * Opens a session for one loop. Throws a `SessionInUse` when another one has it, a TypeError for what cannot be used, and a
 * RejectedError when the engine refuses.
 */
export async function durable<Model extends AiSdkModel, Tools extends AiSdkTools = Record<never, AiSdkTools[string]>>(
  options: DurableOptions<Model, Tools>,
): Promise<DurableAgent<Model, Tools>> {
  const { tools = {} as Tools, hints = {} } = options;
  const model = checkModel(options.model) as Model;
  const core = await openDurable(options, { api: 'ai_sdk.language_model', model: model.modelId });
  const { turn: _turn, call: _call, question: _question, takeUp: _takeUp, ...run } = core;
  return {
    ...run,
    model: durableModel(model, core, knownTools(tools, hints as Readonly<Record<string, ToolHints>>)),
    tools: durableTools(tools, core),
  };
}
