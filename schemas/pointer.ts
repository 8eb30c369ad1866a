// JSON Pointers (RFC 6901), the paths of faults.

/** One segment of a JSON Pointer (RFC 6901 section 3). */
export const pointerSegment = (key: string | number): string =>
  `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
