// Recovers what dead bridges left, before a bridge leases anything. Settlements they had noted are reported with the same
// event ids. Everything else they held is given back, so the engine need not wait for leases to expire: it settles started
// calls that must not be repeated as `outcome_unknown`, and grants the rest again.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { EngineClient } from '../../src/client/client.ts';
import type { BridgeLedger } from './bridge-ledger.ts';
import { type LedgerKey, entryKeyOf } from './ledger-entries.ts';
import type { Predecessor } from './predecessors.ts';
import type { BridgeClock } from '../../src/clock.ts';
import type { Link } from '../engine-link/link.ts';
import type { Log } from '../log.ts';
import { newOutbox } from '../engine-link/outbox.ts';

interface RecoverOptions {
  readonly client: EngineClient;
  readonly ledger: BridgeLedger;
  readonly link: Link;
  readonly clock: BridgeClock;
  readonly log: Log;
}

/** Resolves when every predecessor is recovered, or the link has ended: then the next process starts over. */
export async function recover(options: RecoverOptions): Promise<void> {
  for (const predecessor of options.ledger.predecessors) await recoverOne(predecessor, options);
}

async function recoverOne(predecessor: Predecessor, options: RecoverOptions): Promise<void> {
  const { client, ledger, link, clock, log } = options;
  const { owner, entries } = predecessor;
  const epochs = new Map(entries.map((entry) => [entryKeyOf(entry), entry.epoch]));
  const epochOf = (key: LedgerKey): number | undefined => epochs.get(entryKeyOf(key));
  // The reported work has ended: no lease is confirmed for it, and nothing is requested with its reports.
  const leases = { epochOf, confirm: () => undefined };
  const outbox = newOutbox({ client, owner, link, clock, log, leases, companions: () => [], submitGrants: null });
  const ended = entries.flatMap(({ event, ...key }) => (event === null ? [] : [{ ...key, event }]));
  const answers = await Promise.all(
    ended.map(({ session_id, effect_id, event }) => outbox.report(session_id, event, effect_id)),
  );
  if (answers.some((answer) => isLeft(answer) && answer.left.code === 'closing')) return;
  // Only now: a call that is given back before its settlement has arrived would settle as unknown.
  const released = await link.ask('release', () => client.release({ owner, leases: [], all: true }));
  if (isLeft(released)) {
    log({ event: 'recovery_refused', owner, code: released.left.code, message: released.left.message });
    return;
  }
  await ledger.forget(predecessor);
  const settled = answers.filter((answer) => !isLeft(answer)).length;
  log({ event: 'recovered', owner, settled, unsettled: entries.length - ended.length });
}
