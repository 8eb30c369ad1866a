// Plain JSON Schemas: the type of what one accepts, and the schema of a tool as the engine stores it.
import { isLeft } from 'fp-ts/lib/Either.js';
import { type Json, type JsonObject, isPlainObject, parseJson } from '../../schemas/index.ts';
import { type StandardSchema, isStandardSchema } from './standard-schema.ts';

/** A JSON Schema as people write it or a library makes it; some libraries declare it as an interface, which has no index. */
export type JsonSchema = Readonly<Record<string, unknown>> | { readonly type?: unknown; readonly properties?: unknown };

/** The values that a JSON Schema accepts, as far as its literal type tells; any JSON value where it does not. */
export type FromJsonSchema<Schema> = Schema extends { readonly const: infer Value }
  ? Value
  : Schema extends { readonly enum: readonly (infer Value)[] }
    ? Value
    : Schema extends { readonly type: 'object' }
      ? ObjectOf<Schema>
      : Schema extends { readonly type: 'array'; readonly items: infer Items }
        ? readonly FromJsonSchema<Items>[]
        : Schema extends { readonly type: keyof Simple }
          ? Simple[Schema['type']]
          : Json;

interface Simple {
  readonly string: string;
  readonly number: number;
  readonly integer: number;
  readonly boolean: boolean;
  readonly null: null;
}

type ObjectOf<Schema> = Schema extends { readonly properties: infer Fields }
  ? Flat<
      { readonly [Name in keyof Fields & RequiredOf<Schema>]: FromJsonSchema<Fields[Name]> } & {
        readonly [Name in Exclude<keyof Fields, RequiredOf<Schema>>]?: FromJsonSchema<Fields[Name]>;
      }
    >
  : JsonObject;

type RequiredOf<Schema> = Schema extends { readonly required: readonly (infer Name)[] } ? Name : never;
type Flat<T> = { readonly [Name in keyof T]: T[Name] };

/**
 * The JSON Schema of the arguments of a tool: the given one, else what the library of `input` makes of it. Throws a TypeError
 * when there is none, or it does not describe an object: models make calls with an object of arguments.
 */
export function inputSchemaOf(name: string, input: StandardSchema | JsonSchema, given?: JsonSchema): JsonObject {
  const { $schema: _draft, ...schema } = plain(name, given ?? madeBy(name, input));
  if (schema['type'] === 'object') return schema;
  throw new TypeError(
    `the input of the tool "${name}" must be a schema of an object: its JSON Schema needs type "object"`,
  );
}

function madeBy(name: string, input: StandardSchema | JsonSchema): JsonSchema {
  if (!isStandardSchema(input)) return input;
  const { jsonSchema, vendor } = input['~standard'];
  const toDo = 'Give `inputSchema`, the JSON Schema of the same arguments';
  if (jsonSchema === undefined)
    throw new TypeError(`${vendor} makes no JSON Schema of the input of "${name}". ${toDo}`);
  try {
    return jsonSchema.input({ target: 'draft-2020-12' });
  } catch (error) {
    throw new TypeError(`${vendor} cannot make a JSON Schema of the input of "${name}". ${toDo}`, { cause: error });
  }
}

/** Without what JSON does not show: libraries hide fields of their own in the schemas that they make. */
function plain(name: string, schema: JsonSchema): JsonObject {
  const parsed = parseJson(JSON.stringify(schema));
  if (!isLeft(parsed) && isPlainObject(parsed.right)) return parsed.right;
  throw new TypeError(`the JSON Schema of the tool "${name}" is no JSON object`);
}
