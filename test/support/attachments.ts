// Files of every type that can be attached, as small as their signatures.
import type { Attachment, MediaType } from '../../schemas/content.ts';
import { digestText } from '../../schemas/canonical.ts';

const ascii = (text: string): readonly number[] => Array.from(text, (letter) => letter.charCodeAt(0));

/** The shortest file that begins as one of this type does. */
export const FILES: Readonly<Record<MediaType, Uint8Array>> = {
  'image/png': Uint8Array.of(0x89, ...ascii('PNG\r\n\x1a\n'), 0, 0, 0, 13, ...ascii('IHDR'), 7),
  'image/jpeg': Uint8Array.of(0xff, 0xd8, 0xff, 0xe0),
  'image/gif': Uint8Array.of(...ascii('GIF89a'), 9),
  'image/webp': Uint8Array.of(...ascii('RIFF'), 4, 0, 0, 0, ...ascii('WEBP')),
  'application/pdf': Uint8Array.of(...ascii('%PDF-1.7\n%'), 0xe2, 0xe3),
};

export const PNG = FILES['image/png'];
export const PDF = FILES['application/pdf'];
/** The beginning of a ZIP archive. */
export const ZIP = Uint8Array.of(...ascii('PK'), 3, 4, 20, 0, 0, 0);

/** A true description of the bytes. */
export const attachmentOf = (bytes: Uint8Array, media_type: MediaType, name?: string): Attachment => ({
  bytes: bytes.length,
  media_type,
  ...(name === undefined ? {} : { name }),
  ref: digestText(bytes),
});
