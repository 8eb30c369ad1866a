// The name of a field as JSON text, with its colon. Names are cached up to a bound: those of a state are few, but those in
// a model's arguments may be any.
const NAMES_KEPT = 1_024;
const names = new Map<string, string>();

export function fieldName(key: string): string {
  const kept = names.get(key);
  if (kept !== undefined) return kept;
  const quoted = `${JSON.stringify(key)}:`;
  if (names.size < NAMES_KEPT) names.set(key, quoted);
  return quoted;
}
