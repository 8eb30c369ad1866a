// Checks arguments and results against a tool's JSON Schemas, at the edge, before the event is recorded
// (docs/design.md, "Settled questions"). The verdict is a fact in the event: another version of the validator changes no
// recorded session.
import { createRequire } from 'node:module';
import type * as Draft7 from 'ajv';
import type { Ajv, ErrorObject, Options } from 'ajv';
import type * as Draft2020 from 'ajv/dist/2020.js';
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { type Json, type JsonObject, isPlainObject } from '../../../schemas/json.ts';
import { SCHEMA_CHECK_MS_MAX, SCHEMA_CHECK_MS_MIN, TOOLS_MAX } from '../../../schemas/limits.ts';
import type { SchemaVerdict } from '../../../schemas/tool-call.ts';
import type { ToolSpec } from '../../../schemas/tool-spec.ts';
import { runWithTimeout } from './run-with-timeout.ts';

export type SchemaCheck = (tool: ToolSpec, value: Json) => SchemaVerdict;

/** The first fault, or null. */
type Validator = (value: Json) => ErrorObject | null;

/**
 * A checker that compiles each definition once. A schema that cannot be compiled checks nothing, and the verdict states that.
 * A check that times out rejects the value: the author of a value must not be able to skip its check.
 */
export function newSchemaCheck(
  schemaOf: (tool: ToolSpec) => JsonObject = ({ input_schema }) => input_schema,
): SchemaCheck {
  const compiled = new Map<string, Validator | null>();

  function validatorOf(tool: ToolSpec): Validator | null {
    const known = compiled.get(tool.tool_ref);
    if (known !== undefined) return known;
    if (compiled.size >= TOOLS_MAX) compiled.clear();
    const made = bounded(schemaOf(tool));
    compiled.set(tool.tool_ref, made);
    return made;
  }

  return (tool, value) => {
    const validate = validatorOf(tool);
    if (validate === null) return NOT_CHECKED;
    let error: ErrorObject | null;
    try {
      error = validate(value);
    } catch {
      // The stack overflows when the schema refers to itself without end.
      return NOT_CHECKED;
    }
    return error === null ? { valid: true } : verdictOf(error);
  };
}

/** Checks under a timeout when the schema may take long. Each timeout halves the time of the next check. */
function bounded(schema: JsonObject): Validator | null {
  const compiled = compile(schema);
  if (isLeft(compiled)) return null;
  const validate = compiled.right;
  if (!mayTakeLong(schema)) return validate;
  let timeoutMs = SCHEMA_CHECK_MS_MAX;
  return (value) => {
    // Tried twice: a process that was suspended during the check used less time than passed.
    const found = runWithTimeout(timeoutMs, () => validate(value)) ?? runWithTimeout(timeoutMs, () => validate(value));
    if (found !== null) return found.value;
    timeoutMs = Math.max(SCHEMA_CHECK_MS_MIN, timeoutMs >> 1);
    return TOO_LONG;
  };
}

/** Keywords with which a check can take longer than in proportion to schema and value. */
const COSTLY: ReadonlySet<string> = new Set([
  'pattern',
  'patternProperties',
  'uniqueItems',
  '$ref',
  '$dynamicRef',
  '$recursiveRef',
]);

/** Keywords whose value is an object of named schemas. */
const NAMED: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions', 'dependentSchemas']);

function mayTakeLong(schema: Json): boolean {
  if (Array.isArray(schema)) return schema.some(mayTakeLong);
  if (!isPlainObject(schema)) return false;
  return Object.entries(schema).some(([name, part]) => {
    if (COSTLY.has(name)) return true;
    return NAMED.has(name) && isPlainObject(part) ? Object.values(part).some(mayTakeLong) : mayTakeLong(part);
  });
}

const NOT_CHECKED: SchemaVerdict = { valid: true, message: 'not checked: the schema does not compile' };

// Compiling the meta-schema takes 40 ms for each validator, and a definition that is not a schema fails to compile even
// without it.
const OPTIONS: Options = {
  strict: false,
  allErrors: false,
  validateFormats: false,
  validateSchema: false,
  meta: false,
  logger: false,
};

/** Why a schema does not compile, and so checks nothing; null when it compiles. */
export function schemaFault(schema: JsonObject): string | null {
  const compiled = compile(schema);
  return isLeft(compiled) ? clipVerdict(compiled.left) : null;
}

// One validator for each definition: schemas of different authors may use the same `$id` for different things.
function compile(schema: JsonObject): Either<string, Validator> {
  const { $schema: draft, $id: _id, ...rest } = schema;
  try {
    const validate = newAjv(isOldDraft(draft)).compile(rest);
    // An asynchronous schema returns a promise, which is no verdict.
    if ('$async' in validate) return left('an asynchronous schema gives no verdict');
    return right((value) => (validate(value) ? null : (validate.errors?.[0] ?? UNNAMED)));
  } catch (error) {
    return left(error instanceof Error ? error.message : String(error));
  }
}

const require = createRequire(import.meta.url);

// ajv is seventy modules and takes about 40 ms to load, so it is loaded for the first check.
function newAjv(forOldDraft: boolean): Pick<Ajv, 'compile'> {
  if (forOldDraft) return new (require('ajv') as typeof Draft7).Ajv(OPTIONS);
  return new (require('ajv/dist/2020.js') as typeof Draft2020).Ajv2020(OPTIONS);
}

const isOldDraft = (draft: unknown): boolean => typeof draft === 'string' && /draft-0[4-7]/.test(draft);

const TOO_LONG: ErrorObject = {
  instancePath: '',
  keyword: '',
  schemaPath: '',
  params: {},
  message: 'checking it against the schema takes too long; send less, or simpler values',
};

const UNNAMED = { instancePath: '', keyword: '', schemaPath: '', params: {} } satisfies ErrorObject;

function verdictOf({ instancePath, message, keyword, params }: ErrorObject): SchemaVerdict {
  const extra = keyword === 'additionalProperties' ? ` (${String(params['additionalProperty'])})` : '';
  return {
    valid: false,
    path: clipVerdict(instancePath),
    message: clipVerdict(`${message ?? 'it does not fit the schema'}${extra}`),
  };
}

/** Bounds the text of a verdict: paths and messages repeat what a model wrote, at any length. */
export const clipVerdict = (text: string): string => text.slice(0, 1_000).toWellFormed();
