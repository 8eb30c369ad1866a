// The record of what a rebuilt journal lost, and the refusals and notices that follow from it. The record is kept in the
// store itself, under the letter `d`, so that it is copied and deleted together with the streams:
//
//   d                the Rebuilding, as JSON
//   d <session>      the lost positions of a session, as JSON
import { Buffer } from 'node:buffer';
import { left } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import { SessionId } from '../../../schemas/ids.ts';
import { DAMAGED_SESSIONS_MAX } from '../../../schemas/limits.ts';
import { type Rejection, reject } from '../../../schemas/rejection.ts';
import type { Journal } from '../journal.ts';
import { type SessionSpan, sessionsInclude } from '../level/key-spans.ts';
import { DAMAGE_LETTER, lostKey } from '../keys.ts';
import { refuse } from '../refusal.ts';
import type { KeyRange, Put, StoreView } from '../store.ts';

/** The first and the last position that may be lost: -1 is the genesis, null the unknown end of the stream. */
export interface LostPositions {
  readonly first: number;
  readonly last: number | null;
}

export interface Rebuilding {
  /** The name of the directory, beside the journal, that keeps the damaged files unchanged. */
  readonly aside: string;
  /** Spans of ids of sessions that may have existed and of which nothing is left, not even their ids. */
  readonly vanished: readonly SessionSpan[];
}

export interface Damage extends Rebuilding {
  readonly sessions: ReadonlyMap<SessionId, LostPositions>;
}

/** Every key of this record. No other key of a journal comes before it. */
export const DAMAGE_RANGE: KeyRange = { gte: Buffer.from(DAMAGE_LETTER), lt: Buffer.from('e') };

export const putRebuilding = ({ aside, vanished }: Rebuilding): Put => ({
  key: Buffer.from(DAMAGE_LETTER),
  value: Buffer.from(JSON.stringify({ aside, vanished })),
});

export const putLost = (session: SessionId, { first, last }: LostPositions): Put => ({
  key: lostKey(session),
  value: Buffer.from(JSON.stringify({ first, last })),
});

/** Null for a journal that was never rebuilt. */
export async function readDamage(view: StoreView): Promise<Damage | null> {
  const entries = await view.scan(DAMAGE_RANGE, { limit: DAMAGED_SESSIONS_MAX + 1 });
  const [head, ...lost] = entries;
  if (head === undefined) return null;
  const rebuilding = head.key.length === 1 ? readJson(head.value) : null;
  if (!isRebuilding(rebuilding)) return refuse('damaged', 'the record of what the journal lost does not decode');
  const sessions = lost.map(({ key, value }): [SessionId, LostPositions] => {
    const session = Buffer.from(key).toString('latin1').slice(1);
    const positions = readJson(value);
    if (SessionId.is(session) && isLost(positions)) return [session, positions];
    return refuse('damaged', 'the record of a damaged session does not decode');
  });
  return { aside: rebuilding.aside, vanished: rebuilding.vanished, sessions: new Map(sessions) };
}

/** The journal, with every session that may have lost something refused as `damaged`, until it is deleted. */
export function refuseLost(journal: Journal, damage: Damage): Journal {
  const sessions = new Map(damage.sessions);
  const unlessLost =
    <T>(session: SessionId, task: TaskEither<Rejection, T>): TaskEither<Rejection, T> =>
    async () => {
      const lost = sessions.get(session);
      if (lost !== undefined) return left(lostOf(session, lost, damage));
      if (!sessionsInclude(damage.vanished, session)) return await task();
      const head = await journal.head(session)();
      if (head._tag === 'Right' || head.left.code !== 'unknown_session') return await task();
      return left(vanished(session, damage));
    };
  return {
    ...journal,
    create: (session, genesis, tool_package, head) =>
      unlessLost(session, journal.create(session, genesis, tool_package, head)),
    append: (session, ...rest) =>
      sessions.has(session) ? unlessLost(session, journal.append(session, ...rest)) : journal.append(session, ...rest),
    restate: (session, ...rest) => unlessLost(session, journal.restate(session, ...rest)),
    delete: (tombstone) => unlessLost(tombstone.session_id, journal.delete(tombstone)),
    deleteDamaged: (session, atMs) => async () => {
      const deleted = await journal.deleteDamaged(session, atMs)();
      if (deleted._tag === 'Right') sessions.delete(session);
      else if (deleted.left.code === 'unknown_session' && sessionsInclude(damage.vanished, session))
        return left(vanished(session, damage));
      return deleted;
    },
    genesis: (session) => unlessLost(session, journal.genesis(session)),
    genesisOfCopy: (session) => unlessLost(session, journal.genesisOfCopy(session)),
    read: (session, from, limit) => unlessLost(session, journal.read(session, from, limit)),
    head: (session) => unlessLost(session, journal.head(session)),
    find: (session, event) => unlessLost(session, journal.find(session, event)),
  };
}

