// The figures of an engine that are read when they are asked for.
import type { LeaseTable } from './leases/lease-table.ts';
import type { Metrics } from './metrics.ts';
import type { Sessions } from './sessions/sessions.ts';

interface Gauged {
  readonly sessions: Sessions;
  readonly leases: LeaseTable;
  readonly startedAtMs: number;
  readonly draining: AbortSignal;
}

export function addGauges(metrics: Metrics, { sessions, leases, startedAtMs, draining }: Gauged): void {
  metrics.gauge('refold_start_time_seconds', 'When the engine was opened, since 1970.', () => startedAtMs / 1_000);
  metrics.gauge('refold_draining', '1 while the engine takes no new work because it stops.', () =>
    draining.aborted ? 1 : 0,
  );
  const inMemory = 'Sessions in memory, by status; idle ones leave memory when others are used.';
  metrics.gauge('refold_sessions_in_memory', inMemory, () => sessions.counts().byStatus, 'status');
  metrics.gauge('refold_sessions_owing', 'Sessions with work for a bridge.', () => sessions.counts().owing);
  metrics.gauge('refold_leases_held', 'Effects that bridges hold.', () => leases.counts().held);
  metrics.gauge(
    'refold_lease_requests_waiting',
    'Requests of bridges that wait for work.',
    () => leases.counts().waiting,
  );
}
