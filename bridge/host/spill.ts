// Writes an output that is too long to return to a file. The call has done its work by then, so a failed write (a full
// disk, say) does not fail it: the outcome then has no whole output, and says why.
import { rmSync, writeFileSync } from 'node:fs';
import { reasonOf } from '../../src/files/file-failure.ts';
import type { HostOutcome } from './outcome.ts';

/** The field `spill` of an outcome; `unkept` when the file cannot be written or `whole` throws. */
export function spillTo(path: string, whole: () => Buffer): Pick<HostOutcome, 'spill' | 'unkept'> {
  try {
    const bytes = whole();
    writeFileSync(path, bytes, { mode: 0o600, flag: 'wx' });
    return { spill: { path, bytes: bytes.length } };
  } catch (error) {
    rmSync(path, { force: true });
    return { unkept: reasonOf(error) };
  }
}
