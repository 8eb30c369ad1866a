// Replaces secrets in a text that arrives in pieces. What may begin a secret waits for the next piece; nothing else does, so
// that a piece costs its own length, however long the secrets in it overlap each other.

/** Where a secret is, from `start` up to `end`. */
export interface Place {
  readonly start: number;
  readonly end: number;
}

export interface SecretStream {
  /** What can be shown now. */
  take(text: string): string;
  /** The rest: no further piece comes. The stream then begins anew. */
  end(): string;
}

interface Search {
  /** Every secret, in order; those that overlap are one. */
  readonly find: (bytes: Uint8Array) => readonly Place[];
  /** How many bytes at the end may be the beginning of a secret that has not arrived in full. */
  readonly pending: (bytes: Buffer) => number;
  readonly mark: Buffer;
}

export function newSecretStream({ find, pending, mark }: Search): SecretStream {
  let held: Buffer = Buffer.alloc(0);
  /** How many bytes of `held` belong to a secret whose mark has been shown: the end of it may begin another. */
  let covered = 0;
  /** The first half of a surrogate pair. */
  let half = '';

  function release(bytes: Buffer, end: number): string {
    if (end === 0) {
      held = bytes;
      return '';
    }
    const parts: Buffer[] = [];
    let at = 0;
    let behind = 0;
    for (const { start, end: placeEnd } of withCovered(find(bytes), covered)) {
      if (start >= end) break;
      const isMarked = covered > 0 && start === 0;
      const until = Math.min(placeEnd, end);
      parts.push(bytes.subarray(at, start), ...(isMarked ? [] : [mark]), lineFeedsIn(bytes.subarray(start, until)));
      at = until;
      behind = placeEnd - until;
    }
    parts.push(bytes.subarray(at, end));
    held = Buffer.from(bytes.subarray(end));
    covered = behind;
    return Buffer.concat(parts).toString('utf8');
  }

  return {
    take(text) {
      const all = half + text;
      half = /[\ud800-\udbff]$/.test(all) ? all.slice(-1) : '';
      const bytes = Buffer.concat([held, Buffer.from(all.slice(0, all.length - half.length), 'utf8')]);
      return release(bytes, bytes.length - pending(bytes));
    },
    end() {
      const bytes = Buffer.concat([held, Buffer.from(half, 'utf8')]);
      half = '';
      return release(bytes, bytes.length);
    },
  };
}

/** The places with the one that covers the beginning, which those that overlap it continue. */
function withCovered(places: readonly Place[], covered: number): readonly Place[] {
  if (covered === 0) return places;
  const [first, ...others] = places;
  if (first === undefined || first.start >= covered) return [{ start: 0, end: covered }, ...places];
  return [{ start: 0, end: Math.max(covered, first.end) }, ...others];
}

/** What follows a secret keeps its line number. */
export const lineFeedsIn = (bytes: Buffer): Buffer => Buffer.from(bytes.filter((byte) => byte === 0x0a));
