// A journal in memory, for tests, simulation and short-lived embedding. Its content is lost when the process ends.
import { Buffer } from 'node:buffer';
import { type Either, map, isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { Digest, EventId, Position, SessionId, Version } from '../../schemas/ids.ts';
import { READ_PAGE_BYTES, READ_PAGE_EVENTS } from '../../schemas/limits.ts';
import { versionAfter } from '../../schemas/record.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { type HeadFacts, type Tombstone, isIncomplete } from '../../schemas/session-head.ts';
import type { SessionPage } from '../../schemas/wire.ts';
import {
  checkCommits,
  checkStatus,
  copyIncomplete,
  eventRepeated,
  packageLost,
  sessionDeleted,
  sessionExists,
  unknownSession,
  versionConflict,
} from './append-rules.ts';
import type { Journal, JournalCommit, SessionHead, SessionsRequest, StoredPage, Wake } from './journal.ts';
import { openMemorySnapshots } from './memory-snapshots.ts';
import { matchesRequest } from './session-filter.ts';
import { guardSnapshots } from './snapshots.ts';

interface Stream {
  readonly genesis: string;
  readonly commits: JournalCommit[];
  readonly positions: Map<EventId, Position>;
  head: HeadFacts;
}

type Answer<T> = Either<Rejection, T>;

export function openMemoryJournal(): Journal {
  const streams = new Map<SessionId, Stream>();
  const packages = new Map<Digest, string>();
  const pages = new Map<Digest, Uint8Array>();
  const tombstones = new Map<SessionId, Tombstone>();
  const snapshots = openMemorySnapshots();
  let closed = false;

  const unlessClosed =
    <T>(work: () => Answer<T>): TaskEither<Rejection, T> =>
    async () =>
      closed ? left(reject('closing', '', 'the journal is closed')) : work();

  const absent = (session: SessionId): Rejection =>
    tombstones.has(session) ? sessionDeleted(session) : unknownSession(session);

  const onStream = <T>(session: SessionId, work: (stream: Stream) => Answer<T>): TaskEither<Rejection, T> =>
    unlessClosed(() => {
      const stream = streams.get(session);
      return stream === undefined ? left(absent(session)) : work(stream);
    });

  const thenDrop = <T>(session: SessionId, work: (stream: Stream) => Answer<T>): TaskEither<Rejection, T> =>
    droppingAfter(onStream(session, work), snapshots.dropAll(session));

  return {
    create: (session, genesis, { digest, text }, head) =>
      unlessClosed(() => {
        if (streams.has(session)) return left(sessionExists(session));
        if (tombstones.has(session)) return left(sessionDeleted(session));
        packages.set(digest, text);
        streams.set(session, { genesis, commits: [], positions: new Map(), head });
        return right(undefined);
      }),
    genesis: (session) =>
      onStream(session, ({ genesis, head }) => (isIncomplete(head) ? left(copyIncomplete(session)) : right(genesis))),
    genesisOfCopy: (session) =>
      onStream(session, ({ genesis, head }) => (isIncomplete(head) ? right(genesis) : left(sessionExists(session)))),
    toolPackage: (digest) => unlessClosed(() => packageIn(packages, digest)),
    append: (session, commits, head, sealed = []) =>
      unlessClosed(() => {
        const refused = checkCommits(session, commits);
        if (refused !== null) return left(refused);
        const stream = streams.get(session);
        if (stream === undefined) return left(absent(session));
        return storing(pages, sealed, appendTo(stream, session, { commits, head }));
      }),
    read: (session, from, limit) =>
      onStream(session, ({ commits }) => {
        const end = from + Math.min(limit, READ_PAGE_EVENTS);
        return right(limit < 1 ? [] : firstBytes(commits.slice(firstAfter(commits, from), firstAt(commits, end))));
      }),
    head: (session) => onStream(session, (stream) => right(headOf(session, stream))),
    find: (session, event) => onStream(session, (stream) => right(stream.positions.get(event) ?? null)),
    restate: (session, version, head, sealed = []) =>
      onStream(session, (stream) => storing(pages, sealed, restate(stream, session, { version, head }))),
    ...pagesIn(pages, unlessClosed),
    sessions: (request) => unlessClosed(() => right(pageOf(streams, request))),
    due: (untilMs, limit, after) => unlessClosed(() => right(dueIn(streams, { untilMs, limit, after }))),
    entries: () => null,
    probe: () => unlessClosed(() => right(undefined)),
    delete: (tombstone) =>
      thenDrop(tombstone.session_id, (stream) => deleteFrom({ streams, tombstones }, stream, tombstone)),
    deleteDamaged: (session, atMs) =>
      thenDrop(session, (stream) => deleteAsFound({ streams, tombstones }, stream, { session, atMs })),
    tombstones: (after, limit) => unlessClosed(() => right(tombstonesIn(tombstones, after, limit))),
    snapshots: guardSnapshots(snapshots, () => closed),
    close: async () => {
      closed = true;
    },
  };
}

/** Stores pages with a write that was not refused. */
function storing<T>(pages: Map<Digest, Uint8Array>, sealed: readonly StoredPage[], written: Answer<T>): Answer<T> {
  if (!isLeft(written)) for (const { digest, bytes } of sealed) pages.set(digest, bytes.slice());
  return written;
}

function packageIn(packages: ReadonlyMap<Digest, string>, digest: Digest): Answer<string> {
  const text = packages.get(digest);
  return text === undefined ? left(packageLost(digest)) : right(text);
}

type UnlessClosed = <T>(work: () => Answer<T>) => TaskEither<Rejection, T>;

const pagesIn = (
  pages: Map<Digest, Uint8Array>,
  unlessClosed: UnlessClosed,
): Pick<Journal, 'page' | 'pages' | 'deletePages'> => ({
  page: (digest) => unlessClosed(() => right(pages.get(digest) ?? null)),
  pages: (after, limit) => unlessClosed(() => right(digestsIn(pages, after, limit))),
  deletePages: (digests) =>
    unlessClosed(() => {
      for (const digest of digests) pages.delete(digest);
      return right(undefined);
    }),
});

/** The snapshots of a session are dropped only once it is deleted. */
const droppingAfter =
  <T>(deleting: TaskEither<Rejection, T>, drop: TaskEither<Rejection, void>): TaskEither<Rejection, T> =>
  async () => {
    const deleted = await deleting();
    if (isLeft(deleted)) return deleted;
    const dropped = await drop();
    return isLeft(dropped) ? dropped : deleted;
  };

interface Kept {
  readonly streams: Map<SessionId, Stream>;
  readonly tombstones: Map<SessionId, Tombstone>;
}

function deleteFrom({ streams, tombstones }: Kept, stream: Stream, tombstone: Tombstone): Answer<void> {
  const { session_id, version } = tombstone;
  if (versionOf(stream) !== version) {
    return left(versionConflict(session_id, version ?? (0 as Version), versionOf(stream)));
  }
  streams.delete(session_id);
  tombstones.set(session_id, tombstone);
  return right(undefined);
}

function deleteAsFound(
  kept: Kept,
  stream: Stream,
  { session, atMs }: { readonly session: SessionId; readonly atMs: number },
): Answer<Tombstone> {
  const chain = stream.commits.at(-1)?.chain ?? null;
  const tombstone = { session_id: session, version: versionOf(stream), chain, deleted_at_ms: atMs };
  return map(() => tombstone)(deleteFrom(kept, stream, tombstone));
}

const tombstonesIn = (
  tombstones: ReadonlyMap<SessionId, Tombstone>,
  after: SessionId | null,
  limit: number,
): readonly Tombstone[] =>
  [...tombstones.values()]
    .filter(({ session_id }) => after === null || session_id > after)
    .sort((a, b) => (a.session_id < b.session_id ? -1 : 1))
    .slice(0, limit);

const digestsIn = (pages: ReadonlyMap<Digest, unknown>, after: Digest | null, limit: number): readonly Digest[] =>
  [...pages.keys()]
    .filter((digest) => after === null || digest > after)
    .sort()
    .slice(0, limit);

interface Due {
  readonly untilMs: number;
  readonly limit: number;
  readonly after: Wake | undefined;
}

function dueIn(streams: ReadonlyMap<SessionId, Stream>, { untilMs, limit, after }: Due): readonly Wake[] {
  const wakes = [...streams].flatMap(([session_id, { head }]) =>
    head.wake_at_ms === null || head.wake_at_ms > untilMs ? [] : [{ session_id, at_ms: head.wake_at_ms }],
  );
  const later = after === undefined ? wakes : wakes.filter((wake) => compareWakes(wake, after) > 0);
  return later.sort(compareWakes).slice(0, limit);
}

function pageOf(
  streams: ReadonlyMap<SessionId, Stream>,
  { after = '' as SessionId, limit, ...filters }: SessionsRequest,
): SessionPage {
  const inOrder = [...streams].filter(([id]) => id > after).sort(([a], [b]) => (a < b ? -1 : 1));
  const found: SessionHead[] = [];
  for (const [id, stream] of inOrder) {
    const head = headOf(id, stream);
    if (matchesRequest(head, filters)) found.push(head);
    if (found.length === limit) return { sessions: found, next: id };
  }
  return { sessions: found, next: null };
}

const compareWakes = (a: Wake, b: Wake): number =>
  a.at_ms - b.at_ms || (a.session_id < b.session_id ? -1 : a.session_id > b.session_id ? 1 : 0);

const headOf = (session: SessionId, stream: Stream): SessionHead => ({
  session_id: session,
  version: versionOf(stream),
  ...stream.head,
});

const versionOf = ({ commits }: Stream): Version => {
  const last = commits.at(-1);
  return (last === undefined ? 0 : versionAfter(last)) as Version;
};

/** The commits up to the one with which their texts reach READ_PAGE_BYTES. */
function firstBytes(commits: readonly JournalCommit[]): readonly JournalCommit[] {
  let bytes = 0;
  const last = commits.findIndex(({ events }) => {
    for (const { text } of events) bytes += Buffer.byteLength(text);
    return bytes >= READ_PAGE_BYTES;
  });
  return last === -1 ? commits : commits.slice(0, last + 1);
}

/** The index of the first commit that ends after a position. */
const firstAfter = (commits: readonly JournalCommit[], position: number): number =>
  firstWith(commits, (commit) => versionAfter(commit) > position);

/** The index of the first commit that begins at a position or after it. */
const firstAt = (commits: readonly JournalCommit[], position: number): number =>
  firstWith(commits, (commit) => commit.position >= position);

/** The index of the first commit that is `late`; all commits after it are, too. */
function firstWith(commits: readonly JournalCommit[], late: (commit: JournalCommit) => boolean): number {
  let [low, high] = [0, commits.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (late(commits[middle] as JournalCommit)) high = middle;
    else low = middle + 1;
  }
  return low;
}

interface Append {
  readonly commits: readonly JournalCommit[];
  readonly head: HeadFacts;
}

function restate(
  stream: Stream,
  session: SessionId,
  { version, head }: { readonly version: Version; readonly head: HeadFacts },
): Answer<void> {
  if (versionOf(stream) !== version) return left(versionConflict(session, version, versionOf(stream)));
  const refused = checkStatus(session, stream.head, head);
  if (refused !== null) return left(refused);
  stream.head = head;
  return right(undefined);
}

function appendTo(stream: Stream, session: SessionId, { commits, head }: Append): Answer<Version> {
  const version = versionOf(stream);
  const expected = (commits[0]?.position ?? 0) as number as Version;
  if (version !== expected) return left(versionConflict(session, expected, version));
  for (const { events } of commits) {
    const repeated = events.find(({ event_id }) => stream.positions.has(event_id));
    if (repeated !== undefined) return left(eventRepeated(session, repeated.event_id));
  }
  const refused = checkStatus(session, stream.head, head);
  if (refused !== null) return left(refused);
  for (const { position, events, state_digest, chain } of commits) {
    for (const [index, { event_id }] of events.entries()) {
      stream.positions.set(event_id, (position + index) as Position);
    }
    stream.commits.push(Object.freeze({ position, events: [...events], state_digest, chain }));
  }
  stream.head = head;
  return right(versionOf(stream));
}
