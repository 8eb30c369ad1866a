// Tool modes: what a call may do to the world, and so how it is consented to (Steerable Tools Spec, "ToolMode";
// DESIGN section 8, "unmatched names" and "namespaced names").
import { type TypeOf, oneOf } from './codec.ts';

export const ToolMode = oneOf('ToolMode', ['read', 'safe_write', 'destructive', 'local', 'external']);
export type ToolMode = TypeOf<typeof ToolMode>;

/** First match wins. Prefixes are followed by `_` or `-`, in any case. */
export const TOOL_MODE_PREFIXES: readonly (readonly [ToolMode, readonly string[]])[] = [
  ['read', ['get', 'list', 'read', 'search']],
  ['safe_write', ['create', 'update', 'add', 'set', 'write', 'apply']],
  ['destructive', ['delete', 'remove', 'archive', 'drop', 'destroy', 'purge']],
  ['local', ['local', 'shell', 'exec']],
];

/**
 * The mode a tool's name suggests; `unmatched` when it suggests none (`external` for tools of servers and people,
 * `local` for tools of the host, never silently `read`). Namespaces before `.`, `__`, `/` or `:` are ignored.
 */
export function inferToolMode(name: string, unmatched: ToolMode = 'external'): ToolMode {
  const segment = (name.split(/\.|__|\/|:/).findLast((part) => part !== '') ?? '').toLowerCase();
  const found = TOOL_MODE_PREFIXES.find(([, prefixes]) =>
    prefixes.some((prefix) => segment.startsWith(`${prefix}_`) || segment.startsWith(`${prefix}-`)),
  );
  return found?.[0] ?? unmatched;
}
