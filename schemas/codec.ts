// The combinators of every stored or sent shape: io-ts types that refuse unknown keys, NaN and -0, return the given value
// and not a copy, and carry their JSON Schema (draft 2020-12).
import { type Either, left, right } from 'fp-ts/lib/Either.js';
import * as t from 'io-ts';
import { type Json, type JsonObject, isJson, isPlainObject } from './json.ts';
import { pointerSegment, type Rejection, reject } from './rejection.ts';

/** What is wrong with a value, and where: the keys that lead there from the value. */
export interface Fault {
  readonly path: readonly string[];
  readonly message: string;
}

/** An io-ts type whose input is its output, with its JSON Schema. */
export class Codec<A> extends t.Type<A> {
  readonly jsonSchema: JsonObject;
  /** The first fault of a value, null for one that `is` accepts. Each part of the value is walked once. */
  readonly faultOf: (value: unknown) => Fault | null;

  constructor(
    name: string,
    is: (value: unknown) => value is A,
    faultOf: (value: unknown) => Fault | null,
    jsonSchema: JsonObject,
  ) {
    const validate = (value: unknown, context: t.Context): t.Validation<A> =>
      is(value) ? t.success(value) : t.failures([errorOf(faultOf(value) ?? NOT_VALID, value, context)]);
    super(name, is, validate, t.identity);
    this.jsonSchema = jsonSchema;
    this.faultOf = faultOf;
  }
}

const NOT_VALID: Fault = { path: [], message: 'is not valid' };

/** A fault as io-ts reports it. */
function errorOf({ path, message }: Fault, value: unknown, context: t.Context): t.ValidationError {
  return { value, context: [...context, ...path.map((key) => ({ key, type: json }))], message };
}

export type TypeOf<C extends t.Any> = t.TypeOf<C>;

/** The value, or a rejection `invalid_shape` with the path of the first fault. */
export function decode<A>(codec: Codec<A>, value: unknown): Either<Rejection, A> {
  if (codec.is(value)) return right(value);
  const { path, message } = codec.faultOf(value) ?? NOT_VALID;
  return left(reject('invalid_shape', path.map(pointerSegment).join(''), message));
}

const fault = (message: string): Fault => ({ path: [], message });

function leaf<A>(name: string, is: (value: unknown) => value is A, jsonSchema: JsonObject): Codec<A> {
  return new Codec<A>(name, is, (value) => (is(value) ? null : fault(`must be ${name}`)), jsonSchema);
}

interface TextBounds {
  readonly min?: number;
  readonly max: number;
  readonly pattern?: RegExp;
  readonly not?: readonly string[];
}

/** Well-formed text of `min` to `max` UTF-16 units. */
export function text(name: string, { min = 0, max, pattern, not = [] }: TextBounds): Codec<string> {
  const is = (value: unknown): value is string =>
    typeof value === 'string' &&
    value.length >= min &&
    value.length <= max &&
    value.isWellFormed() &&
    (pattern === undefined || pattern.test(value)) &&
    !not.includes(value);
  return leaf(name, is, {
    type: 'string',
    ...(min > 0 ? { minLength: min } : {}),
    maxLength: max,
    ...(pattern === undefined ? {} : { pattern: pattern.source }),
    ...(not.length === 0 ? {} : { not: { enum: not } }),
  });
}

declare const brandKey: unique symbol;
/** A string that must not be mixed with other strings. */
export type Branded<Name extends string> = string & { readonly [brandKey]: Name };

/** Text of one kind of identifier. `__proto__` is refused, because ids are used as keys. */
export function identifier<Name extends string>(name: Name, max: number, pattern: RegExp): Codec<Branded<Name>> {
  const { jsonSchema } = text(name, { min: 1, max, pattern, not: ['__proto__'] });
  // Shorter than the test of the text codec: the pattern matches ASCII only, which is always well-formed.
  const is = (value: unknown): value is Branded<Name> =>
    typeof value === 'string' && value.length <= max && pattern.test(value) && value !== '__proto__';
  return leaf(`${name} (${pattern.source})`, is, jsonSchema);
}

