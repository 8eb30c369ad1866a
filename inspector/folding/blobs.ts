// Blobs: this browser digests the bytes of each one itself, and shows them only if the digest is right.
import type { Digest } from '../../schemas/ids.ts';
import { digestText } from '../../schemas/canonical.ts';
import type { BlobText, BlobWanted } from '../protocol.ts';
import type { RecordSource } from '../records/record-source.ts';
import { Refused, refusalOf } from './refused.ts';

/** The longest part of a blob that is sent at once, in UTF-16 units. */
const PART_CHARS = 262_144;

export async function bytesOfBlob(source: RecordSource, ref: Digest): Promise<Uint8Array> {
  if (source.blob === undefined) {
    throw new Refused({
      code: 'cannot',
      message: 'a file contains no blobs',
      advice: 'Open the session in its engine.',
    });
  }
  const bytes = await source.blob(ref);
  if (!(bytes instanceof Uint8Array)) throw new Refused(refusalOf(bytes));
  if (digestText(bytes) === ref) return bytes;
  throw new Refused({ code: 'damaged', message: `the bytes are not those of ${ref}`, advice: 'Restore the blob.' });
}

export async function blobText(source: RecordSource, { ref, from, limit }: BlobWanted): Promise<BlobText> {
  const bytes = await bytesOfBlob(source, ref);
  const whole = { ref, bytes: bytes.length, from, checked: true } as const;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    const end = from + Math.min(limit, PART_CHARS);
    return { ...whole, text: text.slice(from, end).toWellFormed(), rest: Math.max(0, text.length - end) };
  } catch {
    return { ...whole, text: null, rest: 0 };
  }
}
