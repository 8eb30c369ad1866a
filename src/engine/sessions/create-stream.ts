// Creates a stream in a journal from what it begins with.
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import { canonicalText } from '../../../schemas/canonical.ts';
import type { Rejection } from '../../../schemas/rejection.ts';
import { type Origin, initialState } from '../../core/initial-state.ts';
import { partsOf } from '../../core/package-parts.ts';
import { headFacts } from '../../core/session-head.ts';
import type { Journal } from '../../journal/journal.ts';

/** Stores the genesis record, and its tool package unless it is stored already; `session_exists` when the stream exists. */
export function createStream(journal: Journal, { genesis, tool_package }: Origin): TaskEither<Rejection, void> {
  const { digest, text } = partsOf(tool_package);
  const head = headFacts(initialState(genesis, tool_package));
  return journal.create(genesis.session_id, canonicalText(genesis), { digest, text }, head);
}
