// Admission of previews: one is owed once, for a call that waits for a person and may be worked on, and from the place where
// the call would run.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { EventOfKind } from '../schemas/event.ts';
import { PREVIEW_PATHS_CHARS_MAX } from '../schemas/limits.ts';
import { type Rejection, reject } from '../schemas/rejection.ts';
import type { CallState, SessionState } from '../schemas/state.ts';
import { alreadySettled, findCall, findDigestFault } from './batch-admission.ts';
import { isTerminal } from './call-status.ts';
import { isElsewhere } from './host-session.ts';

type Previewed = EventOfKind<'CallPreviewed'>;

export function admitPreviewed(state: SessionState, event: Previewed): Rejection | null {
  const found = findCall(state, event);
  if (isLeft(found)) return found.left;
  const call = found.right;
  if (isTerminal(call.status)) return alreadySettled(call);
  if (event.attempt !== call.attempt) {
    return reject('stale_attempt', '/attempt', `the call is at attempt ${call.attempt}, not ${event.attempt}`);
  }
  const unowed = whyUnowed(call);
  if (unowed !== null) return reject('preview_not_owed', '/call_id', unowed);
  if (event.place !== undefined && isElsewhere(state.tool_runtime_context, event.place)) {
    return reject('other_place', '/place', 'the call would run in another workspace, or under another sandbox');
  }
  return findDigestFault(state, event) ?? findFilesFault(event);
}

function whyUnowed({ status, preview, preview_until_ms }: CallState): string | null {
  if (status !== 'waiting') return `the call is ${status}, and waits for no answer of a person`;
  if (preview !== undefined) {
    return 'digest' in preview
      ? 'the call has a preview already'
      : `it is recorded why there is none (${preview.code})`;
  }
  return preview_until_ms === undefined ? 'its tool makes no previews, or the call waits for others first' : null;
}

function findFilesFault({ preview }: Previewed): Rejection | null {
  if (!('files' in preview)) return null;
  const paths = preview.files.map(({ path }) => path);
  if (new Set(paths).size < paths.length) return reject('invalid_shape', '/preview/files', 'a file is named twice');
  const chars = paths.reduce((sum, path) => sum + path.length, 0);
  if (chars <= PREVIEW_PATHS_CHARS_MAX) return null;
  const message = `the paths have ${chars} characters, of at most ${PREVIEW_PATHS_CHARS_MAX}`;
  return reject('too_large', '/preview/files', message);
}
