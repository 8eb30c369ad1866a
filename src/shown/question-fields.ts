// The fields of a question that a call asks, for a form or for prompts: the properties of a flat schema (Model Context Protocol,
// "Elicitation", requested schema). Everything in them was written by others: callers make it visible before they show it.
import type { JsonObject, Json } from '../../schemas/json.ts';
import { isPlainObject } from '../../schemas/json.ts';
import { unreachable } from '../../schemas/rejection.ts';
import { type FieldFormat, FORMATS, isFieldFormat } from './field-formats.ts';

export interface QuestionField {
  readonly name: string;
  /** `choices`: any number of them, typed with commas between. */
  readonly kind: 'text' | 'number' | 'integer' | 'yes_no' | 'choice' | 'choices';
  /** What people read beside the name; empty when the schema says nothing. */
  readonly note: string;
  /** What can be chosen. */
  readonly choices: readonly Choice[];
  readonly required: boolean;
  /** What the schema proposes, as it would be typed; null without a proposal that fits. */
  readonly proposed: string | null;
  /** The bounds of a number, of the characters of a text, or of how many are chosen; null without one. */
  readonly min: number | null;
  readonly max: number | null;
  /** Of a text; null without one that is known. */
  readonly format: FieldFormat | null;
}

export interface Choice {
  readonly value: string;
  /** What people read in its place; the value itself when the schema says nothing. */
  readonly title: string;
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
  array: 'choices',
};

/** The keywords of the bounds of each kind that has them. */
const BOUNDS: Readonly<Partial<Record<QuestionField['kind'], readonly [min: string, max: string]>>> = {
  text: ['minLength', 'maxLength'],
  number: ['minimum', 'maximum'],
  integer: ['minimum', 'maximum'],
  choices: ['minItems', 'maxItems'],
};

function fieldOf(name: string, schema: Json, required: boolean): QuestionField | null {
  if (!isPlainObject(schema)) return null;
  const taken = takenBy(schema);
  if (taken === null) return null;
  const { kind } = taken;
  const { title, description, default: proposal = null, format } = schema as Readonly<Record<string, Json>>;
  const [min, max] = (BOUNDS[kind] ?? []).map((keyword) => schema[keyword]);
  const field: QuestionField = {
    name,
    ...taken,
    note: [title, description].filter(isText).join(': '),
    required,
    proposed: null,
    min: typeof min === 'number' ? min : null,
    max: typeof max === 'number' ? max : null,
    format: kind === 'text' && isFieldFormat(format) ? format : null,
  };
  return { ...field, proposed: proposedFor(field, proposal) };
}

const isText = (value: Json | undefined): value is string => typeof value === 'string' && value !== '';

/** The kind of a field and its choices; null for a schema that is none. */
function takenBy(schema: JsonObject): Pick<QuestionField, 'choices' | 'kind'> | null {
  const { type } = schema;
  if (typeof type !== 'string' || !Object.hasOwn(KINDS, type)) return null;
  const kind = KINDS[type] as QuestionField['kind'];
  const isTyped = kind === 'choices' ? isTypedAmongOthers : isTypedAlone;
  const choices = choicesOf(kind === 'choices' ? (schema['items'] ?? null) : schema, isTyped);
  if (choices === 'other') return null;
  if (choices === 'none') return kind === 'choices' ? null : { kind, choices: [] };
  if (kind === 'choices') return { kind, choices };
  return kind === 'text' ? { kind: 'choice', choices } : null;
}

/** The values and titles of a schema, in any of the forms that are in use; `other` for what cannot be typed. */
function choicesOf(schema: Json, isTyped: (value: string) => boolean): readonly Choice[] | 'none' | 'other' {
  if (!isPlainObject(schema)) return 'other';
  const { enum: values, enumNames: titles, oneOf, anyOf } = schema as Readonly<Record<string, Json>>;
  const named = oneOf ?? anyOf;
  if (values === undefined && named === undefined) return 'none';
  const pairs = values === undefined ? (Array.isArray(named) ? named.map(namedChoice) : []) : pairsOf(values, titles);
  if (pairs.length === 0 || !pairs.every(([value]) => typeof value === 'string' && isTyped(value))) return 'other';
  return pairs.map(([value, title]) => ({
    value: value as string,
    title: isText(title) ? title : (value as string),
  }));
}

const isTypedAlone = (value: string): boolean => value !== '' && value === value.trim() && !/[\n\r]/.test(value);
const isTypedAmongOthers = (value: string): boolean => isTypedAlone(value) && !value.includes(',');

type Pair = readonly [value: Json | undefined, title: Json | undefined];

const namedChoice = (one: Json): Pair => (isPlainObject(one) ? [one['const'], one['title']] : [undefined, undefined]);

