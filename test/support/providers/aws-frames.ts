// Writes frames of `application/vnd.amazon.eventstream`, with sums of its own computing.

export type HeaderValue =
  | { readonly type: 'text'; readonly value: string }
  | { readonly type: 'bytes'; readonly value: Uint8Array }
  /** A value of fixed size: true, false, a byte, a short, an integer, a long, a time or a UUID. */
  | { readonly type: 0 | 1 | 2 | 3 | 4 | 5 | 8 | 9 };

const FIXED_BYTES = { 0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16 } as const;

export interface AwsFrame {
  readonly headers: readonly (readonly [string, HeaderValue])[];
  readonly payload: Uint8Array;
}

/** The bytes of a frame; `lengths` instead of the true ones. */
export function awsFrameBytes(
  { headers, payload }: AwsFrame,
  lengths?: { readonly total: number; readonly headers: number },
): Buffer {
  const head = Buffer.concat(headers.map(([name, value]) => headerBytes(name, value)));
  const prelude = Buffer.alloc(8);
  prelude.writeUInt32BE(lengths?.total ?? 16 + head.length + payload.length, 0);
  prelude.writeUInt32BE(lengths?.headers ?? head.length, 4);
  const unsummed = Buffer.concat([prelude, sumBytes(prelude), head, payload]);
  return Buffer.concat([unsummed, sumBytes(unsummed)]);
}

/** An event as a service sends it. */
export const awsEventBytes = (name: string, data: string, type: 'event' | 'exception' = 'event'): Buffer =>
  awsFrameBytes({
    headers: [
      [type === 'event' ? ':event-type' : ':exception-type', { type: 'text', value: name }],
      [':content-type', { type: 'text', value: 'application/json' }],
      [':message-type', { type: 'text', value: type }],
    ],
    payload: Buffer.from(data),
  });

function headerBytes(name: string, value: HeaderValue): Buffer {
  const bytes = Buffer.from(name);
  return Buffer.concat([Buffer.from([bytes.length]), bytes, valueBytes(value)]);
}

function valueBytes(value: HeaderValue): Buffer {
  if (value.type !== 'text' && value.type !== 'bytes') {
    return Buffer.concat([Buffer.from([value.type]), Buffer.alloc(FIXED_BYTES[value.type], 0x5a)]);
  }
  const bytes = Buffer.from(value.value as string);
  const head = Buffer.from([value.type === 'text' ? 7 : 6, bytes.length >> 8, bytes.length & 255]);
  return Buffer.concat([head, bytes]);
}

// One bit at a time, as the definition says (RFC 1952, section 8).
function sumBytes(bytes: Uint8Array): Buffer {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  }
  const out = Buffer.alloc(4);
  out.writeUInt32BE((sum ^ 0xffffffff) >>> 0);
  return out;
}
