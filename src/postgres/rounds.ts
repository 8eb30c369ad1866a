// What a round of writes asks of the database, and what its answers mean. A round has at most one write of a session, and
// the refusal of one write affects no other.
import { Buffer } from 'node:buffer';
import { type Either, left, right } from 'fp-ts/lib/Either.js';
import type { Digest, SessionId, Version } from '../../schemas/ids.ts';
import { versionAfter } from '../../schemas/record.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { HeadFacts } from '../../schemas/session-head.ts';
import {
  checkStatus,
  eventRepeated,
  sessionDeleted,
  sessionExists,
  unknownSession,
  versionConflict,
} from '../journal/append-rules.ts';
import { bigs, booleans, bytes, integers, smalls, texts, uuids } from './binary-array.ts';
import { digestBytes } from './digest-bytes.ts';
import type { Connection, Given, Row } from './driver.ts';
import { eventKeysOf } from './event-key.ts';
import type { Tenures } from './tenures.ts';
import type { AppendCommits, CreateStream, DeleteStream, StreamWrite } from './writes.ts';
import { rowOfCommit } from './commit-rows.ts';

export type WriteAnswer = Either<Rejection, Version>;

const notOwner = (session: SessionId): Rejection =>
  reject('not_owner', '', `session ${session} belongs to another engine now`);

export async function appendRound(
  connection: Connection,
  tenures: Tenures,
  writes: readonly AppendCommits[],
): Promise<readonly WriteAnswer[]> {
  const rows = await connection.query(APPEND, [...tenuresOf(tenures, writes), ...appendsOf(writes)]);
  const answers = writes.map((write): WriteAnswer => right(versionOf(write)));
  for (const row of rows) {
    const index = Number(row['write']) - 1;
    const write = writes[index];
    if (write !== undefined) answers[index] = left(appendRefusal(write, row));
  }
  return answers;
}

/** The version of the stream after a write. */
export const versionOf = ({ expected, commits }: AppendCommits): Version => {
  const last = commits.at(-1);
  return last === undefined ? expected : (versionAfter(last) as Version);
};

const APPEND = `SELECT * FROM refold.append(${parameters(23)})`;
const CREATE = `SELECT * FROM refold.create_streams(${parameters(12)})`;
const DELETE = `SELECT * FROM refold.delete_stream(${parameters(7)})`;

function parameters(count: number): string {
  return Array.from({ length: count }, (_, index) => `$${index + 1}`).join(', ');
}

/** The partitions of these writes, each once, and the epochs at which they are held. */
function tenuresOf(tenures: Tenures, writes: readonly StreamWrite[]): readonly Buffer[] {
  const partitions = [...new Set(writes.map(({ partition }) => partition))];
  return [smalls(partitions), bigs(partitions.map((partition) => tenures.epochOf(partition)))];
}

function appendsOf(writes: readonly AppendCommits[]): readonly Given[] {
  const commits = writes.flatMap((write, index) =>
    write.commits.map((commit) => ({ write: index + 1, position: commit.position, ...rowOfCommit(commit) })),
  );
  const events = writes.flatMap(({ session, commits: own }, index) => {
    const keyOf = eventKeysOf(session);
    return own.flatMap(({ position, events: listed }) =>
      listed.map(({ event_id }, at) => ({ write: index + 1, key: keyOf(event_id), position: position + at })),
    );
  });
  const pages = writes.flatMap((write) => write.pages);
  return [
    texts(writes.map(({ session }) => session)),
    smalls(writes.map(({ partition }) => partition)),
    bigs(writes.map(({ expected }) => expected)),
    bigs(writes.map(versionOf)),
    ...headsOf(writes),
    integers(commits.map(({ write }) => write)),
    bigs(commits.map(({ position }) => position)),
    smalls(commits.map(({ count }) => count)),
    bytes(commits.map(({ state_digest }) => state_digest)),
    bytes(commits.map(({ chain }) => chain)),
    texts(commits.map(({ event_ids }) => event_ids)),
    texts(commits.map(({ events: joined }) => joined)),
    integers(events.map(({ write }) => write)),
    uuids(events.map(({ key }) => key)),
    bigs(events.map(({ position }) => position)),
    integers(writes.flatMap(({ pages }, index) => pages.map(() => index + 1))),
    bytes(pages.map(({ digest }) => digestBytes(digest))),
    bytes(pages.map((page) => Buffer.from(page.bytes.buffer, page.bytes.byteOffset, page.bytes.length))),
  ];
}

