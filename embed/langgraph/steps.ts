// Turns of a graph: answers of its model, or, where the model is not on record, the calls that its tool node runs together.
import type { Json } from '../../schemas/index.ts';
import type { LoopTool } from '../durable/loop-tools.ts';
import type { Durable } from '../durable/open-durable.ts';
import type { GraphCall } from './sdk.ts';

type CallWithId = GraphCall & { readonly id: string };

export interface Steps {
  /** Gives the turn of the model. */
  readonly turn: Durable['turn'];
  /** Resolves when the call is on record: in the turn of the model, or in a turn of the calls that arrive together. */
  readonly ready: (call: CallWithId) => Promise<void>;
}

interface StepsOptions extends Pick<Durable, 'turn' | 'takeUp'> {
  readonly tools: readonly LoopTool[];
}

export function newSteps({ turn, takeUp, tools }: StepsOptions): Steps {
  const known = new Set<string>();
  let gathered: CallWithId[] = [];
  let recording: Promise<void> | null = null;

  async function record(): Promise<void> {
    // A tool node begins all calls of an answer in the same turn of the event loop.
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
    const calls = gathered;
    gathered = [];
    recording = null;
    const [first] = calls;
    // A graph with a checkpointer goes on with calls whose turn is on record.
    if (first === undefined || (await takeUp(first.id, tools))) return;
    await turn({
      prompt: [{ role: 'loop', content: calls.map(({ id, name, args }) => plain([id, name, args])) }],
      input: '',
      instructions: null,
      tools,
      results: new Map(),
      standsAlone: true,
      ask: () =>
        Promise.resolve({
          content: '',
          calls: calls.map(({ id, name, args }) => ({ id, name, arguments: plain(args) })),
          parts: calls.map((_, call) => ({ call })),
          stop: { reason: 'calls' },
        }),
    });
  }

  return {
    async turn(request) {
      const recorded = await turn(request);
      for (const { id } of recorded.calls) known.add(id);
      return recorded;
    },
    async ready(call) {
      if (known.has(call.id)) return;
      known.add(call.id);
      gathered.push(call);
      await (recording ??= record());
    },
  };
}

const plain = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json;
