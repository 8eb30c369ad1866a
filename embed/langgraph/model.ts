// A chat model whose answers come from the record. It inherits everything else from the model that it stands for.
import type { LoopTool } from '../durable/loop-tools.ts';
import type { Durable } from '../durable/open-durable.ts';
import { type AnswerMessage, graphAnswer, graphReply } from './answer.ts';
import { graphInputWithIds, readGraphPrompt } from './prompt.ts';
import type { GraphModel } from './sdk.ts';

interface DurableModelOptions extends Pick<Durable, 'turn'> {
  readonly tools: readonly LoopTool[];
  readonly toMessage: (fields: AnswerMessage) => object;
}

type Invoke = (input: unknown, config?: { readonly signal?: AbortSignal }) => Promise<unknown>;
type BindTools = (tools: readonly unknown[], options?: unknown) => GraphModel;

export function durableGraphModel<Model extends GraphModel>(model: Model, options: DurableModelOptions): Model {
  const { turn, tools, toMessage } = options;
  const invoke: Invoke = async (input, config = {}) => {
    const recorded = await turn({
      ...readGraphPrompt(input),
      tools,
      signal: config.signal,
      ask: async ({ signal, providerId }) =>
        graphReply(await model.invoke(graphInputWithIds(input, providerId) as never, { ...config, signal } as never)),
    });
    return toMessage(graphAnswer(recorded));
  };
  const bindTools: BindTools = (given, further) => {
    const bound = model.bindTools?.(given as never, further as never);
    if (bound === undefined) throw new TypeError('this model takes no tools: it has no bindTools()');
    return durableGraphModel(bound, options);
  };
  return Object.assign(Object.create(model) as Model, { invoke }, model.bindTools === undefined ? {} : { bindTools });
}
