// Outputs too long to return, each in a file of its own. A call has done its work by then: that there is no room for its
// whole output, on a disk that is full, is no reason to fail it.
import { rmSync, writeFileSync } from 'node:fs';
import type { HostOutcome } from './outcome.ts';

/** Field `spill` of an outcome; nothing where the file could not be written, or `whole` throws. */
export function spillTo(path: string, whole: () => Buffer): Pick<HostOutcome, 'spill'> {
  try {
    const bytes = whole();
    writeFileSync(path, bytes, { mode: 0o600, flag: 'wx' });
    return { spill: { path, bytes: bytes.length } };
  } catch {
    rmSync(path, { force: true });
    return {};
  }
}
