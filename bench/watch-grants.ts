// The client of a bridge that observes its grants: those that it waited for, and those that came with the answer
// to a report.
import type { LeaseGrant } from '../schemas/wire.ts';
import type { EngineClient } from '../src/client/client.ts';

export const watchGrants = (client: EngineClient, onGrant: (grant: LeaseGrant) => void): EngineClient => ({
  ...client,
  lease: (request, signal) => async () => {
    const granted = await client.lease(request, signal)();
    if (granted._tag === 'Right') onGrant(granted.right);
    return granted;
  },
  submit: (session, request) => async () => {
    const receipt = await client.submit(session, request)();
    if (receipt._tag === 'Right' && receipt.right.granted !== undefined) onGrant(receipt.right.granted);
    return receipt;
  },
});
