// Reads the fields of binary data in order, for LevelDB's files and the journal's stored values. A read past the end and an
// invalid number throw a RangeError; the caller catches it and decides what it means for its file.
import { Buffer } from 'node:buffer';

export class ByteReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get atEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** The next bytes, without a copy. */
  take(length: number): Buffer {
    if (length > this.#bytes.length - this.#at) throw new RangeError('the data ends too early');
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  byte(): number {
    return this.take(1).readUInt8();
  }

  /** A number with seven bits in each byte, lowest first; exact up to 2^53. */
  varint(): number {
    let value = 0;
    for (let scale = 1; scale < 2 ** 70; scale *= 128) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    throw new RangeError('a number has too many bytes');
  }

  /** Bytes that are preceded by their length. */
  sized(): Buffer {
    return this.take(this.varint());
  }
}