const pairsOf = (values: Json, titles: Json | undefined): readonly Pair[] =>
  Array.isArray(values)
    ? values.map((value: Json, index) => [value, Array.isArray(titles) ? (titles[index] as Json) : undefined])
    : [];

/** A proposal that the field itself would refuse is none. */
function proposedFor(field: QuestionField, proposal: Json): string | null {
  const text = Array.isArray(proposal) ? proposal.join(SEPARATOR) : asTyped(proposal);
  return text !== null && 'value' in fieldValue(field, text) ? text : null;
}

function asTyped(proposal: Json): string | null {
  if (typeof proposal === 'boolean') return proposal ? 'yes' : 'no';
  return typeof proposal === 'string' || typeof proposal === 'number' ? String(proposal) : null;
}

const SEPARATOR = ', ';

/** What a person types for these choices. */
export const typedChoices = (chosen: readonly string[]): string => chosen.join(SEPARATOR);

/** The choices in what was typed. */
export const chosenIn = (typed: string): readonly string[] =>
  typed
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

/** A choice for people: its title with the value that is sent, where they differ. */
export const choiceText = ({ value, title }: Choice): string => (title === value ? value : `${title} (${value})`);

/** What a field takes, in a few words: `integer, 1 to 5`. */
export function fieldHint(field: QuestionField): string {
  const { kind, choices, format } = field;
  const range = rangeOf(field);
  const what = WORDS[kind] ?? `${kind === 'choices' ? 'any of ' : ''}${choices.map(choiceText).join(' | ')}`;
  const unit = kind === 'text' ? ' characters' : kind === 'choices' ? ' of them' : '';
  return `${format === null ? what : format}${range === null ? '' : `, ${range}${unit}`}`;
}

const WORDS: Readonly<Partial<Record<QuestionField['kind'], string>>> = {
  text: 'text',
  number: 'number',
  integer: 'integer',
  yes_no: 'yes/no',
};

function rangeOf({ min, max }: QuestionField): string | null {
  if (min !== null && max !== null) return min === max ? `exactly ${min}` : `${min} to ${max}`;
  if (min !== null) return `at least ${min}`;
  return max === null ? null : `at most ${max}`;
}

/** What a field says: a value, nothing (an optional field that is left empty), or why the text is none. */
export type FieldValue = { readonly value: Json } | { readonly empty: true } | { readonly fault: string };

export function fieldValue(field: QuestionField, text: string): FieldValue {
  const { kind, required } = field;
  const typed = text.trim();
  if (typed === '') return required ? { fault: 'it is required' } : { empty: true };
  switch (kind) {
    case 'text':
      return textValue(field, text);
    case 'choice':
      return choiceValue(field, typed);
    case 'choices':
      return choicesValue(field, chosenIn(typed));
    case 'yes_no':
      if (/^(?:y|yes|true)$/i.test(typed)) return { value: true };
      return /^(?:n|no|false)$/i.test(typed) ? { value: false } : { fault: 'answer with yes or no' };
    case 'number':
    case 'integer':
      return numberValue(field, typed);
  }
  return unreachable(kind);
}

function textValue(field: QuestionField, text: string): FieldValue {
  const { format } = field;
  if (format !== null && !FORMATS[format].fits(text)) return { fault: `it must be ${FORMATS[format].what}` };
  // As JSON Schema counts: code points.
  return isWithin(field, Array.from(text).length)
    ? { value: text }
    : { fault: `it must have ${rangeOf(field)} characters` };
}

function choiceValue({ choices }: QuestionField, typed: string): FieldValue {
  if (choices.some(({ value }) => value === typed)) return { value: typed };
  return { fault: `choose one of: ${choices.map(({ value }) => value).join(', ')}` };
}

function choicesValue(field: QuestionField, chosen: readonly string[]): FieldValue {
  const unknown = chosen.find((one) => !field.choices.some(({ value }) => value === one));
  if (unknown !== undefined) {
    return { fault: `"${unknown}" is none of: ${field.choices.map(({ value }) => value).join(', ')}` };
  }
  const value = [...new Set(chosen)];
  return isWithin(field, value.length) ? { value } : { fault: `choose ${rangeOf(field)} of them` };
}

function numberValue(field: QuestionField, typed: string): FieldValue {
  const number = Number(typed);
  const isWhole = field.kind === 'integer';
  const fits = Number.isFinite(number) && !Object.is(number, -0) && (!isWhole || Number.isSafeInteger(number));
  if (!fits) return { fault: `it must be ${isWhole ? 'a whole number' : 'a number'}` };
  return isWithin(field, number) ? { value: number } : { fault: `it must be ${rangeOf(field)}` };
}

const isWithin = ({ min, max }: QuestionField, value: number): boolean =>
  (min === null || value >= min) && (max === null || value <= max);
