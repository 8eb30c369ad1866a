// The model of a simulated world: it answers each turn as the scenario says, in any order of runs.
import type { OwnerId, SessionId } from '../../schemas/ids.ts';
import { INLINE_CHARS_MAX } from '../../schemas/limits.ts';
import { unreachable } from '../../schemas/rejection.ts';
import { type Model, type ModelDelta, ModelError, type ModelReply, type ModelRequest } from './bridge-world.ts';
import { checkConversation } from './laws/conversation-laws.ts';
import type { Judge } from './laws/judge.ts';
import type { StoredSession } from './laws/stored-session.ts';
import { type AnswerScript, type CompactScript, DELTA_MARK, type ModelScript } from './model-script.ts';
import type { CallScript, SessionScript } from './scenario.ts';
import { type ProcessClock, never } from './sim-time.ts';
import { scriptedArguments, stoppedWithin } from './sim-tools.ts';

interface SimModelOptions {
  readonly script: (session: SessionId) => SessionScript;
  readonly storedSessions: ReadonlyMap<SessionId, StoredSession>;
  readonly judge: Judge;
  readonly trace: (line: string) => void;
}

/** The process that asks. */
interface Asker {
  readonly owner: OwnerId;
  readonly clock: ProcessClock;
  /** Ends the process, if a process may end now. */
  readonly die: () => boolean;
}

export type SimModels = (asker: Asker) => Model;

/** Whether the model is asked for a summary: it is offered no tools. */
const asksForSummary = ({ tools }: ModelRequest): boolean => tools.length === 0;

/** All bridges ask one model. It knows which requests it has failed once. */
export function newSimModels({ script, storedSessions, judge, trace }: SimModelOptions): SimModels {
  const failed = new Set<string>();

  /** True for the first request of this name. */
  function isFirst(name: string): boolean {
    const first = !failed.has(name);
    failed.add(name);
    return first;
  }

  async function answer(request: ModelRequest, written: Written, isTold: boolean): Promise<ModelReply> {
    const { session_id, run_id, turn } = request;
    const session = script(session_id);
    const said = saidBy(session.model, request);
    if (said === null) return simReply(request, session);
    const name = `${session_id} ${run_id} ${turn}`;
    if (said.how === 'is_too_long') throw new ModelError('context_length', 'the conversation is too long');
    if (said.how === 'is_busy' && isFirst(name)) throw new ModelError('provider_retryable', 'busy');
    const onDelta = isTold ? written.onDelta : undefined;
    onDelta?.({ kind: 'thinking', text: `${DELTA_MARK} thought of ${name}` });
    await written.pass(said.ms / 2);
    onDelta?.({ kind: 'text', text: `${DELTA_MARK} of ${name}` });
    await written.pass(said.ms / 2);
    return spokenReply(simReply(request, session), said, `${run_id} ${turn}`);
  }

  async function summary(request: ModelRequest, { die }: Asker): Promise<ModelReply> {
    const { session_id, run_id, turn } = request;
    const how = compactionBy(script(session_id).model, request);
    const name = `${session_id} ${run_id} ${turn} summary`;
    const usage = { input_tokens: 15, output_tokens: 5 };
    const reply: ModelReply = { content: `the summary of ${run_id} ${turn}`, calls: [], usage };
    switch (how) {
      case 'summarises':
        return reply;
      case 'is_busy':
        if (isFirst(name)) throw new ModelError('provider_retryable', 'busy');
        return reply;
      case 'is_too_long':
        if (isFirst(name)) throw new ModelError('context_length', 'the conversation is too long');
        return reply;
      case 'dies':
        if (isFirst(name) && die()) return await never();
        return reply;
      case 'fails':
        throw new Error('the model does not summarise');
      case 'calls':
        return { calls: [{ id: `${run_id}.${turn}.no`, name: 'read', arguments: {} }] };
      case 'is_empty':
        return { content: ' ', calls: [] };
    }
    return unreachable(how);
  }

  return (asker) => ({
    generate: async (request, signal, onDelta) => {
      const { session_id, run_id, turn } = request;
      const stored = storedSessions.get(session_id);
      if (stored === undefined) throw new Error(`there is no session ${session_id}`);
      const isSummary = asksForSummary(request);
      trace(`${asker.owner} asks the model ${isSummary ? 'for a summary ' : ''}${run_id} ${turn}`);
      if (isSummary) return await summary(request, asker);
      checkConversation(request, stored, judge);
      const pass = async (ms: number): Promise<void> => {
        if (ms > 0 && (await stoppedWithin(asker.clock, ms, signal))) throw new Error('the request was cancelled');
        if (asker.clock.isDead()) await never();
      };
      const isTold = script(session_id).model?.deltas === true;
      return await answer(request, { pass, ...(onDelta === undefined ? {} : { onDelta }) }, isTold);
    },
  });
}

