// The stored part of a stream, folded from its beginning.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { SessionId } from '../../../schemas/ids.ts';
import { type StreamRecord, versionAfter } from '../../../schemas/record.ts';
import type { EngineClient } from '../client.ts';
import { RejectedError } from '../rejected-error.ts';
import { type FoldedTo, type GiveWay, givingWay, newCheckedFold } from './checked-fold.ts';

/**
 * The stream after its genesis record and after each commit that is stored by now. `pause` is called between two events, and
 * gives way to other work.
 */
export async function* foldStored(
  client: Pick<EngineClient, 'records'>,
  id: SessionId,
  pause?: GiveWay,
): AsyncGenerator<FoldedTo> {
  const fold = newCheckedFold(id);
  for await (const record of storedRecords(client, id)) {
    const folded = await givingWay(fold.addInSteps(record), pause);
    if (folded !== null) yield folded;
  }
}

/** Reads page by page; only a page without commits is the end. */
async function* storedRecords(client: Pick<EngineClient, 'records'>, id: SessionId): AsyncGenerator<StreamRecord> {
  for (let from: number | undefined; ;) {
    const page = await client.records(id, from)();
    if (isLeft(page)) throw new RejectedError(page.left);
    yield* page.right;
    const last = page.right.at(-1);
    if (last?.kind !== 'commit') return;
    from = versionAfter(last);
  }
}
