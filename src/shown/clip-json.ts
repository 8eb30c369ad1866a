// Values as short JSON text.

/** The JSON text of a value, clipped to a width. */
export function clipJson(value: unknown, width: number): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length <= width ? text : `${text.slice(0, width - 1).toWellFormed()}…`;
}
