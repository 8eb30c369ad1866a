// The secrets that a bridge process knows, each with where it comes from, so that one that is too short can be named.
import { SECRET_CHARS_MIN } from '../../schemas/limits.ts';
import { isLongEnough } from './redactor.ts';

export interface KnownSecret {
  /** For people: `OPENAI_API_KEY`, `the token in /data/token`. */
  readonly source: string;
  readonly value: string;
}

/** A line for each source whose secret is too short to be replaced. It never repeats the value. */
export const shortSecretNotes = (secrets: readonly KnownSecret[]): readonly string[] =>
  secrets
    .filter(({ value }) => value.trim() !== '' && !isLongEnough(value))
    .map(
      ({ source }) =>
        `the secret from ${source} has fewer than ${SECRET_CHARS_MIN} characters, so outputs that contain it are not ` +
        'changed; use a longer secret',
    );

/** The user name and the password of a URL. */
export function secretsOfUrl(url: string, source: string): readonly KnownSecret[] {
  if (!URL.canParse(url)) return [];
  const { username, password } = new URL(url);
  return [username, password].flatMap((part) => [part, decoded(part)]).map((value) => ({ source, value }));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
