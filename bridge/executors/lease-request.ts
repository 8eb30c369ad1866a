// What a bridge asks the engine for: the kinds of effects it can do, and the tools it runs.
import type { OwnerId, SessionId } from '../../schemas/ids.ts';
import { LEASE_WAIT_MS_MAX } from '../../schemas/limits.ts';
import type { LeaseRequest, Wanted } from '../../schemas/wire.ts';
import type { Executors } from './executors.ts';
import { OPEN_TOOL } from './open-host-session.ts';

interface Abilities {
  readonly owner: OwnerId;
  readonly executors: Executors;
  readonly sessions?: readonly SessionId[];
  readonly undoOnly?: boolean;
}

export function wantedBy({ executors, undoOnly }: Abilities, max: number): Wanted {
  const opens = executors.find(OPEN_TOOL) === null ? [] : (['host_session.open'] as const);
  const undoes = executors.restore === null ? [] : (['call.undo'] as const);
  return {
    kinds:
      undoOnly === true ? undoes : ['llm.generate', 'tool.call', 'tool.cancel', 'batch.settle', ...opens, ...undoes],
    tools: executors.tools,
    max,
  };
}

/**
 * Asks for so many effects, and waits for the first: less long than a lease lasts, so that no answer is as old. While it
 * is not known how long that is, it does not wait at all: any answer says it.
 */
export const leaseRequest = (abilities: Abilities, max: number, ttlMs: number | null): LeaseRequest => ({
  ...wantedBy(abilities, max),
  owner: abilities.owner,
  wait_ms: ttlMs === null ? 0 : Math.min(LEASE_WAIT_MS_MAX, Math.ceil(ttlMs / 2)),
  ...(abilities.sessions === undefined ? {} : { sessions: abilities.sessions }),
});
