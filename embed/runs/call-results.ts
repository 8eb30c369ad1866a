// The calls of a run and their results, whatever settled them: read from the states of their batches, because shared reads
// and calls of lost bridges have no event of their own.
import { type ActiveToolBatch, type CallState, type CallStatus, type RunId, limits } from '../../schemas/index.ts';
import type { EngineClient } from '../../src/client/index.ts';
import { type FoldedEvent, personEffects } from '../../src/core/index.ts';
import { readArguments, wholeText } from './contents.ts';
import { type Question, questionOf } from './questions.ts';
import type { CallPart, EndStatus, ResultPart } from './run-parts.ts';

type Calls = AsyncIterable<CallPart | ResultPart | Question>;
export type CallResult = Omit<ResultPart, 'type'>;

export interface CallResults {
  /** What is new after an event. `asks`: also which calls wait for a person now. */
  readonly after: (folded: FoldedEvent, run: RunId, asks: boolean) => Calls;
  /** Every result so far, in call order. */
  readonly all: () => readonly CallResult[];
}

/** A call of the run, with its result once it has one. */
interface KnownCall {
  readonly made: Omit<CallPart, 'type'>;
  result: CallResult | null;
}

interface KnownBatch {
  readonly id: string;
  readonly calls: readonly KnownCall[];
  readonly asked: Set<string>;
}

export function newCallResults(client: EngineClient): CallResults {
  const known: KnownCall[] = [];
  let open: KnownBatch | null = null;

  async function* after(folded: FoldedEvent, run: RunId, asks: boolean): Calls {
    const { active_tool_batch: batch } = folded.after;
    if (open !== null && batch?.batch_id !== open.id) {
      yield* closedResults(client, open, folded);
      open = null;
    }
    if (batch === null || batch.run_id !== run) return;
    if (open === null) {
      open = await knownBatch(client, batch);
      known.push(...open.calls);
      for (const { made } of open.calls) yield { type: 'call', ...made };
    }
    yield* newResults(client, open, batch, folded.before.active_tool_batch);
    if (asks) yield* newQuestions(client, open, folded);
  }

  return { after, all: () => known.flatMap(({ result }) => (result === null ? [] : [result])) };
}

async function knownBatch(client: EngineClient, { batch_id, turn, observed }: ActiveToolBatch): Promise<KnownBatch> {
  const calls: KnownCall[] = [];
  for (const call of observed) {
    const args = await readArguments(client, call);
    calls.push({ made: { turn, call: call.call_id, tool: call.tool_name, arguments: args }, result: null });
  }
  return { id: batch_id, calls, asked: new Set() };
}

/** Only pages that have changed are searched. */
async function* newResults(
  client: EngineClient,
  open: KnownBatch,
  batch: ActiveToolBatch,
  before: ActiveToolBatch | null,
): Calls {
  for (const [at, page] of batch.pages.entries()) {
    if (before?.batch_id === batch.batch_id && before.pages[at] === page) continue;
    for (const [index, state] of page.entries()) {
      const call = open.calls[at * limits.CALL_PAGE_SIZE + index];
      if (call === undefined || call.result !== null || !isEnded(state.status)) continue;
      yield await setResult(client, call, state, state.status);
    }
  }
}

/** The calls that had no result in the last state of their batch: an interrupt answered them as it closed the batch. */
async function* closedResults(client: EngineClient, { calls }: KnownBatch, { after }: FoldedEvent): Calls {
  for (const call of calls) {
    if (call.result !== null) continue;
    const { open: entries } = after.transcript;
    const entry = entries.findLast(({ role, call_id }) => role === 'tool' && call_id === call.made.call);
    yield await setResult(client, call, { output: entry?.content ?? null, code: 'cancelled' }, 'cancelled');
  }
}

async function* newQuestions(client: EngineClient, open: KnownBatch, { after }: FoldedEvent): Calls {
  for (const action of personEffects(after)) {
    // A call may ask several questions, and be asked about before.
    const named = action.kind === 'agent.elicitation' ? action.effect_id : action.call_id;
    if (open.asked.has(named)) continue;
    open.asked.add(named);
    yield await questionOf(client, action);
  }
}

async function setResult(
  client: EngineClient,
  call: KnownCall,
  { output, code }: Pick<CallState, 'output' | 'code'>,
  status: EndStatus,
): Promise<ResultPart> {
  const text = output === null ? '' : await wholeText(client, output);
  call.result = { ...call.made, status, text, code };
  return { type: 'result', ...call.result };
}

const isEnded = (status: CallStatus): status is EndStatus =>
  status !== 'waiting' && status !== 'queued' && status !== 'running';
