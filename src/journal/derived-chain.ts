// Chain values that a store does not keep, because they follow from those that it keeps. They are worked out when
// somebody asks for them; whoever folds the records works them out anyway, and has nothing to hold against them.
import { digestText } from '../../schemas/canonical.ts';
import type { Digest, EventId } from '../../schemas/ids.ts';
import { nextChain } from '../core/chain.ts';
import type { JournalRecord } from './journal.ts';

class DerivedRecord implements JournalRecord {
  readonly event: string;
  readonly event_id: EventId;
  readonly state_digest: Digest;
  readonly #before: JournalRecord;
  #chain: Digest | null = null;

  constructor({ event, event_id, state_digest }: Omit<JournalRecord, 'chain'>, before: JournalRecord) {
    this.event = event;
    this.event_id = event_id;
    this.state_digest = state_digest;
    this.#before = before;
  }

  get chain(): Digest {
    this.#chain ??= nextChain(this.#before.chain, digestText(this.event), this.state_digest);
    return this.#chain;
  }
}

/** The same record with the chain value that follows from the record before it. */
export const withDerivedChain = (record: Omit<JournalRecord, 'chain'>, before: JournalRecord): JournalRecord =>
  new DerivedRecord(record, before);

/** Whether the store says nothing of its own about the chain value of a record. */
export const hasDerivedChain = (record: JournalRecord): boolean => record instanceof DerivedRecord;
