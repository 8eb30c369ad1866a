// Checks arguments and results against a tool's JSON Schemas, at the edge, before the event is recorded
// (docs/design.md, "Settled questions"). The verdict is a fact in the event: another version of the validator changes no
// recorded session. A check whose cost is known to be small is made at once, every other one on another thread.
import { createRequire } from 'node:module';
import { digestText } from '../../../schemas/canonical.ts';
import type { Json, JsonObject } from '../../../schemas/json.ts';
import {
  SCHEMA_CHECK_MS_MAX,
  SCHEMA_CHECK_MS_MIN,
  SCHEMA_STEPS_INLINE_MAX,
  SCHEMA_VALUES_INLINE_MAX,
  TOOLS_MAX,
} from '../../../schemas/limits.ts';
import type { SchemaVerdict } from '../../../schemas/tool-call.ts';
import type { ToolSpec } from '../../../schemas/tool-spec.ts';
import type { RequestBudget } from './budget.ts';
import { isEndlessReference } from './endless-reference.ts';
import { type SchemaFault, type Validator, newCompiler } from './schema-compile.ts';
import { isCountable, valuesIn } from './schema-steps.ts';
import { type NumberedSchema, type ThreadAnswer, checkThread } from './schema-thread.ts';

export type SchemaCheck = (
  tool: ToolSpec,
  value: Json,
  budget: RequestBudget,
) => SchemaVerdict | Promise<SchemaVerdict>;

/** The verdicts on values of one schema. */
type Check = (value: Json, budget: RequestBudget) => SchemaVerdict | Promise<SchemaVerdict>;

/**
 * A checker that compiles each definition once. A schema that cannot be compiled checks nothing, and the verdict states that.
 * A check that takes too long rejects the value: the author of a value must not be able to skip its check.
 */
export function newSchemaCheck(
  schemaOf: (tool: ToolSpec) => JsonObject = ({ input_schema }) => input_schema,
): SchemaCheck {
  const checks = new Map<string, Check>();

  function checkOf(tool: ToolSpec): Check {
    const known = checks.get(tool.tool_ref);
    if (known !== undefined) return known;
    if (checks.size >= TOOLS_MAX) checks.clear();
    const made = newCheck(schemaOf(tool));
    checks.set(tool.tool_ref, made);
    return made;
  }

  return (tool, value, budget) => checkOf(tool)(value, budget);
}

/** The verdict on one value of a schema that belongs to no tool. */
export const checkOnce = (
  schema: JsonObject,
  value: Json,
  budget: RequestBudget,
): SchemaVerdict | Promise<SchemaVerdict> => newCheck(schema)(value, budget);

function newCheck(schema: JsonObject): Check {
  const values = valuesIn(schema, SCHEMA_VALUES_INLINE_MAX);
  const late = newThreadCheck(schema);
  if (values > SCHEMA_VALUES_INLINE_MAX) return late;
  if (!isCountable(schema)) {
    // Whether it compiles does not depend on the time that the other thread takes.
    let compiles: boolean | null = null;
    return (value, budget) => {
      compiles ??= !isEndlessReference(schema) && typeof compile(schema) !== 'string';
      return compiles ? late(value, budget) : NOT_CHECKED;
    };
  }
  let validate: Validator | string | null = null;
  return (value, budget) => {
    const most = Math.min(SCHEMA_STEPS_INLINE_MAX, budget.schemaSteps);
    const steps = values * valuesIn(value, most / values);
    if (steps > most) return late(value, budget);
    budget.schemaSteps -= steps;
    validate ??= compile(schema);
    return typeof validate === 'string' ? NOT_CHECKED : verdictOf(validate(value));
  };
}

let schemas = 0;