/** A safe integer from `min` to `max`, never -0. */
export function integer(name: string, min: number, max: number = Number.MAX_SAFE_INTEGER): Codec<number> {
  const is = (value: unknown): value is number =>
    Number.isSafeInteger(value) && !Object.is(value, -0) && (value as number) >= min && (value as number) <= max;
  return leaf(`${name} (an integer from ${min} to ${max})`, is, { type: 'integer', minimum: min, maximum: max });
}

/** Any finite number from `min` to `max`, never -0: one that is recorded and passed on, and never computed with. */
export function decimal(name: string, min: number, max: number): Codec<number> {
  const is = (value: unknown): value is number =>
    typeof value === 'number' && value >= min && value <= max && !Object.is(value, -0);
  return leaf(`${name} (a number from ${min} to ${max})`, is, { type: 'number', minimum: min, maximum: max });
}

/** True or false. */
export const flag: Codec<boolean> = leaf('a boolean', (value): value is boolean => typeof value === 'boolean', {
  type: 'boolean',
});

/** One of the given strings. */
export function oneOf<const V extends readonly string[]>(name: string, values: V): Codec<V[number]> {
  const known = new Set<unknown>(values);
  return leaf(`${name} (one of ${values.join(', ')})`, (value): value is V[number] => known.has(value), {
    enum: values,
  });
}

/** Any value of the value domain. */
export const json: Codec<Json> = leaf('a JSON value', isJson, {});

/** Any plain object of the value domain. */
export const jsonObject: Codec<JsonObject> = leaf(
  'a JSON object',
  (value): value is JsonObject => isPlainObject(value) && isJson(value),
  { type: 'object' },
);

/** Null, or what `codec` accepts. */
export function nullable<A>(codec: Codec<A>): Codec<A | null> {
  return new Codec<A | null>(
    `${codec.name} or null`,
    (value): value is A | null => value === null || codec.is(value),
    (value) => (value === null ? null : codec.faultOf(value)),
    { anyOf: [{ type: 'null' }, codec.jsonSchema] },
  );
}

// Not `every`, which skips holes.
function everyItem<A>(values: readonly unknown[], codec: Codec<A>): boolean {
  for (const value of values) if (!codec.is(value)) return false;
  return true;
}

/** A dense array of `min` to `max` values. */
export function list<A>(codec: Codec<A>, max: number, min = 0): Codec<readonly A[]> {
  const sized = (value: unknown): value is readonly unknown[] =>
    Array.isArray(value) && value.length >= min && value.length <= max;
  return new Codec<readonly A[]>(
    `a list of ${codec.name}`,
    (value): value is readonly A[] => sized(value) && everyItem(value, codec),
    (value) => {
      if (!sized(value)) return fault(`must be a list of ${min} to ${max} items${countOf(value)}`);
      for (const [index, item] of value.entries()) {
        const inner = faultAt(String(index), codec, item);
        if (inner !== null) return inner;
      }
      return null;
    },
    { type: 'array', items: codec.jsonSchema, maxItems: max, ...(min > 0 ? { minItems: min } : {}) },
  );
}

const countOf = (value: unknown): string => (Array.isArray(value) ? `; it has ${value.length}` : '');

