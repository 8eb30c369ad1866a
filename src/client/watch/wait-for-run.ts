// Waits until a run has ended.
import type { RunId, SessionId } from '../../../schemas/ids.ts';
import { reject } from '../../../schemas/rejection.ts';
import type { RunRecord } from '../../../schemas/run.ts';
import type { SessionState } from '../../../schemas/state.ts';
import { upcast } from '../../../schemas/upcast.ts';
import type { EngineClient } from '../client.ts';
import { must } from '../must.ts';
import { RejectedError } from '../rejected-error.ts';
import { foldStored } from './stored-stream.ts';

export interface WaitOptions {
  /** Stops waiting; the promise rejects with the reason of the signal. The run goes on. */
  readonly signal?: AbortSignal;
}

/**
 * The record of a run, once it has ended: its outcome, code and output, turns, calls, tokens, and when it began and ended, in
 * milliseconds since 1970. Without a run id, of the live run, or of the last one when none is live. A run that waits behind
 * others as a follow-up may be named before it begins.
 *
 * It does not time out: a run may wait for a person for days. Throws a {@link RejectedError}: `run_not_active` when the session
 * has no such run and none is to come, `closing` when the engine closes meanwhile, and what `session` refuses. A run so old
 * that state has forgotten it is looked up in the stream, which is then folded from its first event.
 */
export async function waitForRun(
  client: EngineClient,
  session: SessionId,
  run?: RunId,
  { signal }: WaitOptions = {},
): Promise<RunRecord> {
  signal?.throwIfAborted();
  const { state } = await must(client.session(session));
  const id = run ?? state.run?.run_id ?? state.run_history.at(-1)?.run_id;
  if (id === undefined) throw new RejectedError(reject('run_not_active', '', `${session} has had no run`));
  const known = await lookUp(client, state, id);
  if (known !== null) return known;
  const events = client.follow(session, { from: state.version, ...(signal === undefined ? {} : { signal }) });
  for await (const { event } of events) {
    const { ends } = upcast(event);
    if (ends === undefined) continue;
    signal?.throwIfAborted();
    const ended = await lookUp(client, (await must(client.session(session))).state, id);
    if (ended !== null) return ended;
  }
  signal?.throwIfAborted();
  throw new RejectedError(reject('closing', '', `the connection to the engine ended before ${id}`));
}

/** The record of the run; null when it has not ended. Throws when it can not come any more. */
async function lookUp(client: EngineClient, state: SessionState, id: RunId): Promise<RunRecord | null> {
  if (state.run?.run_id === id) return null;
  const kept = recordIn(state, id);
  if (kept !== null) return kept;
  const found = await findInStream(client, state.session_id, id);
  if (found !== null) return found;
  if (state.run !== null || state.follow_ups.length > 0) return null;
  throw new RejectedError(reject('run_not_active', '', `${state.session_id} has no run ${id}, and none is to come`));
}

const recordIn = ({ run_history }: SessionState, id: RunId): RunRecord | null =>
  run_history.find(({ run_id }) => run_id === id) ?? null;

async function findInStream(client: EngineClient, session: SessionId, id: RunId): Promise<RunRecord | null> {
  for await (const { events } of foldStored(client, session)) {
    for (const { event, after } of events) {
      const ended = event.ends?.some(({ run_id }) => run_id === id) === true;
      const found = ended ? recordIn(after, id) : null;
      if (found !== null) return found;
    }
  }
  return null;
}
