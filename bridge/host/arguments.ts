// Reads a call's arguments. The engine has already checked them against the tool's schema, but the tools do not rely on it:
// each reader checks its field again, and refuses a wrong value with `tool_invalid_args` and the name of the field.
import { type JsonObject, isPlainObject } from '../../schemas/json.ts';
import { ToolFault } from './outcome.ts';

export const invalidArgument = (field: string, wanted: string): ToolFault =>
  new ToolFault('tool_invalid_args', `'${field}' must be ${wanted}; correct the argument and call again`);

/** Any well-formed text, also empty or blank: white space matters to an edit. */
export function requiredText(args: JsonObject, field: string): string {
  const value = valueOf(args, field);
  if (typeof value !== 'string') throw invalidArgument(field, 'a string');
  if (!value.isWellFormed()) throw invalidArgument(field, 'well-formed Unicode (it has an unpaired surrogate)');
  return value;
}

export function optionalText(args: JsonObject, field: string): string | undefined {
  return valueOf(args, field) === undefined ? undefined : requiredText(args, field);
}

export function optionalFlag(args: JsonObject, field: string): boolean {
  const value = valueOf(args, field);
  if (value === undefined) return false;
  if (typeof value !== 'boolean') throw invalidArgument(field, 'true or false');
  return value;
}

/** An integer of at least `min`; a value above `max` is read as `max`. */
export function optionalCount(args: JsonObject, field: string, min: number, max: number): number | undefined {
  const value = valueOf(args, field);
  if (value === undefined) return undefined;
  if (!Number.isSafeInteger(value) || (value as number) < min) {
    throw invalidArgument(field, `an integer of at least ${min}`);
  }
  return Math.min(value as number, max);
}

export function optionalChoice<const V extends readonly string[]>(
  args: JsonObject,
  field: string,
  choices: V,
): V[number] {
  const value = valueOf(args, field);
  if (value === undefined) return choices[0] as V[number];
  if (typeof value === 'string' && choices.includes(value)) return value;
  throw invalidArgument(field, `one of ${choices.map((choice) => `"${choice}"`).join(', ')}`);
}

export function requiredTexts(args: JsonObject, field: string): readonly string[] {
  const value = valueOf(args, field);
  const fine = Array.isArray(value) && value.every((item) => typeof item === 'string' && item.isWellFormed());
  if (!fine) throw invalidArgument(field, 'an array of strings');
  return value as readonly string[];
}

export function optionalObject(args: JsonObject, field: string): JsonObject | undefined {
  const value = valueOf(args, field);
  if (value === undefined) return undefined;
  if (!isPlainObject(value)) throw invalidArgument(field, 'an object');
  return value as JsonObject;
}

// Models write null for an absent value, so null is read as absent.
const valueOf = (args: JsonObject, field: string): unknown =>
  isPlainObject(args) && Object.hasOwn(args, field) ? (args[field] ?? undefined) : undefined;
