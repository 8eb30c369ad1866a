// Measures an engine at its ports: what is asked of it, what it writes, and what it grants.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { Rejection } from '../../schemas/rejection.ts';
import type { LeaseGrant } from '../../schemas/wire.ts';
import type { Blobs } from '../blobs/blobs.ts';
import type { EngineClient } from '../client/client.ts';
import type { Journal } from '../journal/journal.ts';
import type { Metrics } from './metrics.ts';

/** Runs a task, and notes how long it took and how it ended. */
const noting =
  <T>(task: TaskEither<Rejection, T>, note: (took: number, answer: T | Rejection, refused: boolean) => void) =>
  async (): ReturnType<typeof task> => {
    const startedAt = performance.now();
    const answer = await task();
    note(performance.now() - startedAt, isLeft(answer) ? answer.left : answer.right, isLeft(answer));
    return answer;
  };

export function measureJournal(journal: Journal, metrics: Metrics): Journal {
  const events = metrics.counter('refold_events_total', 'Events that became durable.');
  const appends = metrics.counter('refold_appends_total', 'Appends that became durable.');
  const took = metrics.latency('refold_append_seconds', 'Time from an append to its durable answer, with its wait.');
  return {
    ...journal,
    append: (session, commits, ...rest) =>
      noting(journal.append(session, commits, ...rest), (milliseconds, _answer, refused) => {
        took(milliseconds);
        if (refused) return;
        appends();
        for (const commit of commits) events('', commit.events.length);
      }),
  };
}

export function measureBlobs(blobs: Blobs, metrics: Metrics): Blobs {
  const puts = metrics.counter('refold_blob_puts_total', 'Blobs that were put, also again.');
  const bytes = metrics.counter('refold_blob_put_bytes_total', 'Bytes of the blobs that were put.');
  return {
    ...blobs,
    put: (content, options) =>
      noting(blobs.put(content, options), (_took, _answer, refused) => {
        if (refused) return;
        puts();
        bytes('', content.length);
      }),
  };
}

export function measureClient(client: EngineClient, metrics: Metrics): EngineClient {
  const refusals = metrics.counter('refold_refusals_total', 'Requests that were refused, by code.', 'code');
  const granted = metrics.counter('refold_effects_granted_total', 'Effects that bridges leased, by kind.', 'kind');
  const created = metrics.counter('refold_sessions_created_total', 'Sessions that were created or forked.');
  const deleted = metrics.counter('refold_sessions_deleted_total', 'Sessions that were deleted.');
  const submitTook = metrics.latency('refold_submit_seconds', 'Time from a submit to its answer.');

  let followers = 0;
  metrics.gauge('refold_followers', 'Readers that follow a session.', () => followers);
  async function* counted<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
    followers += 1;
    try {
      yield* items;
    } finally {
      followers -= 1;
    }
  }

  const counting = <T>(task: TaskEither<Rejection, T>, note?: (answer: T, took: number) => void) =>
    noting(task, (took, answer, refused) => {
      if (refused) refusals((answer as Rejection).code);
      else note?.(answer as T, took);
    });
  const noteGrant = ({ effects }: LeaseGrant): void => {
    for (const { kind } of effects) granted(kind);
  };
  return {
    ...client,
    createSession: (request) => counting(client.createSession(request), () => created()),
    fork: (id, request) => counting(client.fork(id, request), () => created()),
    deleteSession: (id) => counting(client.deleteSession(id), () => deleted()),
    sessions: (request) => counting(client.sessions(request)),
    session: (id) => counting(client.session(id)),
    records: (id, from, limit) => counting(client.records(id, from, limit)),
    submit: (id, request) =>
      counting(client.submit(id, request), ({ granted: grant }, took) => {
        submitTook(took);
        if (grant !== undefined) noteGrant(grant);
      }),
    lease: (request, signal) => counting(client.lease(request, signal), noteGrant),
    follow: (id, options) => counted(client.follow(id, options)),
    followCommits: (id, options) => counted(client.followCommits(id, options)),
    followLive: (id, options) => counted(client.followLive(id, options)),
    postDeltas: (id, request) => counting(client.postDeltas(id, request)),
    putBlob: (bytes, options) => counting(client.putBlob(bytes, options)),
    joinBlobs: (request) => counting(client.joinBlobs(request)),
    getBlob: (ref) => counting(client.getBlob(ref)),
  };
}
