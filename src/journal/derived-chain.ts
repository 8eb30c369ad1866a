// Chain values that the store does not keep because they follow from the values that it keeps. They are computed on first
// access, because the fold computes the chain itself and does not compare it with derived values.
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

/** The record with the chain value that follows from the record before it. */
export const withDerivedChain = (record: Omit<JournalRecord, 'chain'>, before: JournalRecord): JournalRecord =>
  new DerivedRecord(record, before);

/** Whether the chain value of a record is derived, not stored. */
export const hasDerivedChain = (record: JournalRecord): boolean => record instanceof DerivedRecord;
