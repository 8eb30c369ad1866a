// Escapes foreign text for a terminal: every invisible character (control characters, which a terminal obeys; marks that
// change the direction of text; characters of no width) is shown by a picture or its code point. A tab stays.

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
/** The Unicode block Control Pictures, which depicts the characters below the space. */
const PICTURES = 0x24_00;
const PICTURE_OF_DELETE = '\u2421';

export const visible = (text: string): string => text.replace(INVISIBLE, show);

function show(unit: string): string {
  const code = unit.codePointAt(0) ?? 0;
  if (unit === '\t') return unit;
  if (code < 0x20) return String.fromCodePoint(PICTURES + code);
  if (code === 0x7f) return PICTURE_OF_DELETE;
  return `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`;
}
