// Checks every blob that a stream names: those of its events, and the sealed pages of its conversation.
import { left, right } from 'fp-ts/lib/Either.js';
import type { Digest } from '../../schemas/ids.ts';
import { eventsIn } from '../../schemas/record.ts';
import { type BadBlob, newBlobCheck } from '../../src/client/watch/blob-check.ts';
import { Refused } from './refused.ts';
import type { StreamFold } from './stream-fold.ts';
import { newSlices } from './slices.ts';

export interface BlobsProgress {
  readonly checked: number;
  readonly total: number | null;
  readonly absent: number;
  readonly bad: readonly BadBlob[];
  readonly done: boolean;
}

/** Tells of its progress after each blob; the last one is done. */
export async function checkAllBlobs(
  fold: StreamFold,
  tell: (progress: BlobsProgress) => void,
  signal?: AbortSignal,
): Promise<void> {
  const { source } = fold;
  const { blob } = source;
  if (blob === undefined) throw new Refused({ code: 'cannot', message: 'a file contains no blobs', advice: '' });
  await fold.settled();
  const slices = newSlices(signal);
  let asked = 0;
  const getBlob = (ref: Digest) => async () => {
    await slices.breathe();
    const bytes = await blob(ref);
    asked += 1;
    tell({ checked: asked, total: null, absent: 0, bad: [], done: false });
    return bytes instanceof Uint8Array ? right(bytes) : left(bytes);
  };
  const check = newBlobCheck({ getBlob });
  for await (const commits of source.commitsFrom(0)) {
    for (const commit of commits) {
      for (const recorded of eventsIn(commit)) check.add(recorded);
      await slices.breathe();
    }
  }
  const { checked, absent, bad } = await check.finish(fold.now()?.state ?? null);
  tell({ checked, total: checked, absent, bad, done: true });
}
