// Law 9 of previews, worked out apart from the fold: a call that waits for a person is previewed once, an answer names the
// preview on record or none, and a call that was allowed with one begins, and changes its files, only while they are as they
// were then.
import { type PreviewedFile, previewDigest } from '../../../schemas/consent.ts';
import type { EventOfKind } from '../../../schemas/event.ts';
import type { CallId } from '../../../schemas/ids.ts';
import type { Judge } from './judge.ts';
import type { CallEntry } from './stored-session.ts';

/** Notes a preview as it becomes durable. */
export function notePreview(
  call: CallEntry | undefined,
  { call_id, preview }: EventOfKind<'CallPreviewed'>,
  judge: Judge,
): void {
  if (call === undefined) {
    judge.fail('settle once', `a preview of ${call_id}, which was never called`);
    return;
  }
  const waits = call.asks && !call.allowed && !call.ended && call.settled === null;
  judge.check(waits, 'settle once', () => `${call_id} is previewed, but waits for no answer`);
  judge.check(call.preview === null, 'settle once', () => `${call_id} is previewed again`);
  const files = 'files' in preview ? preview.files : null;
  call.preview = files === null || !('files' in preview) ? NONE : { digest: previewDigest(preview), files };
}

const NONE = { digest: null, files: [] };

/** Notes which files an answer binds, when its preview is the one on record. */
export function noteNamed(call: CallEntry, event: EventOfKind<'user.tool_confirmation'>, judge: Judge): void {
  const { call_id, preview: named, result } = event;
  if (named === undefined) return;
  const due = call.preview?.digest ?? null;
  judge.check(named === due, 'approvals bound', () => `${call_id}: an answer that names another preview was accepted`);
  if (result === 'allow' && named === due) call.named = call.preview?.files ?? null;
}

/** The digest of a file now; null when there is none. */
export type DigestNow = (path: string) => PreviewedFile['before'];

/** Checks the files of a call that begins, or changes them. */
export function checkAsPreviewed(
  { id, call, does }: { readonly id: CallId; readonly call: CallEntry | undefined; readonly does: string },
  digestNow: DigestNow,
  judge: Judge,
): void {
  for (const { path, before } of call?.named ?? []) {
    const message = (): string => `${id} ${does}, but ${path} is not as in the preview with which it was allowed`;
    judge.check(digestNow(path) === before, 'approvals bound', message);
  }
}
