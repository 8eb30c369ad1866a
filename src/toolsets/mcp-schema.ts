// What a schema of an MCP server must be for its tool to be used: an object of bounded size, of a dialect that is checked, which
// refers to nothing outside itself. Whether it compiles is found elsewhere, within a time.
import { type Json, type JsonObject, isPlainObject } from '../../schemas/json.ts';
import { MCP_SCHEMA_CHARS_MAX, MCP_SCHEMA_DEPTH_MAX, MCP_SCHEMA_VALUES_MAX } from '../../schemas/limits.ts';

/** Why the schema cannot be used; null when it can. */
export function mcpSchemaFault(schema: unknown): string | null {
  if (!isPlainObject(schema)) return 'is not an object';
  const { $schema: dialect } = schema;
  if (dialect !== undefined && !(typeof dialect === 'string' && DIALECTS.test(dialect)))
    return 'has a $schema that is not supported; JSON Schema 2020-12 is, and drafts 4 to 7';
  const walk: Walk = { values: 0, chars: 0 };
  return faultIn(schema as JsonObject, 1, walk) ?? null;
}

const DIALECTS = /^https?:\/\/json-schema\.org\/(draft\/2020-12|draft-0[4-7])\/schema#?$/;

interface Walk {
  values: number;
  chars: number;
}

function faultIn(value: Json, depth: number, walk: Walk): string | null {
  walk.values += 1;
  walk.chars += typeof value === 'string' ? value.length + 2 : 8;
  if (walk.values > MCP_SCHEMA_VALUES_MAX) return `has more than ${MCP_SCHEMA_VALUES_MAX} values`;
  if (walk.chars > MCP_SCHEMA_CHARS_MAX) return `is longer than ${MCP_SCHEMA_CHARS_MAX} characters`;
  if (typeof value !== 'object' || value === null) return null;
  if (depth > MCP_SCHEMA_DEPTH_MAX) return `is deeper than ${MCP_SCHEMA_DEPTH_MAX} levels`;
  if (Array.isArray(value)) {
    for (const item of value as readonly Json[]) {
      const fault = faultIn(item, depth + 1, walk);
      if (fault !== null) return fault;
    }
    return null;
  }
  for (const [key, inner] of Object.entries(value)) {
    walk.chars += key.length + 4;
    const fault = faultOfKeyword(key, inner) ?? faultIn(inner, depth + 1, walk);
    if (fault !== null) return fault;
  }
  return null;
}

/** Also where the keyword is the name of a property: a schema that describes one has no text there. */
function faultOfKeyword(key: string, value: Json): string | null {
  if (key === '$async' && value === true) return 'is asynchronous';
  const isOutside = REFERENCES.has(key) && typeof value === 'string' && !value.startsWith('#');
  return isOutside ? `has a ${key} to ${JSON.stringify(value.slice(0, 80))}, outside of itself` : null;
}

const REFERENCES: ReadonlySet<string> = new Set(['$ref', '$dynamicRef', '$recursiveRef']);
