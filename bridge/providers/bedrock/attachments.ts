// Images and documents as blocks of Converse.
import type { ExactObject } from '../api/exact-json.ts';
import type { MessageAttachment } from '../provider.ts';

const IMAGE_FORMATS: ReadonlyMap<string, string> = new Map([
  ['image/png', 'png'],
  ['image/jpeg', 'jpeg'],
  ['image/gif', 'gif'],
  ['image/webp', 'webp'],
]);

/** Returns the block of an attachment. Documents have names that are unique in the request, as Converse demands. */
export function newAttachmentWriter(): (attachment: MessageAttachment) => ExactObject {
  const used = new Set<string>();
  return (attachment) => {
    const { media_type, bytes } = attachment;
    const source = { bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64') };
    const format = IMAGE_FORMATS.get(media_type);
    if (format !== undefined) return { image: { format, source } };
    if (media_type !== 'application/pdf') return leftOut(attachment);
    const base = documentName(attachment.name ?? '');
    let name = base;
    for (let count = 2; used.has(name); count += 1) name = `${base} (${count})`;
    used.add(name);
    return { document: { format: 'pdf', name, source } };
  };
}

/** The text that the model gets instead of a file that cannot be sent. */
export const leftOut = ({ name, media_type }: MessageAttachment): ExactObject => ({
  text: `[The file ${name ?? 'without a name'} (${media_type}) was left out: this model cannot read it here.]`,
});

const NAME_CHARS_MAX = 180;

// Letters, digits, single spaces, hyphens and brackets.
function documentName(name: string): string {
  const plain = name
    .replace(/\.pdf$/i, '')
    .replaceAll(/[^A-Za-z0-9()[\] -]/g, '-')
    .replaceAll(/ +/g, ' ');
  return plain.slice(0, NAME_CHARS_MAX).trim() || 'document';
}
