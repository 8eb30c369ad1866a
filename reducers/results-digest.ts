// The digest of a batch's results, which `ToolBatchSettled` records: it binds what the model was told to the log
// (AOS P7, "Ingress/Event Changes").
import { digestJson } from '../schemas/canonical.ts';
import type { Digest } from '../schemas/ids.ts';
import type { ActiveToolBatch } from '../schemas/state.ts';
import { callStateAt } from './batch-index.ts';

// A settled batch is frozen, and its digest is asked for twice: when the event is completed, and when it is admitted.
const known = new WeakMap<ActiveToolBatch, Digest>();

/**
 * The digest of the list of results in call order: for each observed call `{call_id, code, output, status}`, as state has
 * them. Rejected calls are among them; `output` is what the model reads, inline or as a reference.
 */
export function resultsDigest(batch: ActiveToolBatch): Digest {
  const digested = known.get(batch);
  if (digested !== undefined) return digested;
  const results = batch.observed.map(({ call_id }, position) => {
    const { code = null, output = null, status = null } = callStateAt(batch, position) ?? {};
    return { call_id, code, output, status };
  });
  const made = digestJson(results);
  if (Object.isFrozen(batch)) known.set(batch, made);
  return made;
}
