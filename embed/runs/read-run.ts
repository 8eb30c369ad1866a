// Reads one run from the stream of its session while it grows.
import type { RunId, SessionState } from '../../schemas/index.ts';
import type { EngineClient } from '../../src/client/index.ts';
import type { RunStart } from './begin-run.ts';
import { type CallResult, newCallResults } from './call-results.ts';
import { wholeText } from './contents.ts';
import { foldStream } from './fold-stream.ts';
import type { RunPart, RunResult } from './run-parts.ts';
import { newTurnTexts } from './turn-texts.ts';

/** Tells what the run does until it ends, from its beginning; returns its result. */
export async function* readRun(
  client: EngineClient,
  start: RunStart,
  signal: AbortSignal,
): AsyncGenerator<RunPart, RunResult> {
  const texts = newTurnTexts(client);
  const calls = newCallResults(client);
  let run: RunId | null = null;
  for await (const item of foldStream(client, start.session, start, signal)) {
    if ('kind' in item) {
      if (item.run_id === run) yield* texts.written(item);
      continue;
    }
    const { event, after } = item;
    if (run === null && start.begins(item)) run = after.run?.run_id ?? null;
    if (run === null) continue;
    if (event.kind === 'ToolCallsObserved') yield* await texts.recorded(event.turn, event.content);
    if (event.kind === 'GenerateFailed') yield* texts.failed(event.turn);
    // Questions of the past were answered, or are still open by the time of the present.
    yield* calls.after(item, run, after.version >= start.version);
    if (event.ends?.some(({ run_id }) => run_id === run) === true) {
      return await resultOf(client, { start, run, state: after, calls: calls.all() });
    }
  }
  throw new Error(`the engine ended before ${run ?? 'the run'} of ${start.session} was over`);
}

interface Ended {
  readonly start: RunStart;
  readonly run: RunId;
  readonly state: SessionState;
  readonly calls: readonly CallResult[];
}

async function resultOf(client: EngineClient, { start, run, state, calls }: Ended): Promise<RunResult> {
  const { session, resumed } = start;
  const record = state.run_history.findLast(({ run_id }) => run_id === run);
  if (record === undefined) throw new Error(`${run} of ${session} has ended, and the state has no record of it`);
  const { outcome, code, message, output } = record.ending;
  const text = output === null ? '' : await wholeText(client, output);
  return { status: outcome, text, usage: record.usage, calls, session, run, code, message, resumed };
}