/** Checks on the other thread. Each check that takes too long halves the time of the next one against its schema. */
function newThreadCheck(schema: JsonObject): Check {
  schemas += 1;
  const numbered = { number: schemas, text: '', slow: false };
  let msMax = SCHEMA_CHECK_MS_MAX;
  return async (value, budget) => {
    if (numbered.text === '') numbered.text = JSON.stringify(schema);
    const { found, ms } = await checkElsewhere(numbered, JSON.stringify(value), msMax, budget);
    if (found === 'crowded') return TOO_MANY;
    numbered.slow = found === 'late';
    if (found === 'uncompiled') return NOT_CHECKED;
    if (found !== 'late') return verdictOf(found);
    if (ms >= msMax) msMax = Math.max(SCHEMA_CHECK_MS_MIN, msMax >> 1);
    return TOO_LONG;
  };
}

/** The answer of the other thread, within the budget of the request. */
async function checkElsewhere(
  schema: NumberedSchema,
  value: string,
  msMax: number,
  budget: RequestBudget,
): Promise<ThreadAnswer> {
  const key = digestText(`${schema.text}\n${value}`);
  const begun = budget.begun.get(key) ?? checkThread.check(schema, value, () => Math.min(msMax, budget.schemaMs));
  budget.begun.set(key, begun);
  const answer = await budget.wait(begun);
  budget.schemaMs -= answer.ms;
  return answer;
}

// ajv is seventy modules and takes about 40 ms to load, so it is loaded for the first check.
const compile = newCompiler(createRequire(import.meta.url));

/** Why a schema does not compile, and so checks nothing; null when it compiles. */
export function schemaFault(schema: JsonObject): string | null {
  const compiled = compile(schema);
  return typeof compiled === 'string' ? clipVerdict(compiled) : null;
}

/**
 * Why a schema gives no verdict; null when it does. One whose cost is not known to be small is tried on the other thread,
 * where a reference to itself without end shows. One that takes too long there is judged with each value.
 */
export async function findCompileFault(schema: JsonObject, budget: RequestBudget): Promise<string | null> {
  if (isEndlessReference(schema)) return ENDLESS;
  if (valuesIn(schema, SCHEMA_VALUES_INLINE_MAX) <= SCHEMA_VALUES_INLINE_MAX) {
    const fault = schemaFault(schema);
    if (fault !== null || isCountable(schema)) return fault;
  }
  schemas += 1;
  const numbered = { number: schemas, text: JSON.stringify(schema), slow: false };
  const { found } = await checkElsewhere(numbered, '{}', SCHEMA_CHECK_MS_MAX, budget);
  if (found !== 'uncompiled') return null;
  return schemaFault(schema) ?? ENDLESS;
}

const ENDLESS = 'it refers to itself without end';

const NOT_CHECKED: SchemaVerdict = { valid: true, message: 'not checked: the schema does not compile' };

const TOO_LONG: SchemaVerdict = {
  valid: false,
  path: '',
  message: 'checking it against the schema takes too long; send less, or simpler values',
};

const TOO_MANY: SchemaVerdict = {
  valid: false,
  path: '',
  message: 'it was not checked, because too many checks of other sessions wait; make the same call again',
};

/** Whether a verdict says that the value does not fit, and not that there was no time to find out. */
export const isMisfit = (verdict: SchemaVerdict): boolean =>
  !verdict.valid && verdict !== TOO_LONG && verdict !== TOO_MANY;

function verdictOf(fault: SchemaFault | null): SchemaVerdict {
  if (fault === null) return { valid: true };
  const { instancePath, message, keyword, params } = fault;
  const extra = keyword === 'additionalProperties' ? ` (${String(params['additionalProperty'])})` : '';
  return {
    valid: false,
    path: clipVerdict(instancePath),
    message: clipVerdict(`${message ?? 'it does not fit the schema'}${extra}`),
  };
}

/** Bounds the text of a verdict: paths and messages repeat what a model wrote, at any length. */
export const clipVerdict = (text: string): string => text.slice(0, 1_000).toWellFormed();
