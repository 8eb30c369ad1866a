// Checks the blobs of one stream: what its events refer to, and the transcript's sealed pages back to the first one.
import { isLeft } from 'fp-ts/lib/Either.js';
import { decode } from '../../../schemas/codec.ts';
import type { Digest } from '../../../schemas/ids.ts';
import { parseJson } from '../../../schemas/json.ts';
import { BLOB_BYTES_MAX } from '../../../schemas/limits.ts';
import type { EventRecord } from '../../../schemas/record.ts';
import { type SessionState, TranscriptPage } from '../../../schemas/state.ts';
import { digestText } from '../../../schemas/canonical.ts';
import type { EngineClient } from '../../client/client.ts';
import { contentRefs } from '../../core/content-refs.ts';

export interface BadBlob {
  readonly ref: Digest;
  /** The event that first refers to it; for a sealed page, the position after the last event. */
  readonly position: number;
  /** Where in that event, or `/transcript/sealed`. */
  readonly path: string;
  readonly code: string;
  readonly message: string;
}

export interface BlobsChecked {
  readonly checked: number;
  /** By position. */
  readonly bad: readonly BadBlob[];
}

interface Wanted {
  readonly position: number;
  readonly path: string;
  /** What the reference says of its size; absent for a sealed page. */
  readonly bytes?: number;
}

/** Remembers each blob where the stream first refers to it, and checks them once the stream is folded. */
export interface BlobCheck {
  add(record: EventRecord): void;
  finish(state: SessionState | null): Promise<BlobsChecked>;
}

export function newBlobCheck(client: EngineClient): BlobCheck {
  const wanted = new Map<Digest, Wanted>();
  const bad: BadBlob[] = [];
  let checked = 0;

  /** The bytes when they are there and are those of their digest. */
  async function check(ref: Digest, { position, path, bytes }: Wanted): Promise<Uint8Array | null> {
    checked += 1;
    const got = await client.getBlob(ref)();
    const tell = (code: string, message: string): null => {
      bad.push({ ref, position, path, code, message });
      return null;
    };
    if (isLeft(got)) return tell(got.left.code, got.left.message);
    // The store checks this too, and is not trusted for it.
    if (digestText(got.right) !== ref) return tell('damaged', `the bytes of blob ${ref} are not its own`);
    if (bytes !== undefined && bytes !== got.right.length) {
      return tell('damaged', `blob ${ref} has ${got.right.length} bytes, not ${bytes} as the event says`);
    }
    return got.right;
  }

  /** Pages form a chain, and the state names the newest ones: the older ones are found through their successors. */
  async function checkPages({ transcript: { sealed }, version }: SessionState): Promise<void> {
    const seen = new Set<Digest>();
    for (let next: Digest | null = sealed.at(-1) ?? null; next !== null && !seen.has(next);) {
      const ref: Digest = next;
      seen.add(ref);
      const bytes = await check(ref, { position: version, path: '/transcript/sealed' });
      next = bytes === null ? null : previousPage(bytes);
    }
    // Where a page is missing the chain breaks off; those that the state itself names are still known.
    for (const ref of sealed) {
      if (!seen.has(ref)) await check(ref, { position: version, path: '/transcript/sealed' });
    }
  }

  return {
    add({ position, event }) {
      for (const { path, ref, bytes } of contentRefs(event)) {
        if (!wanted.has(ref)) wanted.set(ref, { position, path: `/event${path}`, bytes });
      }
    },
    async finish(state) {
      for (const [ref, where] of wanted) await check(ref, where);
      if (state !== null) await checkPages(state);
      return { checked, bad: bad.sort((a, b) => a.position - b.position) };
    },
  };
}

function previousPage(bytes: Uint8Array): Digest | null {
  const parsed = parseJson(new TextDecoder().decode(bytes), BLOB_BYTES_MAX);
  const page = isLeft(parsed) ? parsed : decode(TranscriptPage, parsed.right);
  return isLeft(page) ? null : page.right.prev;
}
