// Turns of a graph: answers of its model, or, where the model is not on record, the calls that its tool node runs together.
import type { Json } from '../../schemas/index.ts';
import type { LoopTool } from '../durable/loop-tools.ts';
import type { Durable } from '../durable/open-durable.ts';
import type { GraphCall } from './sdk.ts';

type CallWithId = GraphCall & { readonly id: string };

export interface Steps {
  /** Gives the turn of the model. */
  readonly turn: Durable['turn'];
  /**
   * Resolves with the id of the call on record: in the turn of the model, or in a turn of the calls that arrive together. A call
   * of a graph without a model is known by its id, its tool and its arguments.
   */
  readonly ready: (call: CallWithId) => Promise<string>;
}

interface StepsOptions extends Pick<Durable, 'turn' | 'takeUp'> {
  readonly tools: readonly LoopTool[];
}

export function newSteps({ turn, takeUp, tools }: StepsOptions): Steps {
  /** The ids of the calls in turns of the model: refold has made them, and each names one call. */
  const known = new Set<string>();
  let gathered: CallWithId[] = [];
  let recording: Promise<ReadonlyMap<CallWithId, string>> | null = null;

  async function record(): Promise<ReadonlyMap<CallWithId, string>> {
    // A tool node begins all calls of an answer in the same turn of the event loop.
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
    const calls = gathered;
    gathered = [];
    recording = null;
    // A graph with a checkpointer goes on with calls whose turn is on record.
    const found = await takeUp(calls.map(broughtCall), tools);
    const fresh = calls.filter((_, index) => found[index] === null);
    const ids = fresh.length === 0 ? [] : await newTurn(fresh);
    return new Map(calls.map((call, index) => [call, found[index] ?? ids[fresh.indexOf(call)] ?? call.id]));
  }

  async function newTurn(calls: readonly CallWithId[]): Promise<readonly string[]> {
    const recorded = await turn({
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
    return recorded.calls.map(({ id }) => id);
  }

  return {
    async turn(request) {
      const recorded = await turn(request);
      for (const { id } of recorded.calls) known.add(id);
      return recorded;
    },
    async ready(call) {
      if (known.has(call.id)) return call.id;
      gathered.push(call);
      const ids = await (recording ??= record());
      return ids.get(call) ?? call.id;
    },
  };
}

const broughtCall = ({ id, name, args }: CallWithId) => ({ id, tool: name, given: args });

const plain = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json;
