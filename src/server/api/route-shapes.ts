// What each route with a token takes and gives. Its path, method and scopes are in `schemas/access.ts`.
import type { RouteName } from '../../../schemas/access.ts';
import { flag, integer, list, oneOf, shape, text } from '../../../schemas/codec.ts';
import { Digest, Position, SessionId } from '../../../schemas/ids.ts';
import { BLOB_BYTES_MAX, READ_PAGE_EVENTS, SUBMITS_TOGETHER_MAX } from '../../../schemas/limits.ts';
import { AskCode, PageCode, PageId, PageList } from '../../../schemas/pages.ts';
import { CommitRecord, StreamRecord } from '../../../schemas/record.ts';
import { Tombstone } from '../../../schemas/session-head.ts';
import {
  BackupPart,
  CreateSession,
  DeletedPage,
  DeltaFrame,
  DeltasTaken,
  EngineInfo,
  ForkSession,
  Heartbeat,
  HeartbeatReply,
  JoinBlobs,
  LeaseGrant,
  LeaseRequest,
  ListDeleted,
  ListSessions,
  PostDeltas,
  Problem,
  Release,
  ReloadedCatalog,
  SessionPage,
  SessionSummary,
  SessionView,
  Submit,
  SubmitReceipt,
  SubmitsReply,
} from '../../../schemas/wire.ts';
import { CLIENT_EVENT_SHAPES } from '../../core/stream/client-event-shapes.ts';
import { JSON_BODY, OF_EVENTS, OF_SESSION, READS, SHAPED, WRITES } from './refusal-codes.ts';
import { type RouteShape, parameters } from './route-shape.ts';

const Count = integer('a number', 0);
const RecordsQuery = shape('RecordsQuery', {}, { from: Position, limit: Count });
const FollowQuery = shape('FollowQuery', {}, { from: Position, deltas: oneOf('deltas', ['1']) });
const FollowHeaders = shape('FollowHeaders', {}, { 'last-event-id': Position });
/** Any text: what is none of the stream is refused when the stream is read. */
const StreamId = text('an id of the stream', { max: 16_384 });
const StreamQuery = shape('StreamQuery', {}, { after: StreamId });
const StreamHeaders = shape('StreamHeaders', {}, { 'last-event-id': StreamId });
const PutBlobQuery = shape('PutBlobQuery', {}, { durable: flag });
const StoredBlob = shape('StoredBlob', { ref: Digest });
const EndedPage = shape('EndedPage', { id: PageId });
const Submits = shape('Submits', {
  submits: list(shape('SubmitTo', { session_id: SessionId, request: Submit }), SUBMITS_TOGETHER_MAX),
});

