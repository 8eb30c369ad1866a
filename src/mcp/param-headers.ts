// Arguments that a host repeats in headers, for those between (MCP 2026-07-28, "Standard headers": `x-mcp-header`). What a header
// says must be what the body says: else one that decides by the header would let through what the engine runs.
import type { Json, JsonObject } from '../../schemas/json.ts';
import { isPlainObject } from '../../schemas/json.ts';
import type { ToolSpec } from '../../schemas/tool-spec.ts';

/** Why the headers do not fit the call in the body; null when they do, and for every other request. */
export function findHeaderFault(
  headers: Headers,
  body: Json | undefined,
  specOf: (tool: string) => Pick<ToolSpec, 'input_schema'> | undefined,
): string | null {
  if (!isPlainObject(body) || body['method'] !== 'tools/call' || !isPlainObject(body['params'])) return null;
  const { name, arguments: args } = body['params'];
  const spec = typeof name === 'string' ? specOf(name) : undefined;
  if (spec === undefined) return null;
  for (const [path, header] of declaredIn(spec.input_schema)) {
    const fault = faultOf(headers.get(`mcp-param-${header}`), valueAt(args, path));
    if (fault !== null) return `Mcp-Param-${header}: ${fault}`;
  }
  return null;
}

/** The fields that name a header, with their paths: of objects in objects only. */
function declaredIn(schema: JsonObject, path: readonly string[] = []): [path: readonly string[], header: string][] {
  const { properties } = schema;
  if (!isPlainObject(properties) || path.length >= FIELD_DEPTH_MAX) return [];
  return Object.entries(properties).flatMap(([name, field]) => {
    if (!isPlainObject(field)) return [];
    const header = field['x-mcp-header'];
    const own: [readonly string[], string][] =
      typeof header === 'string' && TOKEN.test(header) ? [[[...path, name], header]] : [];
    return [...own, ...declaredIn(field, [...path, name])];
  });
}

/** How deep fields with headers may lie; deeper ones have none. */
const FIELD_DEPTH_MAX = 8;

// RFC 9110, section 5.6.2.
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

const valueAt = (args: unknown, path: readonly string[]): unknown =>
  path.reduce((value, name) => (isPlainObject(value) && Object.hasOwn(value, name) ? value[name] : undefined), args);

function faultOf(header: string | null, value: unknown): string | null {
  const isGiven = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  if (header === null) return isGiven ? 'the header is missing, and the body has the argument' : null;
  if (!isGiven) return 'the body lacks the argument';
  const said = decoded(header);
  if (said === null) return 'the value is not Base64';
  return said === String(value) ? null : 'the header and the body differ';
}

/** The value of a header, which may be wrapped; null when the wrapped part is no Base64 of UTF-8 (RFC 4648, section 4). */
function decoded(header: string): string | null {
  const wrapped = /^=\?base64\?(.*)\?=$/i.exec(header)?.[1];
  if (wrapped === undefined) return header;
  const bytes = Buffer.from(wrapped, 'base64');
  if (bytes.toString('base64') !== wrapped) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
