// Where records come from: the one interface to a session of an engine, a file, and records that came with the page.
import type { Digest, SessionId } from '../../schemas/ids.ts';
import type { CommitRecord, StreamRecord } from '../../schemas/record.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { DeltaFrame } from '../../schemas/wire.ts';
import type { SourceGiven } from '../protocol.ts';

export interface RecordSource {
  readonly kind: SourceGiven['kind'];
  /** The session id, or the name of the file. */
  readonly name: string;
  /** The records from the first one on, in pieces; it ends where the source ends now. Throws {@link SourceFault}. */
  records(): AsyncGenerator<readonly StreamRecord[], void>;
  /** The commits from the one that contains this position on. Throws {@link SourceFault}. */
  commitsFrom(position: number): AsyncGenerator<readonly CommitRecord[], void>;
  /** How many events it has now; null when only reading all of it tells. */
  total(): Promise<number | null>;
  /** New commits as they come, and what the model writes; absent when the source does not grow. */
  readonly follow?: (from: number, signal: AbortSignal) => AsyncIterable<CommitRecord | DeltaFrame>;
  /** The bytes of a blob, which are not to be trusted; absent when it has no blobs. */
  readonly blob?: (ref: Digest) => Promise<Uint8Array | Rejection>;
  /** The session of the engine. */
  readonly session?: SessionId;
}

/** A source that cannot be read. `inStream`: what is wrong is a record, so the stream itself is bad from here on. */
export class SourceFault extends Error {
  override readonly name = 'SourceFault';
  readonly code: Rejection['code'];
  readonly inStream: boolean;

  constructor({ code, message }: Pick<Rejection, 'code' | 'message'>, inStream: boolean) {
    super(message);
    this.code = code;
    this.inStream = inStream;
  }
}
