// The headers that a tool wants beside its arguments (MCP 2026-07-28, "x-mcp-header"): a client copies an argument into a header of
// the request. A tool that says so wrongly must not be used: what stands between client and server would read something else.
import { type Json, type JsonObject, isPlainObject } from '../../schemas/json.ts';

const HEADER = 'x-mcp-header';

/** Why the schema of the arguments cannot be used; null when it can. */
export const mcpHeaderFault = (schema: JsonObject): string | null => faultAt(schema, 'root', new Set());

/** Only what `properties` alone lead to is in one place of every call. */
type Place = 'root' | 'argument' | 'elsewhere';

/** `names`: those of the headers so far, in lower case. */
function faultAt(schema: Json, place: Place, names: Set<string>): string | null {
  if (Array.isArray(schema)) return firstFault(schema, 'elsewhere', names);
  if (!isPlainObject(schema)) return null;
  const declared = HEADER in schema ? declarationFault(schema, place, names) : null;
  if (declared !== null) return declared;
  for (const [keyword, inner] of Object.entries(schema)) {
    if (VALUES.has(keyword)) continue;
    const below = keyword === 'properties' && place !== 'elsewhere' ? 'argument' : 'elsewhere';
    // The keys of such an object are names, and no keywords.
    const schemas = NAMED.has(keyword) && isPlainObject(inner) ? Object.values(inner) : [inner];
    const fault = firstFault(schemas, below, names);
    if (fault !== null) return fault;
  }
  return null;
}

function firstFault(schemas: readonly Json[], place: Place, names: Set<string>): string | null {
  for (const schema of schemas) {
    const fault = faultAt(schema, place, names);
    if (fault !== null) return fault;
  }
  return null;
}

function declarationFault({ [HEADER]: name, type }: JsonObject, place: Place, names: Set<string>): string | null {
  if (typeof name !== 'string' || !TOKEN.test(name)) return `has an ${HEADER} that cannot name a header`;
  if (place !== 'argument') return `has the ${HEADER} ${name} where not every call has an argument`;
  if (typeof type !== 'string' || !TYPES.has(type))
    return `has the ${HEADER} ${name} at an argument that is no string, integer or boolean`;
  if (names.has(name.toLowerCase())) return `has the ${HEADER} ${name} twice`;
  names.add(name.toLowerCase());
  return null;
}

/** RFC 9110, section 5.6.2. */
const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/;
const TYPES: ReadonlySet<string> = new Set(['string', 'integer', 'boolean']);
/** Keywords whose values are no schemas. */
const VALUES: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'examples']);
const NAMED: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
]);
