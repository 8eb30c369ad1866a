// Images and PDFs as parts of a user's message.
import type { ExactJson } from '../api/exact-json.ts';
import type { MessageAttachment } from '../provider.ts';

export const attachmentParts = (attachments: readonly MessageAttachment[]): readonly ExactJson[] =>
  attachments.map(attachmentPart);

function attachmentPart({ media_type, name, bytes }: MessageAttachment): ExactJson {
  const url = (): string => `data:${media_type};base64,${Buffer.from(bytes).toString('base64')}`;
  if (media_type.startsWith('image/')) return { type: 'image_url', image_url: { url: url() } };
  if (media_type !== 'application/pdf') {
    return {
      type: 'text',
      text: `[the file ${name ?? 'without a name'} (${media_type}) cannot be shown to this model]`,
    };
  }
  return { type: 'file', file: { filename: name ?? 'document.pdf', file_data: url() } };
}
