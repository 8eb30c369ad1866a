// The writes of a fork and of an import. A copy is incomplete until its last write, which has the facts of its own: whatever
// stops it before, the journal refuses what is stored as a session (`Journal.genesis`), so that no effect of it is owed.
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { canonicalText } from '../../../schemas/canonical.ts';
import type { SessionId, Version } from '../../../schemas/ids.ts';
import type { Rejection } from '../../../schemas/rejection.ts';
import { INCOMPLETE } from '../../../schemas/session-head.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { SealedPage } from '../../../reducers/transcript.ts';
import type { Origin } from '../../core/initial-state.ts';
import { partsOf } from '../../core/package-parts.ts';
import { headFacts } from '../../core/session-head.ts';
import type { Journal, JournalCommit } from '../../journal/journal.ts';
import { storedPage } from './records.ts';

type Stored = TaskEither<Rejection, void>;

/** Begins a copy; `session_exists` when the stream exists. */
export function beginCopy(journal: Journal, { genesis, tool_package }: Origin): Stored {
  const { digest, text } = partsOf(tool_package);
  return journal.create(genesis.session_id, canonicalText(genesis), { digest, text }, INCOMPLETE);
}

/** Commits of a copy, and the pages that they sealed, which one write stores. */
export interface Growth {
  readonly commits: readonly JournalCommit[];
  readonly pages: readonly SealedPage[];
}

/** Stores commits in one write; none when there are none. */
export const growCopy = (journal: Journal, id: SessionId, { commits, pages }: Growth): Stored =>
  commits.length === 0
    ? TE.right(undefined)
    : TE.map(() => undefined)(journal.append(id, commits, INCOMPLETE, pages.map(storedPage)));

/** Stores pages of commits that a copy at this version contains already: they may have been collected since. */
export const addPages = (journal: Journal, id: SessionId, version: Version, pages: readonly SealedPage[]): Stored =>
  journal.restate(id, version, INCOMPLETE, pages.map(storedPage));

/** Stores the last commits, which lead to this state, and completes the copy, in one write. */
export const completeCopy = (
  journal: Journal,
  id: SessionId,
  { commits, pages }: Growth,
  state: SessionState,
): Stored =>
  commits.length === 0
    ? journal.restate(id, state.version, headFacts(state), pages.map(storedPage))
    : TE.map(() => undefined)(journal.append(id, commits, headFacts(state), pages.map(storedPage)));
