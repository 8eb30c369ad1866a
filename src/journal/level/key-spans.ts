// Spans of keys that may be lost with a damaged part of a table, and the sessions in such spans.
import { Buffer } from 'node:buffer';

/** From the first to the last key, both included. */
export interface KeySpan {
  readonly first: Buffer;
  readonly last: Buffer;
}

/** From the first to the last session id, both included; null: to the end. Ids are ASCII, in byte order. */
export interface SessionSpan {
  readonly first: string;
  readonly last: string | null;
}

/** Every key in LevelDB's tables ends with eight bytes for its sequence number and kind. */
const TAG_BYTES = 8;

/** The key without its sequence number; throws a RangeError when the key is too short. */
export function userKey(key: Buffer): Buffer {
  if (key.length < TAG_BYTES) throw new RangeError('a key is too short');
  return key.subarray(0, -TAG_BYTES);
}

/** The sequence number of a key, and whether the entry is a deletion. */
export function entryTagOf(key: Buffer): { readonly sequence: number; readonly deletes: boolean } {
  const tag = key.readBigUInt64LE(key.length - TAG_BYTES);
  return { sequence: Number(tag >> 8n), deletes: (tag & 0xffn) === 0n };
}

export const spansInclude = (spans: readonly KeySpan[], key: Uint8Array): boolean =>
  spans.some(({ first, last }) => Buffer.compare(first, key) <= 0 && Buffer.compare(key, last) <= 0);

/** The spans in order, with overlapping ones merged. */
export function mergeSpans(spans: readonly KeySpan[]): readonly KeySpan[] {
  const merged: KeySpan[] = [];
  for (const span of [...spans].sort((a, b) => Buffer.compare(a.first, b.first))) {
    const before = merged.at(-1);
    if (before === undefined || Buffer.compare(before.last, span.first) < 0) merged.push(span);
    else if (Buffer.compare(before.last, span.last) < 0) {
      merged[merged.length - 1] = { first: before.first, last: span.last };
    }
  }
  return merged;
}

/** The sessions that may have keys with this first letter in the spans. */
export function sessionsIn(spans: readonly KeySpan[], letter: string): readonly SessionSpan[] {
  return mergeSessions(
    spans.flatMap(({ first, last }) => {
      const [from, to] = [first.toString('latin1'), last.toString('latin1')];
      const begin = from.slice(0, 1) < letter ? '' : from.startsWith(letter) ? idIn(from) : null;
      const end = to.slice(0, 1) > letter ? null : to.startsWith(letter) ? idIn(to) : undefined;
      return begin === null || end === undefined ? [] : [{ first: begin, last: end }];
    }),
  );
}

// The index of a table may contain shortened keys. A shortened key still sorts between its two neighbours.
const idIn = (key: string): string => key.slice(1).split('\0', 1)[0] ?? '';

function mergeSessions(spans: readonly SessionSpan[]): readonly SessionSpan[] {
  const merged: SessionSpan[] = [];
  for (const span of [...spans].sort((a, b) => (a.first < b.first ? -1 : a.first > b.first ? 1 : 0))) {
    const before = merged.at(-1);
    if (before === undefined || (before.last !== null && before.last < span.first)) merged.push(span);
    else if (before.last !== null && (span.last === null || span.last > before.last)) {
      merged[merged.length - 1] = { first: before.first, last: span.last };
    }
  }
  return merged;
}

/** The spans of the ids that are in both lists. */
export const intersectSessions = (
  some: readonly SessionSpan[],
  others: readonly SessionSpan[],
): readonly SessionSpan[] =>
  mergeSessions(
    some.flatMap((one) =>
      others.flatMap((other) => {
        const first = one.first > other.first ? one.first : other.first;
        const last =
          one.last === null ? other.last : other.last === null || one.last < other.last ? one.last : other.last;
        return last === null || first <= last ? [{ first, last }] : [];
      }),
    ),
  );

export const sessionsInclude = (spans: readonly SessionSpan[], id: string): boolean =>
  spans.some(({ first, last }) => first <= id && (last === null || id <= last));