/** How an answer is written. */
interface Written {
  /** Lets time pass; throws when the request is cancelled meanwhile. */
  readonly pass: (ms: number) => Promise<void>;
  readonly onDelta?: (delta: ModelDelta) => void;
}

type Asked = Pick<ModelRequest, 'run_id' | 'turn'>;

const nthOf = ({ run_id, turn }: Asked): number => runOf(run_id) - 1 + turn - 1;

const runOf = (run_id: string): number => Number(run_id.slice('run-'.length));

const saidBy = (model: ModelScript | undefined, asked: Asked): AnswerScript | null =>
  model?.answers[nthOf(asked) % model.answers.length] ?? null;

const compactionBy = (model: ModelScript | undefined, asked: Asked): CompactScript =>
  model?.compactions[nthOf(asked) % model.compactions.length] ?? 'summarises';

const NO_CALLS: ReadonlySet<AnswerScript['how']> = new Set(['pauses', 'refuses', 'is_empty']);

const STOPS: Readonly<Partial<Record<AnswerScript['how'], ModelReply['stop']>>> = {
  pauses: { reason: 'paused', word: 'pause_turn' },
  is_cut: { reason: 'length', word: 'max_tokens' },
  refuses: { reason: 'refusal' },
  refuses_calling: { reason: 'refusal', word: 'refusal' },
  is_filtered: { reason: 'filtered', word: 'content_filter' },
};

/** The reply with what the model says besides. */
function spokenReply(plain: ModelReply, { how, layout, usage }: AnswerScript, of: string): ModelReply {
  const calls = NO_CALLS.has(how) ? [] : plain.calls;
  // Distinct in a session, so that a law can tell the turns of a conversation apart.
  const content = how === 'is_empty' ? '' : `${plain.content} of ${of}`;
  const stop = STOPS[how] ?? (calls.length > 0 ? { reason: 'calls' as const } : { reason: 'end' as const });
  return {
    ...(content === '' ? {} : { content }),
    calls,
    ...(usage === 'none' || plain.usage === undefined ? {} : { usage: { ...plain.usage, ...COUNTED[usage] } }),
    ...(how === 'plainly' || how === 'is_busy' ? {} : { stop }),
    ...(layout === 'none' || how === 'is_empty' ? {} : { layout: layoutOf(content, calls.length, layout) }),
  };
}

const COUNTED = {
  plain: {},
  detailed: { cached_tokens: 3, cache_write_tokens: 2, reasoning_tokens: 1 },
} as const;

function layoutOf(content: string, calls: number, size: AnswerScript['layout']): NonNullable<ModelReply['layout']> {
  // A number that JavaScript cannot hold: an item is passed on as text.
  const thought = `{"type":"thinking","n":12345678901234567890,"of":"${content}"}`;
  const item = size === 'blob' ? thought.padEnd(INLINE_CHARS_MAX + 100) : thought;
  const called = Array.from({ length: calls }, (_, call) => ({ call, with: `{"signature":"${call}"}` }));
  return { api: 'anthropic.messages', model: 'sim', parts: [{ item }, { text: content.length }, ...called] };
}

/** The answer depends only on run and turn: a repeated request gets the same answer. */
function simReply({ run_id, turn }: Asked, { turns }: SessionScript): ModelReply {
  const run = runOf(run_id);
  // The first run has all turns, each later one a single turn.
  const index = run === 1 ? turn - 1 : turn === 1 ? (run - 1) % turns.length : turns.length;
  const script = turns[index];
  if (script === null) throw new Error('the model does not answer');
  const usage = { input_tokens: 20 * turn, output_tokens: 10 };
  if (script === undefined) return { content: `done with ${run_id}`, calls: [], usage };
  return { content: `turn ${turn}`, usage, calls: script.map((call, at) => callOf(call, `${run}.${turn}.${at}`)) };
}

const callOf = (script: CallScript, id: string): ModelReply['calls'][number] => ({
  id,
  name: script.tool,
  arguments: scriptedArguments(script),
});

/** A model that answers with these turns in each run, then with `done`. A turn of null throws. */
export const scriptedModel = (turns: readonly (ModelReply | null)[]): Model => ({
  generate: async ({ run_id, turn }, signal) => {
    if (signal.aborted) throw new Error('the request was cancelled');
    const reply = turns[turn - 1];
    if (reply === null) throw new Error(`the script has no answer to ${run_id} turn ${turn}`);
    return reply ?? { content: 'done', calls: [] };
  },
});
