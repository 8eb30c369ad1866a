// The input that the SDK makes of a call's arguments: it checks and converts them with the schema of the tool.
import { describeIssues, isStandardSchema } from '../tools/standard-schema.ts';

/** A schema as the SDK's own `jsonSchema()` makes it. */
interface SdkSchema {
  readonly validate?: (value: unknown) => PromiseLike<Validated> | Validated;
}

type Validated =
  | { readonly success: true; readonly value: unknown }
  | { readonly success: false; readonly error: unknown };

/** Throws for arguments that the schema refuses: the SDK runs no call with them. */
export async function readInput(schema: unknown, args: unknown): Promise<unknown> {
  if (isStandardSchema(schema)) {
    const read = await schema['~standard'].validate(args);
    if (read.issues !== undefined) throw new TypeError(describeIssues(read.issues));
    return read.value;
  }
  // The SDK takes a schema that is made when it is first needed.
  if (typeof schema === 'function') return await readInput((schema as () => unknown)(), args);
  const { validate } = (schema ?? {}) as SdkSchema;
  const read = await validate?.(args);
  if (read === undefined) return args;
  if (!read.success) throw read.error;
  return read.value;
}
