// Names that are not UTF-8. Linux allows any bytes in a name; a string holds those that are not UTF-8 as lone surrogates
// (U+DC80 to U+DCFF, one for each byte from 0x80 on), so that it leads to the same file again. Arguments of tools have none.
import { Buffer, isUtf8 } from 'node:buffer';

const ESCAPED = /([\udc80-\udcff]+)/u;

export function nameOfBytes(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  return bytes
    .toString('latin1')
    .replaceAll(/[\u0080-\u00ff]/g, (byte) => String.fromCharCode(0xdc_00 | byte.charCodeAt(0)));
}

/** A path as functions of `node:fs` take it. */
export function filePath(path: string): string | Buffer {
  if (path.isWellFormed()) return path;
  // The odd parts are the escaped ones; latin1 takes the low byte of each character.
  return Buffer.concat(path.split(ESCAPED).map((part, at) => Buffer.from(part, at % 2 === 0 ? 'utf8' : 'latin1')));
}
