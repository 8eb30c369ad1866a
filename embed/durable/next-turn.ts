// The next turn of a loop: from the record, or else the model is asked, in a new run when the last one is over.
import { RejectedError, must } from '../../src/client/index.ts';
import { beginRun } from '../runs/begin-run.ts';
import { storeText } from '../runs/contents.ts';
import { type AskingOptions, askModel } from './asking.ts';
import { RunEnded, SessionInUse } from './errors.ts';
import type { ForeignWords } from './foreign-words.ts';
import { endLeftCalls } from './left-calls.ts';
import type { LoggedRun } from './logged-run.ts';
import type { BroughtCall } from './bound-call.ts';
import { type LoopSession, leaveRun } from './loop-session.ts';
import type { LoopTool } from './loop-tools.ts';
import { recordedIds } from './recorded-ids.ts';
import { findTurn } from './replay.ts';
import { ABORTED, type RunEnds, untilOver } from './run-ends.ts';
import type { SessionStart } from './session-start.ts';
import type { RecordedTurn, TurnRequest } from './turn.ts';

export interface TurnOptions {
  readonly loop: LoopSession;
  readonly words: ForeignWords;
  readonly ends: RunEnds;
  readonly start: SessionStart;
  readonly asking: AskingOptions;
}

/** One at a time. The loop has given its run up before it asks: what there is of the run ends as cancelled. */
export async function cancelLeftRun({ loop, ends, start }: TurnOptions, tools: readonly LoopTool[]): Promise<void> {
  if (!(await loop.log.read()) || loop.log.run()?.ended !== null) return;
  // The bridge stops the calls that run.
  await start.begin(tools);
  await ends.cancel(ABORTED);
}

/** One at a time. Throws what `Durable.turn` says. */
export async function nextTurn(options: TurnOptions, request: TurnRequest): Promise<RecordedTurn> {
  const { loop, words, ends, start, asking } = options;
  const { log, session, name } = loop;
  await log.read();
  await words.settled();
  await start.begin(request.tools);
  try {
    const found = findTurn(log.run(), request, { session, at: loop.at, named: name !== null });
    if (typeof found === 'number') {
      ends.attach(request.signal);
      return giveTurn(loop, found, true);
    }
    const run = found === 'begin' ? await newRun(options, request) : (log.run() as LoggedRun);
    ends.attach(request.signal);
    await endLeftCalls(loop, run, request.results);
    const index = run.turns.length;
    await askModel(asking, run, request);
    return giveTurn(loop, index, false);
  } catch (error) {
    if (request.signal?.aborted === true) await ends.cancel(ABORTED);
    // The loop has been told, so it does not ask for this run again.
    if (error instanceof RunEnded && name === null) leaveRun(loop);
    throw error;
  }
}

function giveTurn(loop: LoopSession, index: number, replayed: boolean): RecordedTurn {
  loop.at = index + 1;
  const turn = loop.log.run()?.turns[index] as LoggedRun['turns'][number];
  return { ...turn.recorded, replayed };
}

async function newRun({ loop, ends, start, asking }: TurnOptions, request: TurnRequest): Promise<LoggedRun> {
  const { client, session, log, name } = loop;
  const old = log.run();
  if (old !== null && old.ended === null) await ends.cancel('replaced before its first turn');
  if (old !== null) await untilOver(log);
  leaveRun(loop);
  const { state } = await must(client.session(session));
  const instructions = request.instructions === null ? null : await storeText(client, request.instructions);
  await beginRun(client, start.setup(request.tools, state), {
    prompt: request.input,
    session,
    resume: false,
    wasUnfinished: false,
    overrides: { model: asking.format.model.slice(0, 128), instructions },
    ...(name === null ? {} : { key: name }),
  }).catch((error: unknown) => {
    const taken = error instanceof RejectedError && error.rejection.code === 'run_already_active';
    throw taken
      ? new SessionInUse(session, 'it has another run, which is not over. Name that one, or end it', { cause: error })
      : error;
  });
  return await log.until(() => log.run() ?? undefined, request.signal);
}

/**
 * One at a time, as turns are. Resolves with the id by which the recorded turn names each call, and null for a call that the
 * record has not.
 */
export async function takeUpRun(
  { loop, start }: Pick<TurnOptions, 'loop' | 'start'>,
  calls: readonly BroughtCall[],
  tools: readonly LoopTool[],
): Promise<readonly (string | null)[]> {
  await loop.log.read();
  const run = loop.log.run();
  // A run that is over is given again only by its name.
  if (run === null || (run.ended !== null && loop.name === null)) return calls.map(() => null);
  loop.at = Math.max(loop.at, run.turns.length);
  const found = recordedIds(loop, calls);
  if (found.some((id) => id !== null)) await start.begin(tools);
  return found;
}
