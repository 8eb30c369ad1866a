// What a bridge requests from the engine: the kinds of effects it can run, and its tools.
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
  readonly toolsOnly?: boolean;
}

export function wantedBy({ executors, undoOnly, toolsOnly }: Abilities, max: number): Wanted {
  const opens = executors.find(OPEN_TOOL) === null ? [] : (['host_session.open'] as const);
  const undoes = executors.restore === null ? [] : (['call.undo'] as const);
  const asks = toolsOnly === true ? [] : (['llm.generate', 'llm.compact'] as const);
  const previews = executors.previews ? (['call.preview'] as const) : [];
  return {
    kinds:
      undoOnly === true
        ? undoes
        : [...asks, 'tool.call', 'tool.cancel', 'tool.answer', 'batch.settle', ...opens, ...undoes, ...previews],
    tools: executors.tools,
    max,
    ...(executors.workspace === null ? {} : { workspace: executors.workspace }),
  };
}

/**
 * Requests at most `max` effects, and lets the engine wait for the first of them for less than the duration of a lease, so
 * that no lease expires before its grant arrives. While that duration is unknown, the engine must answer immediately,
 * because any answer states it.
 */
export const leaseRequest = (abilities: Abilities, max: number, ttlMs: number | null): LeaseRequest => ({
  ...wantedBy(abilities, max),
  owner: abilities.owner,
  wait_ms: ttlMs === null ? 0 : Math.min(LEASE_WAIT_MS_MAX, Math.ceil(ttlMs / 2)),
  ...(abilities.sessions === undefined ? {} : { sessions: abilities.sessions }),
});
