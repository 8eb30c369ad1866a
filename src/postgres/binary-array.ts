// Arrays as PostgreSQL reads them in its binary format: the text format would escape each quote of each event twice.
// The format is that of `array_send` in the server: dimensions, a flag for nulls, the type of the elements, then for each
// dimension its size and first index, then each element with its length.
import { Buffer } from 'node:buffer';

/** The object ids of the types of elements, which are the same in every database. */
const BOOLEAN = 16;
const BYTES = 17;
const BIG = 20;
const SMALL = 21;
const INTEGER = 23;
const TEXT = 25;
const UUID = 2_950;

const HEAD_BYTES = 20;
const NULL_LENGTH = -1;

export const booleans = (values: readonly boolean[]): Buffer =>
  arrayOf(
    BOOLEAN,
    values.map((value) => Buffer.of(value ? 1 : 0)),
  );

export const bytes = (values: readonly (Buffer | null)[]): Buffer => arrayOf(BYTES, values);

/** Each 16 bytes long. */
export const uuids = (values: readonly Buffer[]): Buffer => arrayOf(UUID, values);

export const texts = (values: readonly (string | null)[]): Buffer =>
  arrayOf(
    TEXT,
    values.map((value) => (value === null ? null : Buffer.from(value))),
  );

export const smalls = (values: readonly number[]): Buffer =>
  numbers(SMALL, values, 2, (item, at, n) => item.writeInt16BE(n, at));

export const integers = (values: readonly number[]): Buffer =>
  numbers(INTEGER, values, 4, (item, at, n) => item.writeInt32BE(n, at));

export const bigs = (values: readonly (number | null)[]): Buffer =>
  numbers(BIG, values, 8, (item, at, n) => item.writeBigInt64BE(BigInt(n), at));

/** One allocation for all elements. */
function numbers(
  type: number,
  values: readonly (number | null)[],
  size: number,
  write: (item: Buffer, at: number, n: number) => void,
): Buffer {
  const items = Buffer.alloc(values.length * size);
  return arrayOf(
    type,
    values.map((value, index) => {
      if (value === null) return null;
      write(items, index * size, value);
      return items.subarray(index * size, (index + 1) * size);
    }),
  );
}

function arrayOf(type: number, items: readonly (Buffer | null)[]): Buffer {
  const length = items.reduce((sum, item) => sum + 4 + (item?.length ?? 0), HEAD_BYTES);
  const array = Buffer.alloc(length);
  array.writeInt32BE(1, 0);
  array.writeInt32BE(items.includes(null) ? 1 : 0, 4);
  array.writeInt32BE(type, 8);
  array.writeInt32BE(items.length, 12);
  array.writeInt32BE(1, 16);
  let at = HEAD_BYTES;
  for (const item of items) {
    array.writeInt32BE(item?.length ?? NULL_LENGTH, at);
    at += 4;
    if (item !== null) at += item.copy(array, at);
  }
  return array;
}
