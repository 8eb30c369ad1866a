// A language model whose answers are recorded before the loop gets them, and come from the record when it asks again.
import type { JsonObject } from '../../schemas/index.ts';
import type { LoopTool } from '../durable/loop-tools.ts';
import type { Durable } from '../durable/open-durable.ts';
import type { Asked, TurnReply, TurnRequest } from '../durable/turn.ts';
import { answerOf, turnReplyOf } from './answer-parts.ts';
import { completeAnswer } from './complete-answer.ts';
import type { AiSdkModel, ModelAnswer, ModelCall } from './model-types.ts';
import { comparedPrompt, inputOf, instructionsOf, resultsIn } from './prompt.ts';
import { storedValue } from './stored-value.ts';
import { type StreamPart, isActedOn, newArrivingAnswer, streamOf } from './stream-parts.ts';

/** A tool that the application gave, without its schema, which the loop tells with each turn. */
export type KnownTool = Omit<LoopTool, 'schema' | 'description'>;

/** The same model, for one session. */
export function durableModel<M extends AiSdkModel>(model: M, core: Durable, known: readonly KnownTool[]): M {
  const requestOf = (call: ModelCall, ask: TurnRequest['ask']): TurnRequest => ({
    prompt: comparedPrompt(call.prompt),
    input: inputOf(call.prompt),
    instructions: instructionsOf(call.prompt),
    tools: toolsOf(call, known),
    results: resultsIn(call.prompt),
    signal: call.abortSignal,
    ask,
  });

  async function doGenerate(call: ModelCall): Promise<ModelAnswer> {
    const ask = async ({ signal }: Asked): Promise<TurnReply> =>
      turnReplyOf(completeAnswer((await model.doGenerate({ ...call, abortSignal: signal })) as ModelAnswer));
    return answerOf(await core.turn(requestOf(call, ask)));
  }

  async function doStream(call: ModelCall): Promise<{ readonly stream: ReadableStream<StreamPart> }> {
    const shown = newShownStream();
    const ask = async ({ signal, onDelta }: Asked): Promise<TurnReply> => {
      const { stream } = (await model.doStream({ ...call, abortSignal: signal })) as {
        readonly stream: ReadableStream<StreamPart>;
      };
      shown.open();
      const answer = newArrivingAnswer(onDelta);
      for await (const part of stream) {
        answer.add(part);
        shown.show(part);
      }
      return turnReplyOf(answer.whole());
    };
    const turn = core.turn(requestOf(call, ask)).then(answerOf);
    turn.then(shown.end, shown.fail);
    // A request that fails at once is the loop's to repeat; later, its stream ends with the error.
    await Promise.race([shown.opened, turn]);
    return { stream: shown.stream };
  }

  const { specificationVersion, provider, modelId, supportedUrls } = model;
  return { specificationVersion, provider, modelId, supportedUrls, doGenerate, doStream } as unknown as M;
}

interface ShownStream {
  readonly stream: ReadableStream<StreamPart>;
  /** Resolves when the model has begun to answer. */
  readonly opened: Promise<void>;
  readonly open: () => void;
  /** Shows a part, unless the loop would act on it or on one before it. */
  readonly show: (part: StreamPart) => void;
  /** The answer is on record: shows what is left of it. */
  readonly end: (answer: ModelAnswer) => void;
  readonly fail: (error: unknown) => void;
}

function newShownStream(): ShownStream {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  let controller: ReadableStreamDefaultController<StreamPart> | null = null;
  const stream = new ReadableStream<StreamPart>({ start: (given) => void (controller = given) });
  const held: StreamPart[] = [];
  let isOpen = false;
  let isLeft = false;
  const give = (part: StreamPart): void => {
    try {
      controller?.enqueue(part);
    } catch {
      // The reader has left: the turn is recorded all the same.
      isLeft = true;
    }
  };
  const close = (): void => {
    if (!isLeft) controller?.close();
  };
  return {
    stream,
    opened,
    open() {
      isOpen = true;
      open();
    },
    show(part) {
      if (held.length > 0 || isActedOn(part)) held.push(part);
      else give(part);
    },
    end(answer) {
      for (const part of isOpen ? recordedParts(held, answer) : streamOf(answer)) give(part);
      close();
    },
    fail(error) {
      if (!isOpen) return;
      give({ type: 'error', error });
      close();
    },
  };
}

/** What was held back, with the calls as they are on record. */
function* recordedParts(held: readonly StreamPart[], { content }: ModelAnswer): Iterable<StreamPart> {
  const calls = content.filter((part) => part.type === 'tool-call' && part['providerExecuted'] !== true);
  let next = 0;
  for (const part of held) {
    const isCall = part.type === 'tool-call' && isActedOn(part);
    yield isCall ? (calls[next++] ?? part) : part;
  }
}

function toolsOf({ tools = [] }: ModelCall, known: readonly KnownTool[]): readonly LoopTool[] {
  const offered = new Map(tools.filter(({ type }) => type === 'function').map((tool) => [tool.name, tool]));
  const unknown = [...offered.keys()].find((name) => known.every((tool) => tool.name !== name));
  if (unknown !== undefined) {
    throw new TypeError(`the tool "${unknown}" is not on record: give it to durable(), and pass on agent.tools`);
  }
  return known.map((tool) => {
    const { description = '', inputSchema = null } = offered.get(tool.name) ?? {};
    const schema = inputSchema === null ? null : (storedValue(inputSchema) as JsonObject);
    const { $schema: _draft, ...rest } = schema ?? {};
    return { ...tool, description, schema: schema === null ? null : rest };
  });
}
