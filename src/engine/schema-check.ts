// Holds a call's arguments against its tool's JSON Schema, at the edge, before the event is recorded (DESIGN section
// 8, "where schemas are checked"). The verdict is a fact in the event: another version of the validator changes no
// recorded session.
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { JsonObject } from '../../schemas/json.ts';
import { TOOLS_MAX } from '../../schemas/limits.ts';
import type { ArgumentsVerdict } from '../../schemas/tool-call.ts';
import type { ToolSpec } from '../../schemas/tool-spec.ts';

export type SchemaCheck = (tool: ToolSpec, args: JsonObject) => ArgumentsVerdict;

/** A checker that compiles each definition once. A schema that cannot be compiled checks nothing, and says so. */
export function newSchemaCheck(): SchemaCheck {
  const ajv = new Ajv2020({ strict: false, allErrors: false, validateFormats: false, logger: false });
  const compiled = new Map<string, ValidateFunction | null>();

  function validatorOf(tool: ToolSpec): ValidateFunction | null {
    const known = compiled.get(tool.tool_ref);
    if (known !== undefined) return known;
    if (compiled.size >= TOOLS_MAX) compiled.clear();
    let made: ValidateFunction | null = null;
    try {
      // Definitions come from anywhere and name any draft; what they say beyond 2020-12 is not checked.
      const { $schema: _draft, $id: _id, ...schema } = tool.input_schema;
      made = ajv.compile(schema);
    } catch {
      made = null;
    }
    compiled.set(tool.tool_ref, made);
    return made;
  }

  return (tool, args) => {
    const validate = validatorOf(tool);
    if (validate === null) return { valid: true, message: 'not checked: the input schema does not compile' };
    if (validate(args)) return { valid: true };
    const error = validate.errors?.[0];
    const extra = error?.keyword === 'additionalProperties' ? ` (${String(error.params['additionalProperty'])})` : '';
    return {
      valid: false,
      path: clip(error?.instancePath ?? ''),
      message: clip(`${error?.message ?? 'they do not fit the schema'}${extra}`),
    };
  };
}

const clip = (text: string): string => text.slice(0, 1_000).toWellFormed();
