// Chain values that a store does not keep, because they follow from those that it keeps. They are worked out when
// somebody asks for them; whoever folds the records works them out anyway, and has nothing to hold against them.
import { digestText } from '../../schemas/canonical.ts';
import { nextChain } from '../core/chain.ts';
import type { JournalRecord } from './journal.ts';

const derived = new WeakSet<JournalRecord>();

/** The same record with the chain value that follows from the record before it. */
export function withDerivedChain(record: Omit<JournalRecord, 'chain'>, before: JournalRecord): JournalRecord {
  const { event, event_id, state_digest } = record;
  let chain: JournalRecord['chain'] | null = null;
  const made: JournalRecord = {
    event,
    event_id,
    state_digest,
    get chain() {
      chain ??= nextChain(before.chain, digestText(event), state_digest);
      return chain;
    },
  };
  derived.add(made);
  return made;
}

/** Whether the store says nothing of its own about the chain value of a record. */
export const hasDerivedChain = (record: JournalRecord): boolean => derived.has(record);
