// Texts that may be cut, and blobs.
import type { OfSource } from './addresses.ts';
import type { Attachment } from '../../schemas/content.ts';
import type { Digest } from '../../schemas/ids.ts';

/** Text that may be cut. */
export interface ShownText {
  readonly text: string;
  /** Characters left out. */
  readonly rest: number;
  /** The blob that has all of it, when there is one. */
  readonly ref: Digest | null;
}

/** Text of a model, a person or a tool, with what came with it. */
export interface ShownContent extends ShownText {
  readonly attachments: readonly Attachment[];
}

export interface BlobWanted extends OfSource {
  readonly ref: Digest;
  /** The first character, from 0. */
  readonly from: number;
  readonly limit: number;
}

export interface BlobText {
  readonly ref: Digest;
  readonly bytes: number;
  /** Null when it is not text. */
  readonly text: string | null;
  readonly from: number;
  /** Characters after this part. */
  readonly rest: number;
  /** This browser has digested the bytes, and they are those of `ref`; anything else is refused. */
  readonly checked: true;
}
