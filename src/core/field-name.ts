// The name of a field as it stands before its value in JSON text. Those of a state are few; those of a model's arguments
// may be any, and are not kept beyond a bound.
const NAMES_KEPT = 1_024;
const names = new Map<string, string>();

export function fieldName(key: string): string {
  const kept = names.get(key);
  if (kept !== undefined) return kept;
  const quoted = `${JSON.stringify(key)}:`;
  if (names.size < NAMES_KEPT) names.set(key, quoted);
  return quoted;
}
