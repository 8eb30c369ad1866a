// The writes of this journal, as they wait for their group.
import type { SessionId, Version } from '../../schemas/ids.ts';
import type { HeadFacts, Tombstone } from '../../schemas/session-head.ts';
import type { JournalCommit, StoredPackage, StoredPage } from '../journal/journal.ts';

export interface CreateStream {
  readonly kind: 'create';
  readonly session: SessionId;
  readonly partition: number;
  readonly genesis: string;
  readonly tool_package: StoredPackage;
  readonly head: HeadFacts;
}

/** With no commits it writes the facts of a head anew. */
export interface AppendCommits {
  readonly kind: 'append';
  readonly session: SessionId;
  readonly partition: number;
  readonly expected: Version;
  readonly commits: readonly JournalCommit[];
  readonly head: HeadFacts;
  readonly pages: readonly StoredPage[];
}

export interface DeleteStream {
  readonly kind: 'delete';
  readonly session: SessionId;
  readonly partition: number;
  readonly tombstone: Tombstone;
  /** Deletes whatever is stored: the session is damaged. */
  readonly whatever: boolean;
}

export type StreamWrite = CreateStream | AppendCommits | DeleteStream;
