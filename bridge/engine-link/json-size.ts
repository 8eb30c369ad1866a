// An upper bound of the size of a value as JSON, without serialising it: enough to recognise small values.

/** The most characters (and bytes) one UTF-16 unit becomes: an escape such as `\u0000`. */
const ESCAPED_MAX = 6;
/** The most characters of a number, a literal, or the punctuation of one value. */
const FRAME_MAX = 26;

/** An upper bound in characters and bytes. Once it exceeds `max`, the rest of the value is not visited. */
export function jsonSizeAtMost(value: unknown, max: number): number {
  if (typeof value === 'string') return ESCAPED_MAX * value.length + FRAME_MAX;
  if (typeof value !== 'object' || value === null) return FRAME_MAX;
  let size = FRAME_MAX;
  if (Array.isArray(value)) {
    for (const item of value) {
      size += jsonSizeAtMost(item, max);
      if (size > max) break;
    }
    return size;
  }
  for (const key of Object.keys(value)) {
    size += ESCAPED_MAX * key.length + jsonSizeAtMost((value as Readonly<Record<string, unknown>>)[key], max);
    if (size > max) break;
  }
  return size;
}
