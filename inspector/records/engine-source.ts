// A session of an engine, over the client of `refold/client`: its records page by page, then what comes, and its blobs.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { SessionId } from '../../schemas/ids.ts';
import { type CommitRecord, type StreamRecord, versionAfter } from '../../schemas/record.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { EngineClient } from '../../src/client/client.ts';
import { type RecordSource, SourceFault } from './record-source.ts';

/** Events asked for at once when a reader wants those near a position. */
const NEAR_EVENTS = 256;

type Read = Pick<EngineClient, 'records' | 'session' | 'followLive' | 'getBlob'>;

export function newEngineSource(client: Read, session: SessionId): RecordSource {
  async function* pages(from: number | undefined, limit?: number): AsyncGenerator<readonly StreamRecord[], void> {
    for (let position = from; ;) {
      const page: readonly StreamRecord[] = taken(await client.records(session, position, limit)());
      if (page.length > 0) yield page;
      const last = page.at(-1);
      if (last?.kind !== 'commit') return;
      position = versionAfter(last);
    }
  }

  return {
    kind: 'engine',
    name: session,
    session,
    records: () => pages(undefined),
    async *commitsFrom(position) {
      for await (const page of pages(position, NEAR_EVENTS)) yield page.filter((record) => isCommit(record));
    },
    total: async () => taken(await client.session(session)()).state.version,
    follow: (from, signal) => client.followLive(session, { from, signal }),
    blob: async (ref) => {
      const read = await client.getBlob(ref)();
      return isLeft(read) ? read.left : read.right;
    },
  };
}

const isCommit = (record: StreamRecord): record is CommitRecord => record.kind === 'commit';

/** A stream that the engine calls damaged is bad; every other failure is about the way to it. */
function taken<T>(read: Either<Rejection, T>): T {
  if (isLeft(read)) throw new SourceFault(read.left, read.left.code === 'damaged');
  return read.right;
}
