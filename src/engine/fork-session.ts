// Forks a stored session: reads its first events, verifies them, and stores them as a new stream of their own. Blobs
// are shared, because they are known by their content.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { canonicalText } from '../../schemas/canonical.ts';
import type { Position, SessionId, Version } from '../../schemas/ids.ts';
import { EVENTS_PER_APPEND_MAX, READ_PAGE_RECORDS } from '../../schemas/limits.ts';
import type { EventRecord, StreamRecord } from '../../schemas/record.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { ForkedRun } from '../../schemas/wire.ts';
import type { Blobs } from '../blobs/blobs.ts';
import { genesisText } from '../core/genesis-text.ts';
import { type Forker, newForker } from '../core/fork.ts';
import type { Journal, JournalRecord } from '../journal/journal.ts';
import type { LoadedSession } from './load-session.ts';
import { owesAnything } from './owed.ts';
import { eventRecords, genesisRecord } from './records.ts';

export interface ForkSessionOrder {
  readonly source: SessionId;
  readonly session_id: SessionId;
  /** How many events to share; all of them when absent. */
  readonly at?: number;
  readonly run: ForkedRun;
  readonly at_ms: number;
}

type Answer<T> = Promise<Either<Rejection, T>>;

/**
 * Stores the fork. Its last append alone says what is owed, so that a fork which was cut off is worked on by nobody;
 * {@link findForkFault} tells it from a whole one.
 */
export async function forkSession(journal: Journal, blobs: Blobs, order: ForkSessionOrder): Answer<void> {
  const { source } = order;
  const genesis = await genesisRecord(journal, source);
  if (isLeft(genesis)) return genesis;
  const head = await headAt(journal, genesis.right, order);
  if (isLeft(head)) return head;
  const { at, chain } = head.right;
  const forker = newForker({ ...order, at, chain });
  const begun = addSafely(forker, genesis.right);
  if (isLeft(begun)) return begun;
  if (begun.right.kind === 'genesis') {
    const created = await journal.create(order.session_id, genesisText(begun.right.genesis))();
    if (isLeft(created)) return created;
  }
  const shared = await copyShared(journal, forker, { ...order, at });
  if (isLeft(shared)) return shared;
  const end = forker.finish();
  if (isLeft(end)) return end;
  for (const page of end.right.sealed) {
    const kept = await blobs.put(new TextEncoder().encode(page))();
    if (isLeft(kept)) return kept;
  }
  const { facts, state } = end.right;
  const records = [...shared.right, ...facts.map((record) => stored(record))];
  return await append(journal, order.session_id, { from: at - shared.right.length, records }, owesAnything(state));
}

/** A fork that was cut off before all its shared events were stored. */
export function findForkFault({ genesis, state }: LoadedSession): Rejection | null {
  const { forked_from } = genesis;
  if (forked_from === undefined || state.version >= (forked_from.position as number)) return null;
  const told = `it has ${state.version} of the ${forked_from.position} events it shares with ${forked_from.session_id}`;
  return reject('damaged', '', `session ${genesis.session_id} is a fork that was cut off: ${told}. Fork again`);
}

/** How many events are shared, and the chain value that the source recorded after them. */
async function headAt(
  journal: Journal,
  genesis: Extract<StreamRecord, { kind: 'genesis' }>,
  { source, at: asked }: ForkSessionOrder,
): Answer<Pick<EventRecord, 'chain'> & { readonly at: number }> {
  const head = await journal.head(source)();
  if (isLeft(head)) return head;
  const at = asked ?? head.right.version;
  if (at > head.right.version) {
    const there = `session ${source} has ${head.right.version} events, so it cannot be forked after ${at}`;
    return left(reject('position_unknown', '/at', there));
  }
  if (at === 0) return right({ at, chain: genesis.chain });
  const last = await journal.read(source, (at - 1) as Position, 1)();
  if (isLeft(last)) return last;
  const [record] = last.right;
  return record === undefined
    ? left(reject('damaged', '', `session ${source}, position ${at - 1}: there is no record`))
    : right({ at, chain: record.chain });
}

/** Stores the shared events but for the last append, which is given back: it goes with the fork's own facts. */
async function copyShared(
  journal: Journal,
  forker: Forker,
  { source, session_id, at }: ForkSessionOrder & { readonly at: number },
): Answer<readonly JournalRecord[]> {
  let pending: JournalRecord[] = [];
  for (let read = 0; read < at;) {
    const page = await eventRecords(journal, source, read as Position, Math.min(READ_PAGE_RECORDS, at - read));
    if (isLeft(page)) return page;
    if (page.right.length === 0) return left(reject('damaged', '', `session ${source}, position ${read}: no record`));
    for (const record of page.right) {
      // The pause and the undos that the fork refuses have to be in the same write as the last shared event.
      if (pending.length === EVENTS_PER_APPEND_MAX / 2) {
        const failed = await append(journal, session_id, { from: read - pending.length, records: pending }, false);
        if (isLeft(failed)) return failed;
        pending = [];
      }
      const own = addSafely(forker, record);
      if (isLeft(own)) return own;
      if (own.right.kind === 'event') pending.push(stored(own.right));
      read += 1;
    }
  }
  return right(pending);
}

/** Appends records in as many writes as they need; the last one says whether the session owes anything. */
async function append(
  journal: Journal,
  id: SessionId,
  { from, records }: { readonly from: number; readonly records: readonly JournalRecord[] },
  owing: boolean,
): Answer<void> {
  for (let done = 0; done < records.length; done += EVENTS_PER_APPEND_MAX) {
    const next = records.slice(done, done + EVENTS_PER_APPEND_MAX);
    const isLast = done + next.length === records.length;
    const appended = await journal.append(id, (from + done) as Version, next, isLast && owing)();
    if (isLeft(appended)) return appended;
  }
  return right(undefined);
}

const stored = ({ event, state_digest, chain }: EventRecord): JournalRecord => ({
  event: canonicalText(event),
  event_id: event.event_id,
  state_digest,
  chain,
});

// A record that was tampered with may be one that no admission ever saw; whatever the fold makes of it, it is data.
function addSafely(forker: Forker, record: StreamRecord): Either<Rejection, StreamRecord> {
  try {
    return forker.add(record);
  } catch {
    return left(reject('damaged', '', 'the source holds an event that cannot be folded'));
  }
}
