// A submit that asks for what it leads to: the leases ride on its answer, so that a bridge at work need not ask for them.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { SessionId } from '../../schemas/ids.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { Submit, SubmitReceipt } from '../../schemas/wire.ts';
import type { LeaseTable } from './lease-table.ts';
import type { Sessions } from './sessions.ts';

type Receipt = Either<Rejection, SubmitReceipt>;

interface SubmitPorts {
  readonly leases: LeaseTable;
  readonly sessions: Pick<Sessions, 'submit'>;
}

/**
 * The receipt with what was granted. An answer may be lost: then the submit is sent again, is found to be there already,
 * and gets what is still held for its owner. It never gets more than that: had the first answer arrived after all, its
 * owner would be at work under the epochs that it names.
 */
export async function submitAndLease(
  { leases, sessions }: SubmitPorts,
  session: SessionId,
  request: Submit,
  bytes: number,
): Promise<Receipt> {
  const { owner, lease, leases: under = [] } = request;
  if (owner === undefined && under.length > 0) {
    return left(reject('invalid_shape', '/owner', 'leases are held by an owner: say which one reports'));
  }
  if (owner === undefined || lease === undefined) return await sessions.submit(session, request, bytes);
  leases.beginSubmit(session);
  let receipt: Receipt;
  try {
    receipt = await sessions.submit(session, request, bytes);
  } catch (error) {
    leases.endSubmit(session, null);
    throw error;
  }
  if (isLeft(receipt)) {
    leases.endSubmit(session, null);
    return receipt;
  }
  const again = receipt.right.events.some(({ repeated }) => repeated);
  const granted = leases.endSubmit(session, { owner, ...lease }, again);
  return granted.effects.length === 0 ? receipt : right({ granted, ...receipt.right });
}
