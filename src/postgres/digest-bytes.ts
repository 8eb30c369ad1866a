// Digests as they are stored: 32 bytes.
import { Buffer } from 'node:buffer';
import { Digest } from '../../schemas/ids.ts';

const PREFIX = 'sha256:';

export const digestBytes = (digest: Digest): Buffer => Buffer.from(digest.slice(PREFIX.length), 'hex');

/** Null when these are not the bytes of a digest. */
export function storedDigest(stored: unknown): Digest | null {
  if (!Buffer.isBuffer(stored)) return null;
  const digest = `${PREFIX}${stored.toString('hex')}`;
  return Digest.is(digest) ? digest : null;
}
