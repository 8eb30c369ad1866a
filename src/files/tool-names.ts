// Names for models: what a source calls a tool, in the alphabet that every model takes. A name depends on its original alone:
// another tool that comes or goes renames none.
import { digestText } from '../../schemas/canonical.ts';

const PLAIN = /^[A-Za-z0-9_-]{1,64}$/;
const CHARS_MAX = 64;
/** Digits of the digest: with 40 bits, two of 2,048 altered names collide with a chance of 2 in a million. */
const DIGITS = 10;

/**
 * The name itself when a model takes it. Each dot of a dotted name (`slack.send_message`) becomes two underscores
 * (`slack__send_message`), and only a name without dots can have the same one. Every other name is altered, and ends in a
 * digest of the original.
 */
export function nameWithin(original: string): string {
  if (PLAIN.test(original)) return original;
  const dotted = original.replaceAll('.', '__');
  if (PLAIN.test(dotted) && /^[^_.]+(?:_[^_.]+)*(?:\.[^_.]+(?:_[^_.]+)*)+$/.test(original)) return dotted;
  const digits = digestText(original).slice('sha256:'.length, 'sha256:'.length + DIGITS);
  return `${dotted.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, CHARS_MAX - DIGITS - 1)}_${digits}`;
}