export const ROUTE_SHAPES = {
  info: { says: 'Name and version of the engine.', status: 200, answer: EngineInfo, refusals: [] },
  sessions: {
    says: 'One page of the sessions, by id; continue after its next.',
    query: parameters(ListSessions, {
      after: 'Only sessions after this id.',
      limit: 'At most so many.',
      owing: 'Only those that have work for a bridge, or only the others.',
      waiting: 'Only those that wait for a person or a time, or only the others.',
      status: 'Only those with this status.',
    }),
    status: 200,
    answer: SessionPage,
    refusals: [...SHAPED, ...READS],
  },
  createSession: {
    says: 'Creates a session.',
    body: CreateSession,
    status: 201,
    answer: SessionSummary,
    refusals: OF_EVENTS,
  },
  deleteSession: {
    says: 'Deletes an idle session, or a damaged one.',
    path: SessionId,
    status: 200,
    answer: Tombstone,
    refusals: [...OF_SESSION, ...WRITES, 'session_busy'],
  },
  deletedSessions: {
    says: 'One page of the deleted sessions, by id; continue after its next.',
    query: parameters(ListDeleted, { after: 'Only sessions after this id.', limit: 'At most so many.' }),
    status: 200,
    answer: DeletedPage,
    refusals: [...SHAPED, ...READS],
  },
  session: {
    says: 'State, digest, chain and status of a session.',
    path: SessionId,
    status: 200,
    answer: SessionView,
    refusals: OF_SESSION,
  },
  submit: {
    says: 'Appends facts to a session, all or none; they are durable when it answers.',
    path: SessionId,
    body: Submit,
    status: 200,
    answer: SubmitReceipt,
    refusals: OF_EVENTS,
  },
  followCommits: {
    says: 'Follows the commits of a session: the stored ones, then each new one.',
    path: SessionId,
    query: parameters(FollowQuery, {
      from: 'The position to begin at.',
      deltas: '1: also what the model writes, as delta messages without an id.',
    }),
    headers: parameters(FollowHeaders, { 'last-event-id': 'The last id that was seen; it comes before from.' }),
    status: 200,
    answer: {
      type: 'text/event-stream',
      says: 'Commits; the id of each is the position of its last event. A fault ends the stream early.',
      messages: { commit: CommitRecord, delta: DeltaFrame, fault: Problem },
    },
    refusals: [...OF_SESSION, 'position_unknown'],
  },
  stream: {
    says: 'The session as a client stream: lifecycle, text, calls, results, questions and tokens.',
    path: SessionId,
    query: parameters(StreamQuery, { after: 'The last id that was seen.' }),
    headers: parameters(StreamHeaders, { 'last-event-id': 'The last id that was seen; it comes before after.' }),
    status: 200,
    answer: {
      type: 'text/event-stream',
      says: 'Events, each with an id at which a reader resumes; what is not made from the record has none.',
      messages: CLIENT_EVENT_SHAPES,
    },
    refusals: [...OF_SESSION, 'position_unknown'],
  },
  postDeltas: {
    says: 'Shows what a model writes, under the lease on its generate; never recorded.',
    path: SessionId,
    body: PostDeltas,
    status: 200,
    answer: DeltasTaken,
    refusals: [...JSON_BODY, ...OF_SESSION, 'stale_lease', 'lease_required'],
  },
  records: {
    says: 'Records of the stream; a page may be shorter than asked for, and only an empty one is the end.',
    path: SessionId,
    query: parameters(RecordsQuery, {
      from: 'The position to begin at; without it the tool package and the genesis record come first.',
      limit: 'About so many events.',
    }),
    status: 200,
    answer: list(StreamRecord, READ_PAGE_EVENTS + 2),
    refusals: [...OF_SESSION, 'position_unknown'],
  },
  fork: {
    says: 'Creates a session with the first events of another.',
    path: SessionId,
    body: ForkSession,
    status: 201,
    answer: SessionSummary,
    refusals: OF_EVENTS,
  },
  submits: {
    says: 'Several submits, each with its own answer: one that is refused refuses no other.',
    body: Submits,
    status: 200,
    answer: SubmitsReply,
    refusals: [...JSON_BODY, ...WRITES],
  },
  lease: {
    says: 'Leases effects; waits for the first.',
    body: LeaseRequest,
    status: 200,
    answer: LeaseGrant,
    refusals: [...JSON_BODY, ...WRITES],
  },
  heartbeat: {
    says: 'Extends leases; answers with the lost ones.',
    body: Heartbeat,
    status: 200,
    answer: HeartbeatReply,
    refusals: JSON_BODY,
  },
  release: {
    says: 'Gives leases back; answers with the lost ones.',
    body: Release,
    status: 200,
    answer: HeartbeatReply,
    refusals: JSON_BODY,
  },
  putBlob: {
    says: 'Stores bytes under their digest.',
    query: parameters(PutBlobQuery, {
      durable: 'false: does not wait for the disk; a crash may lose the blob as a whole.',
    }),
    body: { bytesMax: BLOB_BYTES_MAX },
    status: 201,
    answer: StoredBlob,
    refusals: [...SHAPED, ...WRITES, 'too_large', 'malformed_json', 'uploads_full'],
  },
  joinBlobs: {
    says: 'Stores the bytes of stored blobs, one after the other, as one blob.',
    body: JoinBlobs,
    status: 201,
    answer: StoredBlob,
    refusals: [...JSON_BODY, ...WRITES, 'unknown_blob', 'uploads_full', 'digest_mismatch'],
  },
  getBlob: {
    says: 'The bytes of a blob.',
    path: Digest,
    status: 200,
    answer: { type: 'application/octet-stream', says: 'The bytes.' },
    refusals: [...SHAPED, ...READS, 'unknown_blob', 'digest_mismatch'],
  },
  backup: {
    says: 'All entries of the journal as of one moment and the digests of all blobs.',
    status: 200,
    answer: { type: 'application/x-ndjson', says: 'Parts, one a line; the last one has an end.', lines: BackupPart },
    refusals: [...READS, 'not_found'],
  },
  metrics: {
    says: 'The figures of the process.',
    status: 200,
    answer: { type: 'text/plain', says: 'Prometheus text format 0.0.4.' },
    refusals: ['not_found'],
  },
  reloadCatalog: {
    says: 'Reads the catalog again. A file with a fault keeps the catalog as it is.',
    status: 200,
    answer: ReloadedCatalog,
    refusals: ['not_found', 'catalog_invalid', 'storage_failed'],
  },
  askCode: {
    says: 'A code for a page, which is valid once and for a short time; never to a page.',
    body: AskCode,
    status: 201,
    answer: PageCode,
    noStore: true,
    refusals: [...JSON_BODY, 'not_found'],
  },
  pages: {
    says: 'The pages that have a token.',
    status: 200,
    answer: PageList,
    noStore: true,
    refusals: ['not_found'],
  },
  endPage: {
    says: 'Ends the token of a page.',
    path: text('the id of a page', { max: 16_384 }),
    status: 200,
    answer: EndedPage,
    noStore: true,
    refusals: ['not_found'],
  },
} as const satisfies Readonly<Record<RouteName, RouteShape>>;

export type RouteShapes = typeof ROUTE_SHAPES;
