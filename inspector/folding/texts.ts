// Texts as the page is given them: cut at a bound, well-formed, and with the blob that has all of them.
import { type Attachments, type Content, isInline } from '../../schemas/content.ts';
import type { Digest } from '../../schemas/ids.ts';
import type { ShownContent, ShownText } from '../protocol.ts';

/** The longest text that is sent at once, in UTF-16 units; of a longer one the blob has all, or an ask for the event. */
const TEXT_CHARS = 16_384;
/** The longest value in a list. */
export const LINE_CHARS = 240;

export function cut(text: string, max: number = TEXT_CHARS, ref: Digest | null = null): ShownText {
  const shown = text.slice(0, max).toWellFormed();
  return { text: shown, rest: Math.max(0, text.length - max), ref };
}

/** A value as one line of JSON. */
export const lineOf = (value: unknown, max: number = LINE_CHARS): ShownText =>
  cut(JSON.stringify(value) ?? 'undefined', max);

/** A value as indented JSON. */
export const jsonOf = (value: unknown): ShownText => cut(JSON.stringify(value, null, 2) ?? 'undefined');

/** Of content in a blob, its beginning; the rest is counted in bytes. */
export function contentOf(content: Content, attachments: Attachments = [], max: number = TEXT_CHARS): ShownContent {
  if (isInline(content)) return { ...cut(content.text, max), attachments };
  const { ref, bytes, head } = content;
  return { text: head, rest: Math.max(0, bytes - head.length), ref, attachments };
}

/** One line of text: white space is one space. */
export const oneLine = (text: string, max: number = LINE_CHARS): string => {
  const line = text
    .slice(0, 4 * max)
    .replaceAll(/\s+/g, ' ')
    .trim();
  return (line.length <= max ? line : `${line.slice(0, max - 1)}…`).toWellFormed();
};

export const lineOfContent = (content: Content | undefined): string =>
  content === undefined ? '' : oneLine(isInline(content) ? content.text : content.head);
