// Asks the model for a turn that is not on record: the bridge must owe it, so that no other loop has the run; the answer is
// durable before the loop gets it.
import { type OwnerId, limits } from '../../schemas/index.ts';
import { callIdOf } from './call-ids.ts';
import { RunEnded, SessionInUse } from './errors.ts';
import { digestsOf, promptPart } from './prompt-record.ts';
import type { LoggedTurn } from './read-turn.ts';
import type { OwedTurn, Rendezvous } from './rendezvous.ts';
import type { LoggedRun } from './logged-run.ts';
import type { RunLog } from './run-log.ts';
import type { TurnFormat, TurnReply, TurnRequest } from './turn.ts';
import { type HolderWatch, watchHolder } from './turn-holder.ts';

export interface AskingOptions extends HolderWatch {
  readonly log: RunLog;
  readonly rendezvous: Rendezvous;
  readonly format: TurnFormat;
  /** How long a turn that is owed may stay with a process that does not answer before the loop is told. */
  readonly takenAfterMs: number;
}

/** Throws a {@link RunEnded}, a {@link SessionInUse}, or whatever the model throws. */
export async function askModel(options: AskingOptions, run: LoggedRun, request: TurnRequest): Promise<LoggedTurn> {
  const { log, session } = options;
  const index = run.turns.length;
  const owed = await owedTurn(options, run, request.signal);
  const { signal, leave } = joined(owed.signal, request.signal);
  try {
    const callId = (at: number): string => callIdOf(run.run_id, index + 1, at);
    const reply = await request.ask({ signal, onDelta: owed.onDelta, callId, providerId: log.providerId });
    owed.answer(recordable(options, reply, { run, request }));
  } finally {
    leave();
  }
  return await log.until(() => {
    const turn = log.run()?.turns[index];
    const ended = log.run()?.ended ?? null;
    if (turn === undefined && ended !== null) throw new RunEnded(session, ended);
    return turn;
  }, request.signal);
}

async function owedTurn(options: AskingOptions, run: LoggedRun, signal: AbortSignal | undefined): Promise<OwedTurn> {
  const { session, log, rendezvous, clock, takenAfterMs } = options;
  const index = run.turns.length;
  let holder: OwnerId | null = null;
  const endWatch = watchHolder(options, (found) => {
    holder = found;
    log.look();
  });
  let overdue = false;
  let cancelTimer = (): void => undefined;
  const watchOver = (): void => {
    cancelTimer = clock.after(takenAfterMs, () => {
      overdue = log.state()?.run?.phase === 'generating';
      if (overdue) log.look();
      else watchOver();
    });
  };
  watchOver();
  try {
    return await log.until(() => {
      const { turns, ended } = log.run() ?? run;
      if (ended !== null) throw new RunEnded(session, ended);
      if (turns.length > index) throw new SessionInUse(session, `another loop has asked for turn ${index + 1}`);
      const owed = rendezvous.owed();
      if (owed?.run === run.run_id && owed.turn === index + 1) return owed;
      if (holder !== null) throw new SessionInUse(session, heldBy(holder, index + 1), { holder });
      if (overdue) throw new SessionInUse(session, 'another process holds the lease on its next turn');
      return undefined;
    }, signal);
  } finally {
    cancelTimer();
    endWatch();
  }
}

const heldBy = (holder: OwnerId, turn: number): string =>
  `${holder}, a live process, holds turn ${turn}. Let it finish, then ask again under the same \`run\`, or end it`;

/**
 * Its calls get ids of the session; those of the provider are in the layout. Throws a RangeError for an answer whose parts are
 * more than is kept: without them, a replay would differ.
 */
function recordable(
  { format }: AskingOptions,
  { content, calls, parts, usage, stop }: TurnReply,
  { run, request }: { readonly run: LoggedRun; readonly request: TurnRequest },
) {
  const before = run.turns.at(-1)?.prompt ?? [];
  const ids = calls.map(({ id }) => (id === undefined ? null : id.toWellFormed()));
  const recorded = [...parts, promptPart(digestsOf(request.prompt), before, ids)];
  const bytes = Buffer.byteLength(JSON.stringify(recorded));
  if (bytes > limits.LAYOUT_BYTES_MAX) {
    throw new RangeError(
      `the model's answer has parts of ${bytes} bytes besides its text; at most ${limits.LAYOUT_BYTES_MAX} are kept. ` +
        'Ask for smaller files, or have a tool make them',
    );
  }
  return {
    content,
    calls: calls.map((call, at) => ({ ...call, id: callIdOf(run.run_id, run.turns.length + 1, at) })),
    layout: { api: format.api, model: format.model.slice(0, 128), parts: recorded },
    ...(usage === undefined ? {} : { usage }),
    ...(stop === undefined ? {} : { stop }),
  };
}

/** One signal of two. `AbortSignal.any` keeps every joined signal alive on Node 20, so they are joined by hand. */
function joined(one: AbortSignal, other: AbortSignal | undefined) {
  const both = new AbortController();
  const abort = (): void => both.abort(one.aborted ? one.reason : other?.reason);
  for (const signal of [one, other]) {
    if (signal?.aborted === true) abort();
    signal?.addEventListener('abort', abort, { once: true });
  }
  const leave = (): void => {
    for (const signal of [one, other]) signal?.removeEventListener('abort', abort);
  };
  return { signal: both.signal, leave };
}
