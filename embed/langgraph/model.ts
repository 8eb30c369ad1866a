// A chat model whose answers come from the record, however it is asked.
import { newEventQueue } from '../durable/event-queue.ts';
import type { LoopTool } from '../durable/loop-tools.ts';
import type { Durable } from '../durable/open-durable.ts';
import type { Asked, RecordedTurn, TurnReply } from '../durable/turn.ts';
import { type AnswerMessage, graphAnswer, graphReply } from './answer.ts';
import { type GraphChunk, joined, newArrivingChunks } from './chunks.ts';
import { graphInputWithIds, readGraphPrompt } from './prompt.ts';
import type { GraphModel } from './sdk.ts';
import { HARMLESS, standIn } from './stand-in.ts';

interface DurableModelOptions extends Pick<Durable, 'turn'> {
  readonly tools: readonly LoopTool[];
  readonly toMessage: (fields: AnswerMessage) => object;
}

interface Config {
  readonly signal?: AbortSignal;
}

type Ask = (input: never, config: never, asked: Asked) => Promise<TurnReply>;

/** The further methods of a chat model of the framework, as far as they are used. */
interface FullModel extends GraphModel {
  stream?(input: never, config?: never): Promise<AsyncIterable<GraphChunk>>;
  pipe?(...given: unknown[]): object;
}

const STAND_IN = {
  what: 'chat model',
  use: 'invoke() or stream(), and stream the events of the graph, not of its model',
  harmless: new Set([
    ...HARMLESS,
    '_filterInvocationParamsForTracing',
    '_getCallOptionsForTracing',
    '_getInvocationParamsForTracing',
    '_getSerializedCacheKeyParametersForCall',
    '_identifyingParams',
    '_llmType',
    '_mergeConfig',
    '_modelType',
    '_separateRunnableConfigFromCallOptionsCompat',
    'getLsParams',
    'getLsParamsWithDefaults',
    'getNumTokens',
    'invocationParams',
    'serialize',
  ]),
  composing: new Set(['asTool', 'assign', 'getGraph', 'pick', 'pipe']),
};

/** Methods that give the same model with more to ask it. */
const VARIANTS = ['bindTools', 'withConfig', 'withListeners', 'withRetry'] as const;

/** Throws a TypeError for a sequence: its steps could be asked one by one. */
export function checkGraphModel(model: GraphModel): void {
  if ('middle' in model && Array.isArray(model.middle)) {
    throw new TypeError('a sequence is no chat model: give the chat model, and make the sequence of the durable one');
  }
}

export function durableGraphModel<Model extends GraphModel>(model: Model, options: DurableModelOptions): Model {
  const { turn, tools, toMessage } = options;
  const full: FullModel = model;

  const answered = (input: unknown, config: Config, ask: Ask): Promise<RecordedTurn> =>
    turn({
      ...readGraphPrompt(input),
      tools,
      signal: config.signal,
      ask: (asked) =>
        ask(graphInputWithIds(input, asked.providerId) as never, { ...config, signal: asked.signal } as never, asked),
    });

  async function invoke(input: unknown, config: Config = {}): Promise<object> {
    const recorded = await answered(input, config, async (sent, settings) =>
      graphReply(await model.invoke(sent, settings)),
    );
    return toMessage(graphAnswer(recorded));
  }

  /** What the model writes is shown as it comes, up to its first call; the rest follows when it is on record. */
  async function* chunksOf(input: unknown, config: Config = {}): AsyncGenerator<object> {
    if (full.stream === undefined) {
      yield await invoke(input, config);
      return;
    }
    const queue = newEventQueue();
    const arriving = newArrivingChunks();
    const recording = answered(input, config, async (sent, settings, { onDelta }) => {
      for await (const chunk of (await full.stream?.(sent, settings)) ?? []) {
        const text = arriving.add(chunk);
        if (text === null) continue;
        if (text !== '') onDelta({ kind: 'text', text });
        queue.push(chunk);
      }
      return graphReply(arriving.whole());
    });
    recording.then(queue.end, queue.fail);
    yield* queue.events();
    const recorded = await recording;
    const rest = recorded.replayed ? toMessage(graphAnswer(recorded)) : arriving.rest(recorded.calls);
    if (rest !== null) yield rest;
  }

  const own: Record<string, unknown> = { invoke, ...streaming(chunksOf) };
  for (const name of VARIANTS) {
    const variant: unknown = (model as Readonly<Record<string, unknown>>)[name];
    if (typeof variant !== 'function') continue;
    own[name] = (...given: unknown[]): GraphModel =>
      durableGraphModel(Reflect.apply(variant, model, given) as GraphModel, options);
  }
  if ('withStructuredOutput' in model) own['withStructuredOutput'] = structuredOutput(full, own, () => durable);
  const durable = standIn(model, own, {
    ...STAND_IN,
    within: (held) => durableGraphModel(held as GraphModel, options),
  });
  durables.add(durable);
  return durable;
}

type ChunksOf = (input: unknown, config?: Config) => AsyncGenerator<object>;

/** The ways in which the framework streams. */
function streaming(chunksOf: ChunksOf) {
  return {
    _streamIterator: chunksOf,
    async stream(input: unknown, config?: Config): Promise<ReadableStream<object>> {
      const chunks = chunksOf(input, config);
      // A request that fails at once is the graph's to repeat; later, its stream ends with the error.
      const first = await chunks.next();
      return new ReadableStream({
        start(controller) {
          if (first.done !== true) controller.enqueue(first.value);
        },
        async pull(controller) {
          const next = await chunks.next();
          if (next.done === true) controller.close();
          else controller.enqueue(next.value);
        },
      });
    },
    /** As a step of a sequence that is streamed. */
    async *transform(given: AsyncIterable<unknown>, config?: Config): AsyncGenerator<object> {
      let input: unknown;
      for await (const piece of given) input = input === undefined ? piece : joined(input, piece);
      yield* chunksOf(input, config);
    },
  };
}

const durables = new WeakSet();

/**
 * The method of the model, which asks the object that it is called on by methods that are durable. Throws a TypeError for a
 * model that asks in another way.
 */
function structuredOutput(model: FullModel, own: object, durable: () => FullModel): (...given: unknown[]) => object {
  const pipe = (...given: unknown[]): unknown => durable().pipe?.(...given);
  return (...given) => {
    // Its class may have methods for it that are not listed.
    const asked = Object.assign(Object.create(model) as FullModel, own, { pipe });
    const made = Reflect.apply(Reflect.get(model, 'withStructuredOutput') as () => object, asked, given);
    if (holdsDurable(made, DEPTH_MAX)) return made;
    throw new TypeError('withStructuredOutput() of this model goes around the record: bind a tool, and read its call');
  };
}

/** A sequence, a map of steps and a binding lie between the result and the model. */
const DEPTH_MAX = 6;

const holdsDurable = (made: unknown, depth: number): boolean =>
  typeof made === 'object' &&
  made !== null &&
  (durables.has(made) || (depth > 0 && Object.values(made).some((held) => holdsDurable(held, depth - 1))));
