// Undoes a call: puts back the files it changed, and makes the event that reports it. The former content of all files is
// fetched first; when any of it is missing, no file is changed.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { EffectOfKind } from '../../schemas/effect.ts';
import type { Ingress } from '../../schemas/event.ts';
import { UNDO_TIMEOUT_MS } from '../../schemas/limits.ts';
import type { FileChange } from '../../schemas/undo.ts';
import type { BlobReader } from '../engine-link/blob-reader.ts';
import { clip } from '../log.ts';
import { runBounded } from './bounded-run.ts';
import type { BridgeClock } from '../../src/clock.ts';
import { eventIdOf } from '../engine-link/event-id.ts';
import type { StopSwitch } from './stop-switch.ts';
import type { RestorableFile } from '../host/undo/restore-files.ts';
import { type CallReport, failedReport } from './call-report.ts';
import type { Redactor } from '../secrets/redactor.ts';
import type { Restore } from './executors.ts';

interface UndoOptions {
  readonly restore: Restore;
  readonly blobs: BlobReader;
  readonly clock: BridgeClock;
  readonly stop: StopSwitch;
  readonly redactor: Redactor;
  /** Whether the lease on the effect cannot have expired yet. */
  readonly isFresh: () => boolean;
}

type Undone = Extract<Ingress, { readonly kind: 'UndoSettled' }>;

/** Returns the event to report. Never rejects. */
export async function undoCall(effect: EffectOfKind<'call.undo'>, options: UndoOptions): Promise<Undone> {
  const { blobs, restore, clock, stop, isFresh, redactor } = options;
  const act = async (): Promise<CallReport> => {
    const files = await fetchFiles(effect.changes, blobs, stop.signal);
    if (isLeft(files)) return files.left;
    // If this process was suspended meanwhile, another bridge may hold the undo by now.
    if (stop.why === null && !isFresh()) stop.stop('lost');
    return stop.why !== null ? failedReport('cancelled', 'the undo was stopped') : restore(files.right);
  };
  const { report } = await runBounded(act, { clock, timeoutMs: UNDO_TIMEOUT_MS, stop, redactor });
  const { position, batch_id, call_id } = effect;
  const { success, code = 'undo_failed', text } = report;
  return {
    kind: 'UndoSettled',
    event_id: eventIdOf(effect.effect_id, 'settled'),
    position,
    batch_id,
    call_id,
    success,
    ...(success ? {} : { code }),
    message: clip(text),
  };
}

async function fetchFiles(
  changes: readonly FileChange[],
  blobs: BlobReader,
  signal: AbortSignal,
): Promise<Either<CallReport, readonly RestorableFile[]>> {
  const files: RestorableFile[] = [];
  for (const { before, ...change } of changes) {
    if (before === null) files.push({ ...change, before });
    else if ('withheld' in before) {
      return left(
        failedReport('undo_not_kept', `${change.path}: its former content was not kept (${before.withheld})`),
      );
    } else {
      const bytes = await blobs.read(before.ref, signal);
      if (isLeft(bytes)) return left(failedReport('undo_not_kept', `${change.path}: ${bytes.left.message}`));
      files.push({ ...change, before: bytes.right });
    }
  }
  return right(files);
}
