// Searches the bytes of a file for secrets in slices, between which other work goes on: it takes 20 ms a MiB.
import { breath } from './breath.ts';
import type { Redactor } from './redactor.ts';

const SLICE_BYTES = 524_288;

/** Whether a secret is in the bytes: slices overlap by the longest one. */
export async function hasInSlices(
  bytes: Uint8Array,
  { has, reach }: Pick<Redactor, 'has' | 'reach'>,
): Promise<boolean> {
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    if (at > 0) await breath();
    if (has(bytes.subarray(Math.max(0, at - reach), at + SLICE_BYTES))) return true;
  }
  return false;
}
