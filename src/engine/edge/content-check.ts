// Compares the references to blobs in a request with the blobs. A reference is recorded for ever: one to a blob that does
// not exist, or that is described otherwise than it is, must not be.
import { isLeft } from 'fp-ts/lib/Either.js';
import { MEDIA_TYPES, type MediaType, sniffMediaType } from '../../../schemas/content.ts';
import type { Digest } from '../../../schemas/ids.ts';
import { EXCERPT_CHARS } from '../../../schemas/limits.ts';
import { type Rejection, reject } from '../../../schemas/rejection.ts';
import type { BlobEnds, Blobs } from '../../blobs/blobs.ts';
import { type ContentRef, contentRefs } from '../../core/content-refs.ts';
import type { Soon } from '../../soon.ts';

/**
 * `unknown_blob` or `content_mismatch` with the path of the first reference that does not fit its blob, else null. An
 * attachment whose first bytes are those of none of its types is an `invalid_value`.
 */
export function findContentFault(
  blobs: Pick<Blobs, 'ends' | 'get'>,
  request: object,
  { mayBeAbsent = false }: { readonly mayBeAbsent?: boolean } = {},
): Soon<Rejection | null> {
  const refs = contentRefs(request);
  return refs.length === 0 ? null : findRefFault(blobs, refs, mayBeAbsent);
}

async function findRefFault(
  blobs: Pick<Blobs, 'ends' | 'get'>,
  refs: readonly ContentRef[],
  mayBeAbsent: boolean,
): Promise<Rejection | null> {
  const known = new Map<Digest, BlobEnds>();
  for (const content of refs) {
    const { ref, path } = content;
    let ends = known.get(ref);
    if (ends === undefined) {
      const read = await blobs.ends(ref, EXCERPT_BYTES)();
      if (isLeft(read)) {
        const absent = read.left.code === 'unknown_blob';
        if (absent && mayBeAbsent) continue;
        return absent
          ? reject('unknown_blob', path, `blob ${ref} does not exist; put it first`)
          : { ...read.left, path };
      }
      ends = read.right;
      known.set(ref, ends);
    }
    const fault = findMismatch(content, ends);
    // The blob may be damaged: then it is not the reference that is wrong.
    if (fault !== null) return await readFault(blobs, content, fault);
  }
  return null;
}

/** Why the blob cannot be read whole, else what is given. */
async function readFault(
  blobs: Pick<Blobs, 'get'>,
  { ref, path }: ContentRef,
  otherwise: Rejection,
): Promise<Rejection> {
  const read = await blobs.get(ref)();
  return isLeft(read) ? { ...read.left, path } : otherwise;
}

/** A UTF-16 unit takes at most three bytes; one more character, because the bytes may begin or end inside one. */
const EXCERPT_BYTES = 3 * EXCERPT_CHARS + 4;

function findMismatch({ path, ref, bytes, excerpts, mediaType }: ContentRef, ends: BlobEnds): Rejection | null {
  const mismatch = (field: string, says: string): Rejection =>
    reject('content_mismatch', `${path}/${field}`, `blob ${ref} ${says}`);
  if (bytes !== ends.bytes) return mismatch('bytes', `has ${ends.bytes} bytes, not ${bytes}; give its size`);
  if (mediaType !== undefined) return findTypeFault(path, mediaType, ends);
  if (excerpts === undefined) return null;
  const { head, tail } = excerpts;
  const begins = readText(ends.head).slice(0, head.length).toWellFormed();
  if (begins !== head) return mismatch('head', 'begins otherwise; give the first characters of its text, or none');
  const last = tail === '' ? '' : readText(ends.tail).slice(-tail.length).toWellFormed();
  return last === tail ? null : mismatch('tail', 'ends otherwise; give the last characters of its text, or none');
}

/** The type is what the bytes say, whatever the name or the client says. */
function findTypeFault(path: string, claimed: MediaType, { head }: BlobEnds): Rejection | null {
  const found = sniffMediaType(head);
  if (found === claimed) return null;
  if (found === null) {
    const message = `the file is none of ${MEDIA_TYPES.join(', ')} by its first bytes; attach one of these`;
    return reject('invalid_value', path, message);
  }
  return reject('content_mismatch', `${path}/media_type`, `the file is ${found} by its first bytes, not ${claimed}`);
}

const readText = (bytes: Uint8Array): string => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
