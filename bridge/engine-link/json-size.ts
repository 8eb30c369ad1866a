// How large a value can be as JSON, without writing it: enough to know that something small is small.

/** What one UTF-16 unit becomes at most: an escape such as `\u0000`, which is as many bytes as characters. */
const ESCAPED_MAX = 6;
/** What a number, a literal, or the frame of anything takes at most. */
const FRAME_MAX = 26;

/** No more characters or bytes than this; or more than `max`, and then it is not looked at to its end. */
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
