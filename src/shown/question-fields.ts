// The fields of a question that a call asks, for a form or for prompts: the properties of a flat schema. Everything in them was
// written by others: callers make it visible before they show it.
import type { JsonObject, Json } from '../../schemas/json.ts';
import { isPlainObject } from '../../schemas/json.ts';

export interface QuestionField {
  readonly name: string;
  readonly kind: 'text' | 'number' | 'integer' | 'yes_no' | 'choice';
  /** What people read beside the name; empty when the schema says nothing. */
  readonly note: string;
  /** The values of a choice. */
  readonly choices: readonly string[];
  readonly required: boolean;
  /** What the schema proposes; null without a proposal. */
  readonly proposed: string | null;
}

/** The fields of a flat schema, in its order; null for any other schema, which takes JSON. No schema has no fields. */
export function questionFields(schema: JsonObject | undefined): readonly QuestionField[] | null {
  if (schema === undefined) return [];
  const { type, properties = {}, required = [] } = schema;
  if (type !== 'object' || !isPlainObject(properties) || !Array.isArray(required)) return null;
  const fields = Object.entries(properties).map(([name, field]) => fieldOf(name, field, required.includes(name)));
  return fields.some((field) => field === null) || fields.length > FIELDS_MAX ? null : (fields as QuestionField[]);
}

/** A longer form is no form: JSON is asked for. */
const FIELDS_MAX = 32;

const KINDS: Readonly<Record<string, QuestionField['kind']>> = {
  string: 'text',
  number: 'number',
  integer: 'integer',
  boolean: 'yes_no',
};

function fieldOf(name: string, schema: Json, required: boolean): QuestionField | null {
  if (!isPlainObject(schema)) return null;
  const { type, title, description, enum: values, default: proposal } = schema as Readonly<Record<string, Json>>;
  const kind = typeof type === 'string' ? KINDS[type] : undefined;
  if (kind === undefined || !Object.hasOwn(KINDS, type as string)) return null;
  const isChoice = values !== undefined;
  if (isChoice && !(kind === 'text' && isTexts(values))) return null;
  const note = [title, description]
    .flatMap((part) => (typeof part === 'string' && part !== '' ? [part] : []))
    .join(': ');
  const isPlain = typeof proposal === 'string' || typeof proposal === 'number' || typeof proposal === 'boolean';
  const proposed = isPlain ? String(proposal) : null;
  return { name, kind: isChoice ? 'choice' : kind, note, choices: isChoice ? values : [], required, proposed };
}

const isTexts = (values: Json): values is readonly string[] =>
  Array.isArray(values) && values.length > 0 && values.every((value) => typeof value === 'string');

/** What a field says: a value, nothing (an optional field that is left empty), or why the text is none. */
export type FieldValue = { readonly value: Json } | { readonly empty: true } | { readonly fault: string };

export function fieldValue({ kind, choices, required }: QuestionField, text: string): FieldValue {
  const typed = text.trim();
  if (typed === '' && !(kind === 'text' && required)) return required ? { fault: 'it is required' } : { empty: true };
  if (kind === 'text') return { value: text };
  if (kind === 'choice') {
    return choices.includes(typed) ? { value: typed } : { fault: `choose one of: ${choices.join(', ')}` };
  }
  if (kind === 'yes_no') {
    if (/^(?:y|yes|true)$/i.test(typed)) return { value: true };
    return /^(?:n|no|false)$/i.test(typed) ? { value: false } : { fault: 'answer with yes or no' };
  }
  const number = Number(typed);
  const fits = Number.isFinite(number) && !Object.is(number, -0) && (kind === 'number' || Number.isSafeInteger(number));
  return fits ? { value: number } : { fault: `it must be ${kind === 'integer' ? 'a whole number' : 'a number'}` };
}
