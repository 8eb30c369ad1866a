// Checks the blobs of one stream: those its events refer to, and the sealed pages of its transcript back to the first.
import * as E from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { decode } from '../../../schemas/codec.ts';
import type { Digest } from '../../../schemas/ids.ts';
import { parseJson } from '../../../schemas/json.ts';
import { BLOB_BYTES_MAX } from '../../../schemas/limits.ts';
import type { StreamEvent } from '../../../schemas/record.ts';
import { upcast } from '../../../schemas/upcast.ts';
import { type SessionState, TranscriptPage } from '../../../schemas/state.ts';
import { digestText } from '../../../schemas/canonical.ts';
import type { EngineClient } from '../client.ts';
import { type ContentRef, contentRefs, responseRef } from '../../core/content-refs.ts';

export interface BadBlob {
  readonly ref: Digest;
  /** The event that first refers to it; for a sealed page, the position after the last event. */
  readonly position: number;
  /** The path in that event, or `/transcript/sealed`. */
  readonly path: string;
  readonly code: string;
  readonly message: string;
}

export interface BlobsChecked {
  readonly checked: number;
  /** Responses of models that are not there: evidence that a crash may lose and that may be collected. */
  readonly absent: number;
  /** By position. */
  readonly bad: readonly BadBlob[];
}

interface Wanted {
  readonly position: number;
  readonly path: string;
  /** The size according to the reference; absent for a sealed page. */
  readonly bytes?: number;
  /** It may be missing. */
  readonly isEvidence?: true;
}

/** Collects each blob at its first reference in the stream; checks them all after the fold. */
export interface BlobCheck {
  add(recorded: StreamEvent): void;
  finish(state: SessionState | null): Promise<BlobsChecked>;
}

export function newBlobCheck(client: Pick<EngineClient, 'getBlob'>): BlobCheck {
  const wanted = new Map<Digest, Wanted>();
  const bad: BadBlob[] = [];
  let checked = 0;
  let absent = 0;

  function want({ path, ref, bytes }: ContentRef, position: number, isEvidence: boolean): void {
    const known = wanted.get(ref);
    if (known !== undefined && (known.isEvidence !== true || isEvidence)) return;
    wanted.set(ref, { position, path: `/event${path}`, bytes, ...(isEvidence ? { isEvidence } : {}) });
  }

  /** The bytes; null, after recording a fault, when they are missing or do not match their digest. */
  async function check(ref: Digest, { position, path, bytes, isEvidence }: Wanted): Promise<Uint8Array | null> {
    const got = await client.getBlob(ref)();
    if (isEvidence === true && E.isLeft(got) && got.left.code === 'unknown_blob') {
      absent += 1;
      return null;
    }
    checked += 1;
    const fault = (code: string, message: string): null => {
      bad.push({ ref, position, path, code, message });
      return null;
    };
    if (E.isLeft(got)) return fault(got.left.code, got.left.message);
    // The store checks the digest too, but is not trusted to.
    if (digestText(got.right) !== ref) return fault('damaged', `blob ${ref} is corrupt: its digest does not match`);
    if (bytes !== undefined && bytes !== got.right.length) {
      return fault('damaged', `blob ${ref} has ${got.right.length} bytes; the event says ${bytes}`);
    }
    return got.right;
  }

  /** Pages form a chain. The state names the newest ones, or the one that a summary ends with; each names the one before it. */
  async function checkPages({ transcript: { sealed, summary }, version }: SessionState): Promise<void> {
    const seen = new Set<Digest>();
    for (let next: Digest | null = sealed.at(-1) ?? summary?.through ?? null; next !== null && !seen.has(next);) {
      const ref: Digest = next;
      seen.add(ref);
      const bytes = await check(ref, { position: version, path: '/transcript/sealed' });
      next = bytes === null ? null : previousPage(bytes);
    }
    // A missing page breaks the chain, so the pages that the state names are checked on their own.
    for (const ref of sealed) {
      if (!seen.has(ref)) await check(ref, { position: version, path: '/transcript/sealed' });
    }
  }

  return {
    add({ position, event }) {
      for (const content of contentRefs(event)) want(content, position, false);
      const response = responseRef(upcast(event));
      if (response !== null) want(response, position, true);
    },
    async finish(state) {
      for (const [ref, where] of wanted) await check(ref, where);
      if (state !== null) await checkPages(state);
      return { checked, absent, bad: bad.sort((a, b) => a.position - b.position) };
    },
  };
}

function previousPage(bytes: Uint8Array): Digest | null {
  return pipe(
    parseJson(new TextDecoder().decode(bytes), BLOB_BYTES_MAX),
    E.chain((value) => decode(TranscriptPage, value)),
    E.match(
      () => null,
      ({ prev }) => prev,
    ),
  );
}