/** An object of at most `max` entries, with one codec for all keys and one for all values. */
export function dictionary<K extends string, A>(
  key: Codec<K>,
  codec: Codec<A>,
  max: number,
): Codec<Readonly<Record<string, A>>> {
  type Dictionary = Readonly<Record<string, A>>;
  const sized = (value: unknown): value is Readonly<Record<string, unknown>> =>
    isPlainObject(value) && Object.keys(value).length <= max;
  return new Codec<Dictionary>(
    `entries of ${codec.name}`,
    (value): value is Dictionary =>
      sized(value) && Object.keys(value).every((name) => key.is(name) && codec.is(value[name])),
    (value) => {
      if (!sized(value)) return fault(`must be an object of at most ${max} entries`);
      for (const name of Object.keys(value)) {
        const inner = faultAt(name, key, name) ?? faultAt(name, codec, value[name]);
        if (inner !== null) return inner;
      }
      return null;
    },
    { type: 'object', propertyNames: key.jsonSchema, additionalProperties: codec.jsonSchema, maxProperties: max },
  );
}

/** The same codec; it checks a frozen value only once. */
export function remembering<A>(codec: Codec<A>): Codec<A> {
  const accepted = new WeakSet<object>();
  const is = (value: unknown): value is A => {
    const isObject = typeof value === 'object' && value !== null;
    if (isObject && accepted.has(value)) return true;
    if (!codec.is(value)) return false;
    if (isObject && Object.isFrozen(value)) accepted.add(value);
    return true;
  };
  return new Codec<A>(codec.name, is, codec.faultOf, codec.jsonSchema);
}

type Fields = Readonly<Record<string, t.Any>>;
type NoFields = Readonly<Record<never, never>>;
type Flat<T> = { readonly [K in keyof T]: T[K] };
/** The type of {@link shape}: required fields, then optional fields, which may be absent but not undefined. */
export type ShapeOf<R, O = NoFields> = Flat<{ [K in keyof R]: FieldOf<R[K]> } & { [K in keyof O]?: FieldOf<O[K]> }>;
type FieldOf<F> = F extends t.Any ? t.TypeOf<F> : never;

/** An object of exactly these fields; unknown keys are refused. */
export function shape<R extends Fields, O extends Fields = NoFields>(
  name: string,
  required: R,
  optional: O = {} as O,
): Codec<ShapeOf<R, O>> {
  const fields: Fields = { ...required, ...optional };
  const names = Object.keys(fields);
  const requiredNames = Object.keys(required);
  const codecs = new Map(names.map((key): [string, t.Any] => [key, fields[key] as t.Any]));
  const isOptional = new Set(Object.keys(optional).filter((key) => !Object.hasOwn(required, key)));
  // One walk over the fields of the value. Keys are unique, so counting the required ones is enough.
  const isInAnyOrder = (value: Readonly<Record<string, unknown>>): boolean => {
    let missing = requiredNames.length;
    for (const key of Object.keys(value)) {
      const codec = codecs.get(key);
      if (codec === undefined || !codec.is(value[key])) return false;
      if (missing > 0 && !isOptional.has(key)) missing -= 1;
    }
    return missing === 0;
  };
  // Most values that are read have their keys in canonical order: then no field has to be looked up.
  const inOrder = names.toSorted().map((key) => ({ key, codec: fields[key] as t.Any, optional: isOptional.has(key) }));
  const is = (value: unknown): value is ShapeOf<R, O> => {
    if (!isPlainObject(value)) return false;
    let at = 0;
    for (const key in value) {
      while (inOrder[at]?.optional === true && inOrder[at]?.key !== key) at += 1;
      const field = inOrder[at];
      // An unknown key ends the check before the keys are listed again, which takes long where they are many.
      if (field?.key !== key) return codecs.has(key) && isInAnyOrder(value);
      if (!field.codec.is(value[key])) return false;
      at += 1;
    }
    while (inOrder[at]?.optional === true) at += 1;
    return at === inOrder.length;
  };
  const faultOf = (value: unknown): Fault | null => {
    if (!isPlainObject(value)) return fault(`must be an object (${name})`);
    const keys = Object.keys(value);
    const extra = keys.find((key) => !codecs.has(key));
    if (extra !== undefined) return { path: [extra], message: `is not a field of ${name}; remove it` };
    const missing = requiredNames.find((key) => !Object.hasOwn(value, key));
    if (missing !== undefined) return { path: [missing], message: `is required in ${name}` };
    for (const key of keys) {
      const inner = faultAt(key, codecs.get(key) as t.Any, value[key]);
      if (inner !== null) return inner;
    }
    return null;
  };
  const properties = Object.fromEntries(names.map((key) => [key, (fields[key] as Codec<unknown>).jsonSchema]));
  return new Codec<ShapeOf<R, O>>(name, is, faultOf, {
    title: name,
    type: 'object',
    properties,
    required: requiredNames,
    additionalProperties: false,
  });
}

