// The names of tools of MCP servers: `mcp__<server>__<tool>` for the model, `mcp.<server>.<tool>` as id. A name depends on the
// server and the tool alone, never on what else there is, so it is the same in every listing; two tools never share one.
//
// A name that cannot be written so ends in a digest of the original. So does one that looks as if it did, and one whose server
// cannot be told from its tool: then what was altered never equals what was not.
import { digestText } from '../../schemas/canonical.ts';
import { ToolId, ToolName, brand } from '../../schemas/ids.ts';

/** The name of a server in the ids of its tools; it has no dot, so such an id tells where it ends. */
const SERVER_NAME = /^[a-z0-9][a-z0-9_-]{0,31}$/;
const SERVER_CHARS = 32;

/**
 * The name in ids of what a configuration calls anything: itself where it can be, else what is left of it and a digest. It depends
 * on that text alone, and two of them never share one.
 */
export function mcpServerName(title: string): string {
  if (SERVER_NAME.test(title) && !LOOKS_ALTERED.test(title)) return title;
  const cleaned = title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_');
  const [, digest = ''] = digestText(title).split(':');
  const begun = cleaned
    .replace(/^_/, '')
    .slice(0, SERVER_CHARS - DIGEST_CHARS - 1)
    .replace(/_$/, '');
  return `${begun === '' ? 'server' : begun}_${digest.slice(0, DIGEST_CHARS)}`;
}

/** The toolset of a server. */
export const mcpToolset = (server: string): string => `mcp.${server}`;

/** The name that the model sees: at most 64 of `A-Z a-z 0-9 _ -`. */
export function mcpToolName(server: string, tool: string): ToolName {
  const plain = `mcp__${server}__${tool}`;
  // Only when the server has no `__` and no `_` at its end, the first `__` after the prefix is where it ends.
  const isTold = !server.includes('__') && !server.endsWith('_');
  if (isTold && tool !== '' && ToolName.is(plain) && !LOOKS_ALTERED.test(plain)) return plain;
  return brand<'ToolName'>(altered(plain.replaceAll(/[^A-Za-z0-9_-]+/g, '_'), NAME_CHARS, server, tool));
}

/** The id: at most 128 characters, in dotted segments of `A-Z a-z 0-9 _ -`. */
export function mcpToolId(server: string, tool: string): ToolId {
  const plain = `mcp.${server}.${tool}`;
  if (ToolId.is(plain) && !LOOKS_ALTERED.test(plain)) return plain;
  const cleaned = `mcp.${server}.${tool.replaceAll(/[^A-Za-z0-9_-]+/g, '_')}`;
  return brand<'ToolId'>(altered(cleaned, ID_CHARS, server, tool));
}

/** The tool as an executor names it: the original where that can be printed, else the last part of its id. */
export const mcpExecutorTool = (server: string, tool: string): string =>
  /^[\x21-\x7e]{1,128}$/.test(tool) ? tool : mcpToolId(server, tool).slice(mcpToolset(server).length + 1);

const NAME_CHARS = 64;
const ID_CHARS = 128;

/** 48 bits: a server that makes two of its own names equal has only one of the two tools listed. */
const DIGEST_CHARS = 12;
const LOOKS_ALTERED = /_[0-9a-f]{12}$/;

function altered(text: string, chars: number, server: string, tool: string): string {
  const [, digest = ''] = digestText(JSON.stringify([server, tool])).split(':');
  return `${text.slice(0, chars - DIGEST_CHARS - 1)}_${digest.slice(0, DIGEST_CHARS)}`;
}
