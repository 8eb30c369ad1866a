// Characters in the texts of skills and catalogs that a person who approves a text does not see, or sees elsewhere than the model
// reads them. The joiners of emoji and of several scripts (U+200C, U+200D) and variation selectors are part of plain text.

// Control characters but tab and line feed; marks and overrides of direction (UAX #9); other format characters, such as the
// tag characters, which spell a text that is not shown.
const HIDDEN = /(?![\t\n\u200C\u200D])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115F\u1160\u3164\uFFA0]/u;

/** The first of them, as `U+202E`; null when there is none. */
export function hiddenCharacter(text: string): string | null {
  const [found] = HIDDEN.exec(text) ?? [];
  return found === undefined ? null : `U+${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
