// Lists the tools of a server, bounded in pages, tools, size and time, and turns them into tools of a toolset. A tool that cannot
// be used is left out with a reason, and the others stay. A listing that cannot be finished throws: then the one before holds.
import type { Client } from '@modelcontextprotocol/client';
import { isLeft } from 'fp-ts/lib/Either.js';
import type { ToolId } from '../../schemas/ids.ts';
import {
  MCP_CURSOR_CHARS_MAX,
  MCP_LIST_CHARS_MAX,
  MCP_LIST_MS_MAX,
  MCP_LIST_PAGES_MAX,
  MCP_LIST_TOOLS_MAX,
  MCP_TOOLSET_CHARS_MAX,
  MCP_TOOLSET_VALUES_MAX,
  MCP_TTL_MS_MAX,
  MCP_TTL_MS_MIN,
  TOOLS_MAX,
} from '../../schemas/limits.ts';
import type { BridgeClock } from '../../src/clock.ts';
import { type LeftOut, type McpSource, type McpTool, mcpTool } from '../../src/toolsets/mcp-tools.ts';
import { rawOf } from './raw-results.ts';
import type { SchemaThread } from './schema-thread.ts';
import { ServerFault } from './stdio-transport.ts';

export interface Listing {
  /** By id, in the order of the server. */
  readonly tools: ReadonlyMap<ToolId, McpTool>;
  readonly leftOut: readonly LeftOut[];
  /** How long it is trusted, in milliseconds; null until the server announces a change. */
  readonly ttlMs: number | null;
}

interface ListingPorts {
  readonly clock: BridgeClock;
  readonly schemas: SchemaThread;
  readonly signal: AbortSignal;
  /** Replaces secrets in what the server says. */
  readonly redact: (said: unknown) => unknown;
}

export async function listTools(client: Client, source: McpSource, ports: ListingPorts): Promise<Listing> {
  const { said, ttlMs } = await readPages(client, ports);
  const listed = said.slice(0, MCP_LIST_TOOLS_MAX).map((tool) => mcpTool(source, ports.redact(tool)));
  const tools = new Map<ToolId, McpTool>();
  const leftOut: LeftOut[] = [];
  const beyond = said.length - listed.length;
  const size = { chars: 0, values: 0 };
  const names = new Set<string>();
  for (const one of listed) {
    const reason = isLeft(one) ? one.left.reason : await refusal(one.right, { tools, names, size, ports });
    if (isLeft(one) || reason !== null)
      leftOut.push({ name: isLeft(one) ? one.left.name : one.right.name, reason: reason ?? '' });
    else {
      tools.set(one.right.spec.tool_id, one.right);
      names.add(one.right.spec.tool_name);
    }
  }
  if (beyond > 0) leftOut.push({ name: '', reason: `${beyond} tools are beyond the first ${MCP_LIST_TOOLS_MAX}` });
  return { tools, leftOut, ttlMs };
}

interface Admission {
  readonly tools: ReadonlyMap<ToolId, McpTool>;
  readonly names: ReadonlySet<string>;
  readonly size: { chars: number; values: number };
  readonly ports: ListingPorts;
}

/** Why a tool is not used besides those that are; null when it is. */
async function refusal(
  { spec, definition, outputSchema }: McpTool,
  { tools, names, size, ports }: Admission,
): Promise<string | null> {
  if (tools.has(spec.tool_id) || names.has(spec.tool_name)) return 'another tool of the server has its name';
  if (tools.size === TOOLS_MAX) return `it is beyond ${TOOLS_MAX} tools of one server`;
  const text = JSON.stringify(spec);
  // The definition is reported beside the spec, as a text or as a blob with its beginning and its end.
  const chars = size.chars + text.length + Math.min(definition.length * 2, 2_048);
  const values = size.values + (text.match(/[,[{]/g)?.length ?? 0) + (definition.match(/[,[{]/g)?.length ?? 0);
  if (chars > MCP_TOOLSET_CHARS_MAX || values > MCP_TOOLSET_VALUES_MAX)
    return 'the tools before it take the room of one toolset';
  for (const schema of [spec.input_schema, outputSchema]) {
    const fault = schema === null ? null : await ports.schemas.compileFault(schema);
    if (fault !== null) return `a schema of it does not compile: ${fault}`;
  }
  Object.assign(size, { chars, values });
  return null;
}

async function readPages(
  client: Client,
  { clock, signal }: ListingPorts,
): Promise<{ readonly said: readonly unknown[]; readonly ttlMs: number | null }> {
  const endsAtMs = clock.elapsed() + MCP_LIST_MS_MAX;
  const seen = new Set<string>();
  const said: unknown[] = [];
  let cursor: string | null = null;
  let chars = 0;
  let ttlMs: number | null = null;
  for (let page = 0; page < MCP_LIST_PAGES_MAX; page += 1) {
    const timeout = endsAtMs - clock.elapsed();
    if (timeout <= 0) throw new ServerFault(`listing its tools took longer than ${MCP_LIST_MS_MAX} ms`);
    const params = cursor === null ? {} : { cursor };
    const answer = await client.request({ method: 'tools/list', params }, { timeout, signal });
    const raw = rawOf(answer) ?? {};
    const tools = raw['tools'];
    if (!Array.isArray(tools)) throw new ServerFault('its list of tools is no list');
    chars += JSON.stringify(tools).length;
    if (chars > MCP_LIST_CHARS_MAX)
      throw new ServerFault(`its list of tools is longer than ${MCP_LIST_CHARS_MAX} characters`);
    for (const tool of tools) said.push(tool);
    ttlMs = shorter(ttlMs, raw['ttlMs']);
    const next: unknown = raw['nextCursor'];
    // An empty cursor is one (MCP 2026-07-28, "Pagination").
    if (next === undefined || next === null) return { said, ttlMs };
    if (typeof next !== 'string' || next.length > MCP_CURSOR_CHARS_MAX)
      throw new ServerFault('its cursor is no text, or too long');
    if (seen.has(next)) throw new ServerFault('its list of tools repeats a cursor, and would not end');
    if (said.length > MCP_LIST_TOOLS_MAX) return { said, ttlMs };
    seen.add(next);
    cursor = next;
  }
  throw new ServerFault(`its list of tools has more than ${MCP_LIST_PAGES_MAX} pages`);
}

function shorter(before: number | null, said: unknown): number | null {
  if (typeof said !== 'number' || !Number.isFinite(said) || said <= 0) return before;
  const ms = Math.min(Math.max(said, MCP_TTL_MS_MIN), MCP_TTL_MS_MAX);
  return before === null ? ms : Math.min(before, ms);
}