/** The same journal, which refuses everything once damage was found while it is open. */
export function refuseDamaged(journal: Journal, found: () => Rejection | null): Journal {
  const unlessFound =
    <T>(task: TaskEither<Rejection, T>): TaskEither<Rejection, T> =>
    () => {
      const fault = found();
      return fault === null ? task() : Promise.resolve(left(fault));
    };
  return {
    ...journal,
    create: (session, genesis, tool_package, head) => unlessFound(journal.create(session, genesis, tool_package, head)),
    append: (session, ...rest) => unlessFound(journal.append(session, ...rest)),
    restate: (session, ...rest) => unlessFound(journal.restate(session, ...rest)),
    page: (digest) => unlessFound(journal.page(digest)),
    pages: (after, limit) => unlessFound(journal.pages(after, limit)),
    deletePages: (digests) => unlessFound(journal.deletePages(digests)),
    genesis: (session) => unlessFound(journal.genesis(session)),
    genesisOfCopy: (session) => unlessFound(journal.genesisOfCopy(session)),
    deleteDamaged: (session, atMs) => unlessFound(journal.deleteDamaged(session, atMs)),
    toolPackage: (digest) => unlessFound(journal.toolPackage(digest)),
    read: (session, from, limit) => unlessFound(journal.read(session, from, limit)),
    head: (session) => unlessFound(journal.head(session)),
    find: (session, event) => unlessFound(journal.find(session, event)),
    sessions: (request) => unlessFound(journal.sessions(request)),
    due: (untilMs, limit, after) => unlessFound(journal.due(untilMs, limit, after)),
  };
}

const GONE = 'may be gone without a trace';

/**
 * Whether a notice states that sessions may have vanished. Notices are stored with a rebuilt journal, so the words that this
 * searches for must not change.
 */
export const mentionsVanishedSessions = (notice: string): boolean => notice.includes(GONE);

/** The notices for the operator. */
export function describeDamage({ aside, sessions, vanished: spans }: Damage): readonly string[] {
  const gone = spans.map(
    ({ first, last }) =>
      `sessions with ids between "${first}" and ${last === null ? 'the end' : `"${last}"`} ${GONE}; these ids are refused as damaged. If such sessions existed, restore the data directory from a backup`,
  );
  const whole = gone.length === 0 ? 'every session is whole' : 'every remaining session is whole';
  const lost = sessions.size === 0 ? whole : `damaged sessions: ${sessions.size}; all others are whole`;
  return [`the journal was rebuilt after damage to its files, which are kept in ${aside}: ${lost}`, ...gone];
}

const lostOf = (session: SessionId, { first, last }: LostPositions, { aside }: Damage): Rejection => {
  const where =
    last === null
      ? `positions from ${first} on`
      : last === first
        ? `position ${first}`
        : `positions ${first} to ${last}`;
  return reject(
    'damaged',
    '',
    `session ${session}, ${where}: lost through damage to the files of the journal, which are kept in ${aside}; restore the data directory from a backup, or import an export of the session into another data directory`,
  );
};

const vanished = (session: SessionId, { aside }: Damage): Rejection =>
  reject(
    'damaged',
    '',
    `session ${session}, positions from -1 on: if it existed, all of it was lost through damage to the files of the journal (kept in ${aside}); restore the data directory from a backup, or use another id`,
  );

function readJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    return null;
  }
}

const has = (value: unknown, ...names: readonly string[]): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && names.every((name) => name in value);

const isLost = (value: unknown): value is LostPositions =>
  has(value, 'first', 'last') &&
  Number.isSafeInteger(value['first']) &&
  (value['last'] === null || Number.isSafeInteger(value['last']));

const isSpan = (value: unknown): value is SessionSpan =>
  has(value, 'first', 'last') &&
  typeof value['first'] === 'string' &&
  (value['last'] === null || typeof value['last'] === 'string');

const isRebuilding = (value: unknown): value is Rebuilding =>
  has(value, 'aside', 'vanished') &&
  typeof value['aside'] === 'string' &&
  Array.isArray(value['vanished']) &&
  value['vanished'].every(isSpan);
