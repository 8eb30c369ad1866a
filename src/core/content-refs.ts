// The blobs an event refers to. Values that a model or a tool wrote (arguments, result data, schemas) are never
// references, even when they have the shape of one.
import { pointerSegment } from '../../schemas/rejection.ts';
import { Attachment, BlobText, type MediaType } from '../../schemas/content.ts';
import type { IngressEvent } from '../../schemas/event.ts';
import type { Digest } from '../../schemas/ids.ts';
import { isPlainObject } from '../../schemas/json.ts';
import { KeptBytes } from '../../schemas/undo.ts';

export interface ContentRef {
  /** Where in the event (RFC 6901). */
  readonly path: string;
  readonly ref: Digest;
  readonly bytes: number;
  /** How it describes its text; absent for bytes that are not text. */
  readonly excerpts?: Pick<BlobText, 'head' | 'tail'>;
  /** The type of an attachment. */
  readonly mediaType?: MediaType;
}

/** The references of an event, or of a request, in its order. */
export const contentRefs = (event: object): readonly ContentRef[] =>
  mayRefer(event) && !isAnswer(event) ? refsIn(event, '') : [];

/** The content of an answer is JSON that a person gave, whatever it looks like. */
const isAnswer = (event: object): boolean => 'kind' in event && event.kind === 'user.elicitation_result';

/** False when the value contains no reference. Most events contain none, so no paths are made for them. */
function mayRefer(value: object): boolean {
  if (Array.isArray(value)) {
    const items = value as readonly unknown[];
    for (let index = 0; index < items.length; index += 1) {
      const item = items[index];
      if (isObject(item) && mayRefer(item)) return true;
    }
    return false;
  }
  const fields = value as Readonly<Record<string, unknown>>;
  for (const key in fields) {
    const item = fields[key];
    if (isObject(item) ? !OPAQUE.has(key) && mayRefer(item) : key === 'ref') return true;
  }
  return false;
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/**
 * The response of a model that an event names as evidence; null without one. It was stored without waiting for the disk, and
 * may have been collected: a missing one is absent, not a fault.
 */
export function responseRef(event: IngressEvent): ContentRef | null {
  const { response, response_bytes = 0 } = ('exchange' in event ? event.exchange : undefined) ?? {};
  return response === undefined ? null : { path: '/exchange/response', ref: response, bytes: response_bytes };
}

function refsIn(value: unknown, path: string): readonly ContentRef[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => refsIn(item, path + pointerSegment(index)));
  if (!isPlainObject(value)) return [];
  if (BlobText.is(value)) {
    const { ref, bytes, head, tail } = value;
    return [{ path, ref, bytes, excerpts: { head, tail } }];
  }
  if (Attachment.is(value)) {
    return [{ path, ref: value.ref, bytes: value.bytes, mediaType: value.media_type }];
  }
  if (KeptBytes.is(value)) return [{ path, ref: value.ref, bytes: value.bytes }];
  return Object.entries(value).flatMap(([key, item]) =>
    OPAQUE.has(key) ? [] : refsIn(item, path + pointerSegment(key)),
  );
}

const OPAQUE: ReadonlySet<string> = new Set([
  'arguments',
  'question',
  'data',
  'input_schema',
  'output_schema',
  'result',
  'registry',
]);
