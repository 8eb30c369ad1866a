// Bytes that arrive in parts of any size. A server may send one byte at a time: an array of its own for each would take a hundred
// times the memory, so that small parts are copied together.

export interface CollectedBytes {
  /** Takes the part over; a large one is not copied. */
  add(part: Uint8Array): void;
  /** How many bytes there are. */
  size(): number;
  /** All of them; the collection is then empty. */
  take(): Buffer;
}

export function newCollectedBytes(): CollectedBytes {
  let parts: Uint8Array[] = [];
  let size = 0;
  /** Where small parts go, and how much of it is filled. */
  let open: Uint8Array = new Uint8Array();
  let filled = 0;

  function close(): void {
    if (filled > 0) parts.push(open.subarray(0, filled));
    open = open.subarray(filled);
    filled = 0;
  }

  return {
    add(part) {
      size += part.length;
      if (part.length >= SMALL_BYTES) {
        close();
        parts.push(part);
        return;
      }
      if (filled + part.length > open.length) {
        close();
        open = new Uint8Array(BLOCK_BYTES);
      }
      open.set(part, filled);
      filled += part.length;
    },
    size: () => size,
    take() {
      close();
      const all = Buffer.concat(parts, size);
      parts = [];
      size = 0;
      return all;
    },
  };
}

const SMALL_BYTES = 2_048;
const BLOCK_BYTES = 16_384;