/** The same codec; it refuses a value that has more than one of these fields, which say the same thing in several forms. */
export function oneFormOf<A extends object>(codec: Codec<A>, forms: readonly (keyof A & string)[]): Codec<A> {
  return new Codec<A>(
    codec.name,
    (value): value is A => codec.is(value) && hasAtMostOne(value, forms),
    (value) => {
      const inner = codec.faultOf(value);
      if (inner !== null) return inner;
      const [first, second] = forms.filter((form) => Object.hasOwn(value as A, form));
      return second === undefined ? null : { path: [second], message: `stands beside ${first}; give one of them` };
    },
    codec.jsonSchema,
  );
}

function hasAtMostOne(value: object, forms: readonly string[]): boolean {
  let found = 0;
  for (const form of forms) if (Object.hasOwn(value, form)) found += 1;
  return found <= 1;
}

/** A {@link shape} whose field `kind` has one fixed value. */
export const tagged = <const K extends string, R extends Fields, O extends Fields = NoFields>(
  kind: K,
  required: R,
  optional: O = {} as O,
): Codec<ShapeOf<R & { readonly kind: Codec<K> }, O>> =>
  shape<R & { readonly kind: Codec<K> }, O>(kind, { kind: oneOf<readonly [K]>('kind', [kind]), ...required }, optional);

/** A union whose case is named by one field. */
export function variants<C extends Fields>(name: string, tag: string, cases: C): Codec<t.TypeOf<C[keyof C]>> {
  type Union = t.TypeOf<C[keyof C]>;
  const caseOf = (value: unknown): t.Any | undefined => {
    if (!isPlainObject(value)) return undefined;
    const key = value[tag];
    return typeof key === 'string' && Object.hasOwn(cases, key) ? cases[key] : undefined;
  };
  return new Codec<Union>(
    name,
    (value): value is Union => caseOf(value)?.is(value) ?? false,
    (value) => {
      const found = caseOf(value);
      if (found !== undefined) return faultIn(found, value);
      return { path: [tag], message: `must be one of the kinds of ${name}: ${Object.keys(cases).join(', ')}` };
    },
    { title: name, oneOf: Object.values(cases).map((codec) => (codec as Codec<unknown>).jsonSchema) },
  );
}

/** What either codec accepts. `advice` says what else to do about a value that neither accepts, or null. */
export function either<A, B>(
  name: string,
  first: Codec<A>,
  second: Codec<B>,
  advice: (value: unknown) => string | null = () => null,
): Codec<A | B> {
  const is = (value: unknown): value is A | B => first.is(value) || second.is(value);
  return new Codec<A | B>(
    name,
    is,
    (value) => (is(value) ? null : fault(advice(value) ?? `must be ${name}: ${first.name} or ${second.name}`)),
    { title: name, anyOf: [first.jsonSchema, second.jsonSchema] },
  );
}

/** The fault of a part. All parts are codecs of this file, though the types of shapes name them by their io-ts type. */
const faultIn = (codec: t.Any, value: unknown): Fault | null => (codec as Codec<unknown>).faultOf(value);

function faultAt(key: string, codec: t.Any, value: unknown): Fault | null {
  const inner = faultIn(codec, value);
  return inner === null ? null : { ...inner, path: [key, ...inner.path] };
}
