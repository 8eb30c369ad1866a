// Names that an API may read as the client's own, however a model's server spells them: some servers compare the names of
// fields without case, and protobuf takes `function_response` for `functionResponse`. What a server answered must not speak
// to the next one in the name of the user, of the system or of a tool.
import type { ExactObject } from './exact-json.ts';

/** The name without case, separators and other forms of its letters (Unicode, NFKC). */
export const foldName = (name: string): string =>
  name
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '');

/** Folded names. */
export const foldedNames = (...names: readonly string[]): ReadonlySet<string> => new Set(names.map(foldName));

/** Whether a field has one of these names in any spelling. */
export const hasAnyOf = (fields: ExactObject, names: ReadonlySet<string>): boolean =>
  Object.keys(fields).some((name) => names.has(foldName(name)));

/** Whether a field has one of the names in another spelling than these. */
export const misspells = (fields: ExactObject, names: readonly string[]): boolean => {
  const exact = new Set(names);
  return Object.keys(fields).some((name) => !exact.has(name) && names.some((own) => foldName(own) === foldName(name)));
};

/** The fields that have none of these names in any spelling. */
export function withoutNames(fields: ExactObject, names: ReadonlySet<string>): ExactObject {
  if (!hasAnyOf(fields, names)) return fields;
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.has(foldName(name))));
}

/** The fields without other spellings of these names. */
export function withoutMisspelled(fields: ExactObject, names: readonly string[]): ExactObject {
  if (!misspells(fields, names)) return fields;
  const folded = foldedNames(...names);
  return Object.fromEntries(
    Object.entries(fields).filter(([name]) => names.includes(name) || !folded.has(foldName(name))),
  );
}
