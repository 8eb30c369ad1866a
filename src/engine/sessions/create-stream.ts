// Creates a stream in a journal from what it begins with.
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { canonicalText } from '../../../schemas/canonical.ts';
import type { Rejection } from '../../../schemas/rejection.ts';
import { type Origin, initialState } from '../../core/initial-state.ts';
import { partsOf } from '../../core/package-parts.ts';
import { headFacts } from '../../core/session-head.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { Journal } from '../../journal/journal.ts';

/**
 * Stores the genesis record, and its tool package unless it is stored already; `session_exists` when the stream exists.
 * Returns the state that the stream begins with.
 */
export function createStream(
  journal: Journal,
  { genesis, tool_package }: Origin,
): TE.TaskEither<Rejection, SessionState> {
  const { digest, text } = partsOf(tool_package);
  const initial = initialState(genesis, tool_package);
  return pipe(
    journal.create(genesis.session_id, canonicalText(genesis), { digest, text }, headFacts(initial)),
    TE.map(() => initial),
  );
}
