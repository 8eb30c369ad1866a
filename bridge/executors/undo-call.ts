// Puts the files of a call back and says what came of it. What stood there before is fetched first: without all of it,
// nothing is begun.
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
import type { Restore } from './executors.ts';

interface UndoOptions {
  readonly restore: Restore;
  readonly blobs: BlobReader;
  readonly clock: BridgeClock;
  readonly stop: StopSwitch;
  /** Whether the lease on it is sure to last still. */
  readonly isFresh: () => boolean;
}

type Undone = Extract<Ingress, { readonly kind: 'UndoSettled' }>;

/** The event to report. */
export async function undoCall(effect: EffectOfKind<'call.undo'>, options: UndoOptions): Promise<Undone> {
  const { blobs, restore, clock, stop, isFresh } = options;
  const act = async (): Promise<CallReport> => {
    const files = await fetchFiles(effect.changes, blobs, stop.signal);
    if (isLeft(files)) return files.left;
    // Held up since, by whatever holds a process up, it may be somebody else's by now, who has the newer word.
    if (stop.why === null && !isFresh()) stop.stop('lost');
    return stop.why !== null ? failedReport('cancelled', 'the undo was stopped') : restore(files.right);
  };
  const { report } = await runBounded(act, { clock, timeoutMs: UNDO_TIMEOUT_MS, stop });
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
      return left(failedReport('undo_not_kept', `${change.path}: what stood there was not kept (${before.withheld})`));
    } else {
      const bytes = await blobs.read(before.ref, signal);
      if (isLeft(bytes)) return left(failedReport('undo_not_kept', `${change.path}: ${bytes.left.message}`));
      files.push({ ...change, before: bytes.right });
    }
  }
  return right(files);
}
