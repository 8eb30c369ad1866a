// A model of the framework whose answers come from the record.
import type { LoopTool } from '../durable/loop-tools.ts';
import type { Durable } from '../durable/open-durable.ts';
import type { Asked, RecordedTurn, TurnReply, TurnRequest } from '../durable/turn.ts';
import { newEventQueue } from '../durable/event-queue.ts';
import { agentsInputWithIds, readAgentsPrompt } from './prompt.ts';
import { agentsReply, responseOf } from './reply.ts';
import type { AgentsModel, AgentsRequest, AgentsResponse } from './sdk.ts';

interface DurableModelOptions extends Pick<Durable, 'turn'> {
  readonly tools: readonly LoopTool[];
}

export function durableAgentsModel<Model extends AgentsModel>(
  model: Model,
  { turn, tools }: DurableModelOptions,
): Model {
  const requestOf = (request: AgentsRequest, ask: (asked: Asked) => Promise<TurnReply>): TurnRequest => ({
    ...readAgentsPrompt(request),
    tools: [...tools, ...request.handoffs.map(handoffTool)],
    signal: request.signal,
    ask,
  });

  async function getResponse(request: AgentsRequest): Promise<AgentsResponse> {
    const recorded = await turn(
      requestOf(request, async (asked) => agentsReply(await model.getResponse(sentRequest(request, asked)))),
    );
    return responseOf(recorded);
  }

  async function* getStreamedResponse(request: AgentsRequest): AsyncGenerator<object> {
    const queue = newEventQueue();
    const recording = turn(
      requestOf(request, async (asked) => {
        let done: AgentsResponse | null = null;
        for await (const event of model.getStreamedResponse(sentRequest(request, asked))) {
          done = responseIn(event) ?? done;
          // The answer is told when it is durable, not before.
          if (responseIn(event) !== null) continue;
          const delta = textIn(event);
          if (delta !== null) asked.onDelta({ kind: 'text', text: delta });
          queue.push(event);
        }
        if (done === null) throw new Error('the stream of the model ended before its answer: ask it again');
        return agentsReply(done);
      }),
    );
    recording.then(queue.end, queue.fail);
    yield* queue.events();
    const recorded = await recording;
    if (recorded.replayed) yield* replayedEvents(recorded);
    const { responseId = `turn_${recorded.turn}`, ...response } = responseOf(recorded);
    yield { type: 'response_done', response: { id: responseId, ...response } };
  }

  return Object.assign(Object.create(model) as Model, { getResponse, getStreamedResponse });
}

/** What the model is asked: the provider knows the calls by its own ids. */
const sentRequest = (request: AgentsRequest, { signal, providerId }: Asked): AgentsRequest => ({
  ...request,
  input: agentsInputWithIds(request.input, providerId),
  signal,
});

/** The framework runs it by itself; its result is in the next prompt. */
const handoffTool = ({ toolName, toolDescription, inputJsonSchema }: AgentsRequest['handoffs'][number]): LoopTool => ({
  name: toolName,
  description: toolDescription,
  schema: inputJsonSchema as LoopTool['schema'],
  mode: 'read',
});

/** The answer that ends a stream; null for any other event. */
function responseIn(event: object): AgentsResponse | null {
  if (!('type' in event) || event.type !== 'response_done') return null;
  const { id, ...response } = (event as unknown as { readonly response: AgentsResponse & { readonly id: string } })
    .response;
  return { ...response, responseId: id };
}

const textIn = (event: object): string | null =>
  'type' in event && event.type === 'output_text_delta' && 'delta' in event ? String(event.delta) : null;

function* replayedEvents({ content }: RecordedTurn): Generator<object> {
  yield { type: 'response_started' };
  if (content !== '') yield { type: 'output_text_delta', delta: content };
}