const headsOf = (writes: readonly { readonly head: HeadFacts }[]): readonly Given[] => [
  booleans(writes.map(({ head }) => head.owing)),
  bigs(writes.map(({ head }) => head.wake_at_ms)),
  texts(writes.map(({ head }) => head.card.status)),
  // As JSON: a title may hold characters that no text of PostgreSQL can.
  texts(writes.map(({ head }) => JSON.stringify(head.card))),
];

function appendRefusal({ session, expected, commits, head }: AppendCommits, row: Row): Rejection {
  if (row['is_held'] !== true) return notOwner(session);
  const { version, status, repeated } = row;
  if (version === null) return row['is_deleted'] === true ? sessionDeleted(session) : unknownSession(session);
  if (version !== expected) return versionConflict(session, expected, Number(version) as Version);
  const ids = commits.flatMap(({ events }) => events.map(({ event_id }) => event_id));
  const id = repeated === null ? undefined : ids[Number(repeated) - expected];
  if (id !== undefined) return eventRepeated(session, id);
  const stored = { card: { status: status as HeadFacts['card']['status'] } };
  return (
    checkStatus(session, stored, head) ??
    reject('storage_failed', '', `the write to session ${session} met another write of its stream; try again`)
  );
}

/** `known`: the packages that are known to be stored, which are not sent again. */
export async function createRound(
  connection: Connection,
  { tenures, known }: { readonly tenures: Tenures; readonly known: ReadonlySet<Digest> },
  writes: readonly CreateStream[],
): Promise<readonly WriteAnswer[]> {
  const packages = new Map(writes.map(({ tool_package: { digest, text } }) => [digest, text]));
  const unknown = [...packages].filter(([digest]) => !known.has(digest));
  const places = new Map(unknown.map(([digest], index) => [digest, index + 1]));
  const rows = await connection.query(CREATE, [
    ...tenuresOf(tenures, writes),
    bytes(unknown.map(([digest]) => digestBytes(digest))),
    texts(unknown.map(([, text]) => text)),
    texts(writes.map(({ session }) => session)),
    smalls(writes.map(({ partition }) => partition)),
    ...headsOf(writes),
    texts(writes.map(({ genesis }) => genesis)),
    integers(writes.map(({ tool_package: { digest } }) => places.get(digest) ?? 0)),
  ]);
  const answers = writes.map((): WriteAnswer => right(0 as Version));
  for (const { write: nth, is_held, is_there } of rows) {
    const write = writes[Number(nth) - 1];
    if (write === undefined) continue;
    const { session } = write;
    const held = is_there === true ? sessionExists(session) : sessionDeleted(session);
    answers[Number(nth) - 1] = left(is_held === true ? held : notOwner(session));
  }
  return answers;
}

export async function deleteOne(connection: Connection, tenures: Tenures, write: DeleteStream): Promise<WriteAnswer> {
  const { session, tombstone, whatever } = write;
  const [row] = await connection.query(DELETE, [
    ...tenuresOf(tenures, [write]),
    session,
    tombstone.version,
    tombstone.chain === null ? null : digestBytes(tombstone.chain),
    tombstone.deleted_at_ms,
    whatever,
  ]);
  if (row?.['is_held'] !== true) return left(notOwner(session));
  const expected = tombstone.version ?? (0 as Version);
  if (row['is_gone'] === true) return right(expected);
  if (row['is_deleted'] === true) return left(sessionDeleted(session));
  const { version } = row;
  return left(
    version === null ? unknownSession(session) : versionConflict(session, expected, Number(version) as Version),
  );
}
