// The model and the tools of a measured turn: a model that answers at once with five calls until its turns are used up,
// and tools that do nothing. The name of the model holds the number of turns, so that every process knows it.
import type { JsonObject } from '../schemas/json.ts';
import type { CallReport } from '../bridge/executors/call-report.ts';
import { type Executor, type Executors, combineExecutors } from '../bridge/executors/executors.ts';
import type { GenerateReply, GenerateRequest, Provider } from '../bridge/providers/provider.ts';
import { scriptedProvider } from '../bridge/providers/scripted.ts';
import { TURN_CALLS, outputOf, pathOf } from './stream.ts';

export const modelOf = (turns: number): string => `turns-${turns}`;

const turnsOf = (model: string): number => Number(model.replace('turns-', ''));

/** Called at the first generate of a run, and at the one after its last turn. */
export type OnTurns = (session: string, which: 'first' | 'last') => void;

export function benchProvider(onTurns: OnTurns): Provider {
  return scriptedProvider(({ session_id, turn, model }) => {
    if (turn === 1) onTurns(session_id, 'first');
    if (turn <= turnsOf(model)) return fiveCalls(turn);
    onTurns(session_id, 'last');
    return { content: 'done', calls: [] };
  });
}

function fiveCalls(turn: GenerateRequest['turn']): GenerateReply {
  const calls = Array.from({ length: TURN_CALLS }, (_, index) => ({
    id: `call-${turn}-${index}`,
    name: 'noop',
    arguments: { path: pathOf(turn, index) },
  }));
  return { calls };
}

const noop: Executor = {
  tools: ['bench.noop'],
  run: (_call, args): Promise<CallReport> => Promise.resolve({ success: true, text: outputOf(calledPath(args)) }),
};

export const benchExecutors = (): Executors => combineExecutors([noop]);

/** How long the model and the tools take when sessions are to be killed during their work. */
const SLOW_MS = { firstGenerate: 100, generate: 20_000, call: 100, stuckCall: 60_000 } as const;

/** One in this many sessions is in a call that may not be repeated. */
const STUCK_EVERY = 20;

/** The name of a session of the restart figure. */
export const markedSession = (index: number): string => `marked-${index}`;

const isStuck = (session: string): boolean => Number(session.replace('marked-', '')) % STUCK_EVERY === 0;

const later = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });

/** Every turn has a call that may not be repeated. After the first turn the model takes long. It never ends. */
export function markingProvider(): Provider {
  return scriptedProvider(async ({ turn }) => {
    await later(turn === 1 ? SLOW_MS.firstGenerate : SLOW_MS.generate);
    const { calls } = fiveCalls(turn);
    return { calls: calls.map((call, index) => (index === 0 ? { ...call, name: 'once' } : call)) };
  });
}

/** `mark` gets the name of each call that may not be repeated, when it runs. */
export function markingExecutors(mark: (name: string) => void): Executors {
  const slow = async (path: string, ms: number): Promise<CallReport> => {
    await later(ms);
    return { success: true, text: outputOf(path) };
  };
  const read: Executor = { tools: ['bench.noop'], run: (_call, args) => slow(calledPath(args), SLOW_MS.call) };
  const once: Executor = {
    tools: ['bench.once'],
    run: ({ session_id, call_id }, args) => {
      mark(`${session_id} ${call_id}`);
      return slow(calledPath(args), isStuck(session_id) ? SLOW_MS.stuckCall : SLOW_MS.call);
    },
  };
  return combineExecutors([read, once]);
}

const calledPath = (args: JsonObject): string => (typeof args['path'] === 'string' ? args['path'] : '');
