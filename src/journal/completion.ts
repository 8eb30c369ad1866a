// The end of a copy: with the head that completes it, its genesis is written anew, and no longer says that it is incomplete.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { SessionId } from '../../schemas/ids.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import { isIncomplete } from '../../schemas/session-head.ts';
import { type Stated, checkStatus } from './append-rules.ts';
import { genesisKey } from './keys.ts';
import type { Put } from './store.ts';
import { encodeStoredGenesis } from './stored-values.ts';

interface HeadChange {
  readonly before: Stated;
  readonly after: Stated;
}

/** What a new head puts beside itself: when it completes a copy, the genesis, which says so from the same write on. */
export function completionOf(
  session: SessionId,
  { before, after }: HeadChange,
  genesisOf: () => Either<Rejection, string>,
): Either<Rejection, readonly Put[]> {
  const refused = checkStatus(session, before, after);
  if (refused !== null) return left(refused);
  if (!isIncomplete(before) || isIncomplete(after)) return right([]);
  const genesis = genesisOf();
  if (isLeft(genesis)) return genesis;
  return right([{ key: genesisKey(session), value: encodeStoredGenesis({ text: genesis.right, isComplete: true }) }]);
}
