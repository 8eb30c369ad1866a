// Facts that only an operator may submit: a bridge, which names itself as the owner of what it reports, must not.
import type { Ingress } from '../../schemas/event.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { Submit } from '../../schemas/wire.ts';

/** `forbidden` when a bridge submits a fact of an operator, else null. */
export function refuseAsBridge({ kind }: Ingress, { owner }: Pick<Submit, 'owner'>): Rejection | null {
  if (owner === undefined || kind !== 'RulesAdopted') return null;
  return reject('forbidden', '/kind', `${owner} reports as a bridge, and only an operator submits ${kind}`);
}
