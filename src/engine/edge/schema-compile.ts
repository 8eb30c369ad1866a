// Compiles JSON Schemas with ajv. The function is self-contained, because it also runs on the thread of schema-thread.ts,
// which gets it as text.
import type * as Draft7 from 'ajv';
import type { ErrorObject } from 'ajv';
import type * as Draft2020 from 'ajv/dist/2020.js';
import type { Json, JsonObject } from '../../../schemas/json.ts';

/** The first fault of a value, or null. */
export type Validator = (value: Json) => SchemaFault | null;

export type SchemaFault = Pick<ErrorObject, 'instancePath' | 'keyword' | 'message' | 'params'>;

/** A validator, or why the schema does not compile. */
export type Compiler = (schema: JsonObject) => Validator | string;

/** `load` is the `require` of a module that can load ajv. */
export function newCompiler(load: (name: string) => unknown): Compiler {
  // Compiling the meta-schema takes 40 ms for each validator, and a definition that is not a schema fails to compile even
  // without it.
  const options = {
    strict: false,
    allErrors: false,
    validateFormats: false,
    validateSchema: false,
    meta: false,
    logger: false,
  } as const;
  const isOldDraft = (draft: unknown): boolean => typeof draft === 'string' && /draft-0[4-7]/.test(draft);

  return (schema) => {
    // One ajv for each definition: schemas of different authors may use the same `$id` for different things.
    const { $schema: draft, $id: _id, ...rest } = schema;
    try {
      const ajv = isOldDraft(draft)
        ? new (load('ajv') as typeof Draft7).Ajv(options)
        : new (load('ajv/dist/2020.js') as typeof Draft2020).Ajv2020(options);
      const validate = ajv.compile(rest);
      // An asynchronous schema returns a promise, which is no verdict.
      if ('$async' in validate) return 'an asynchronous schema gives no verdict';
      return (value) => {
        if (validate(value)) return null;
        const { instancePath = '', keyword = '', message, params = {} } = validate.errors?.[0] ?? {};
        return { instancePath, keyword, params, ...(message === undefined ? {} : { message }) };
      };
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  };
}
