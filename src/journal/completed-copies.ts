// The copies that a group of writes completes: the genesis of each, which says that it is incomplete, is written anew.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { SessionId } from '../../schemas/ids.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import { isIncomplete } from '../../schemas/session-head.ts';
import type { KnownHead, StoredHeadOf, Write } from './admission.ts';
import { rejectionOf } from './refusal.ts';
import type { StoreView } from './store.ts';
import { readStoredGenesis } from './stream-reads.ts';

/** The head of a session among those that were read. */
export function knownIn(heads: ReadonlyMap<SessionId, StoredHeadOf>, session: SessionId): KnownHead | undefined {
  const read = heads.get(session);
  return read === undefined || isLeft(read) ? undefined : (read.right ?? undefined);
}

/** The copies that a group may complete: their genesis is written anew. */
export const completedCopies = (
  group: readonly Write[],
  headOf: (session: SessionId) => KnownHead | undefined,
): readonly SessionId[] =>
  group.flatMap((write) => {
    if ((write.kind !== 'append' && write.kind !== 'restate') || isIncomplete(write.head)) return [];
    const head = headOf(write.session);
    return head !== undefined && isIncomplete(head) ? [write.session] : [];
  });

/** The genesis text of each copy, or why it cannot be read: it fails only its own write. */
export async function readGeneses(
  view: StoreView,
  sessions: readonly SessionId[],
): Promise<ReadonlyMap<SessionId, Either<Rejection, string>>> {
  const geneses = new Map<SessionId, Either<Rejection, string>>();
  for (const session of sessions) {
    try {
      geneses.set(session, right((await readStoredGenesis(view, session)).text));
    } catch (error) {
      geneses.set(session, left(rejectionOf(error)));
    }
  }
  return geneses;
}
