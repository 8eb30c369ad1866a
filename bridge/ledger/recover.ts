// What a bridge does first: it says for those that died before it what they could not say any more. Settlements that
// they had noted are reported as they would have been, with the same event ids; everything else they held is given
// back, so that the engine settles what was started and may not be repeated as `outcome_unknown`, and hands the rest
// out again, all without waiting for leases to run out.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { EngineClient } from '../../src/client/client.ts';
import type { BridgeLedger } from './bridge-ledger.ts';
import { type LedgerKey, nameOf } from './ledger-entries.ts';
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

/** Answers when every predecessor is spoken for, or the link has ended: then the next process begins again. */
export async function recover(options: RecoverOptions): Promise<void> {
  for (const predecessor of options.ledger.predecessors) await speakFor(predecessor, options);
}

async function speakFor(predecessor: Predecessor, options: RecoverOptions): Promise<void> {
  const { client, ledger, link, clock, log } = options;
  const { owner, entries } = predecessor;
  const epochs = new Map(entries.map((entry) => [nameOf(entry), entry.epoch]));
  const epochOf = (key: LedgerKey): number | undefined => epochs.get(nameOf(key));
  // What it reports is over: no lease is kept for it.
  const alone = { confirm: () => undefined, companions: () => [], submitGrants: null };
  const outbox = newOutbox({ client, owner, link, clock, log, epochOf, ...alone });
  const ended = entries.flatMap(({ event, ...key }) => (event === null ? [] : [{ ...key, event }]));
  const answers = await Promise.all(
    ended.map(({ session_id, effect_id, event }) => outbox.report(session_id, event, effect_id)),
  );
  if (answers.some((answer) => isLeft(answer) && answer.left.code === 'closing')) return;
  // Only now: a call that is given back before its settlement has arrived has no other end than an unknown one.
  const released = await link.ask('release', () => client.release({ owner, leases: [], all: true }));
  if (isLeft(released)) {
    log({ event: 'recovery_refused', owner, code: released.left.code, message: released.left.message });
    return;
  }
  await ledger.forget(predecessor);
  const settled = answers.filter((answer) => !isLeft(answer)).length;
  log({ event: 'recovered', owner, settled, unsettled: entries.length - ended.length });
}
