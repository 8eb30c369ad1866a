// How values are written in a transcript: printable ASCII only, so that a review shows every character.
import { type Content, isInline } from '../../../schemas/content.ts';

/** A text of at most so many characters; a longer one ends with an ellipsis. */
export const cut = (text: string, max: number): string => (text.length <= max ? text : `${text.slice(0, max - 1)}…`);

/** Quoted, with everything but printable ASCII escaped. */
export const quoted = (text: string): string =>
  JSON.stringify(text).replaceAll(/[^\x20-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** The characters of a text that a transcript shows. */
const EXCERPT_CHARS = 40;

export const textOf = (content: Content): string =>
  isInline(content)
    ? quoted(cut(content.text, EXCERPT_CHARS))
    : `blob of ${content.bytes} bytes ${quoted(content.head.slice(0, 16))}`;

/** Milliseconds since the session was created. */
export const since = (ms: number, startMs: number): string => `${ms - startMs}`;

/** How many names of a list a transcript shows. */
const NAMES_MAX = 6;

/** `a b c`; a long list ends with how many more there are. */
export const namesOf = (names: readonly string[]): string =>
  names.length <= NAMES_MAX
    ? names.join(' ')
    : `${names.slice(0, NAMES_MAX).join(' ')} (+${names.length - NAMES_MAX} more)`;

/** `name value`, or nothing when the value is absent or false. */
export function optional(name: string, value: string | number | boolean | null | undefined): readonly string[] {
  if (value === undefined || value === null || value === false) return [];
  return [value === true ? name : `${name} ${value}`];
}

/** `key=value` for each field of a patch that is set. */
export const fieldsOf = (patch: object): string =>
  Object.entries(patch)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}=${typeof value === 'object' ? JSON.stringify(value) : String(value)}`)
    .join(' ');
