// A submit that also requests leases: its answer carries the grant, so that a bridge with work needs no second request.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { SessionId } from '../../schemas/ids.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { Submit, SubmitReceipt } from '../../schemas/wire.ts';
import type { LeaseTable } from './leases/lease-table.ts';
import type { Sessions } from './sessions/sessions.ts';

type Receipt = Either<Rejection, SubmitReceipt>;

interface SubmitPorts {
  readonly leases: LeaseTable;
  readonly sessions: Pick<Sessions, 'submit'>;
}

/**
 * The receipt with its grant. When the answer is lost, the bridge sends the submit again: the events are already
 * recorded, and the grant repeats only what the owner still holds. A larger grant would be wrong: if the first answer did
 * arrive, its owner works under the epochs of that grant.
 */
export async function submitAndLease(
  { leases, sessions }: SubmitPorts,
  session: SessionId,
  request: Submit,
  bytes: number,
): Promise<Receipt> {
  const { owner, lease, leases: under = [] } = request;
  if (owner === undefined && under.length > 0) {
    return left(reject('invalid_shape', '/owner', 'a submit that names leases must name the owner that holds them'));
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
