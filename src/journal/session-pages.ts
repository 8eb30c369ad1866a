// Pages of heads, and the sessions whose time has come, from one view of the store.
import type { SessionId, Version } from '../../schemas/ids.ts';
import { SESSIONS_EXAMINED_MAX } from '../../schemas/limits.ts';
import type { SessionPage } from '../../schemas/wire.ts';
import type { SessionHead, SessionsRequest, Wake } from './journal.ts';
import { HEAD_RANGE, headKey, owingAfter, sessionOfKey, sessionsAfter, wakeOfKey, wakesBetween } from './keys.ts';
import { refuse } from './refusal.ts';
import { matchesRequest } from './session-filter.ts';
import { type StoredHead, decodeHead } from './stored-values.ts';
import type { StoreView } from './store.ts';
import { readSessionCount } from './stream-reads.ts';

/** Heads read in one step. */
const STEP = 1_000;

/** A page of sessions by id in byte order. Those that owe are found through their index; all others by examining heads. */
export async function readSessions(view: StoreView, request: SessionsRequest): Promise<SessionPage> {
  const { limit } = request;
  const read = request.owing === true ? readOwing : readHeads;
  const found: SessionHead[] = [];
  let after = request.after ?? null;
  for (let examined = 0; examined < SESSIONS_EXAMINED_MAX;) {
    const step = Math.min(STEP, SESSIONS_EXAMINED_MAX - examined);
    const { heads, last } = await read(view, after, step);
    for (const head of heads) {
      if (matchesRequest(head, request)) found.push(head);
      if (found.length === limit) return { sessions: found, next: head.session_id };
    }
    if (last === null) {
      if (request.after === undefined) await checkCount(view, request, found.length);
      return { sessions: found, next: null };
    }
    after = last;
    examined += step;
  }
  return { sessions: found, next: after };
}

interface Step {
  readonly heads: readonly SessionHead[];
  /** The last session of this step; null when none may follow. */
  readonly last: SessionId | null;
}

async function readHeads(view: StoreView, after: SessionId | null, limit: number): Promise<Step> {
  const entries = await view.scan(after === null ? HEAD_RANGE : sessionsAfter(after), { limit });
  const heads = entries.map(({ key, value }) => {
    const session = sessionOfKey(key);
    return session === null ? refuse('damaged', 'the key of a head does not name a session') : headOf(session, value);
  });
  return { heads, last: entries.length < limit ? null : (heads.at(-1)?.session_id ?? null) };
}

async function readOwing(view: StoreView, after: SessionId | null, limit: number): Promise<Step> {
  const entries = await view.scan(owingAfter(after), { limit });
  const ids = entries.map(
    ({ key }) => sessionOfKey(key) ?? refuse('damaged', 'an entry of the index of sessions that owe names no session'),
  );
  const values = await view.getMany(ids.map((id) => headKey(id)));
  const heads = ids.map((id, index) => headOf(id, values[index]));
  return { heads, last: entries.length < limit ? null : (ids.at(-1) ?? null) };
}

const UNREADABLE: StoredHead = {
  version: 0 as Version,
  owing: true,
  wake_at_ms: null,
  card: { title: 'damaged: its head cannot be read', status: 'idle', parent: null, last_activity_ms: 0, outcome: null },
};

function headOf(session: SessionId, bytes: Uint8Array | undefined): SessionHead {
  if (bytes === undefined) return refuse('damaged', `the journal has lost the head of session ${session}`);
  const head = decodeHead(bytes);
  // One head that cannot be read must not hide all other sessions. Whoever loads this one is refused with the reason.
  return { session_id: session, ...(head ?? UNREADABLE) };
}

const FILTERS = ['owing', 'waiting', 'status', 'partitions'] as const;

/** Where one page holds every head, their number must be the stored one. */
async function checkCount(view: StoreView, request: SessionsRequest, found: number): Promise<void> {
  if (FILTERS.some((filter) => request[filter] !== undefined)) return;
  const count = await readSessionCount(view);
  if (found !== count) refuse('damaged', `the journal counts ${count} sessions, but has ${found} heads`);
}

/** The first times that sessions wait for, in order of time and id: up to `untilMs`, after `after`. */
export async function readDue(
  view: StoreView,
  untilMs: number,
  limit: number,
  after: Wake | null,
): Promise<readonly Wake[]> {
  const entries = await view.scan(wakesBetween(after, untilMs), { limit });
  return entries.map(
    ({ key }) => wakeOfKey(key) ?? refuse('damaged', 'an entry of the index of times does not decode'),
  );
}
