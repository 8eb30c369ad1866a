// The results of the calls of a run.
import type { RunId, SessionId } from '../../../schemas/ids.ts';
import { type CallResult, newRunResults } from '../../core/run-results.ts';
import type { EngineClient } from '../client.ts';
import { foldStored } from './stored-stream.ts';

/**
 * Every call of a run in the order the model made them, with its result: whatever settled it, a report, the report of the call
 * it shares with, a lost lease, a person, a time or the end of the run. Calls that have not ended are listed as they are. A
 * run that made no call, or that the session never had, has none. `output` and arguments may be references to blobs, to be
 * read with `getBlob`.
 *
 * Folds the stored stream from its first event and compares every digest. Throws a `RejectedError` when the session is not
 * readable, and a `StreamDiverged` when the stream does not fold as recorded.
 */
export async function resultsOf(
  client: Pick<EngineClient, 'records'>,
  session: SessionId,
  run: RunId,
): Promise<readonly CallResult[]> {
  const results = newRunResults(run);
  for await (const { events } of foldStored(client, session)) for (const event of events) results.add(event);
  return results.result();
}
