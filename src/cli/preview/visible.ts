// Text of others as it may be printed at a terminal: whatever is no visible character (control characters, which a
// terminal obeys; marks that turn the direction of text; characters of no width) is shown as what it is. A tab stays.

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
/** Where Unicode keeps pictures of the characters below the space (Control Pictures). */
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
