// Tool modes: what kind of effect a call may have, which decides its consent (Steerable Tools Spec, "ToolMode"; the rules
// for unmatched and namespaced names: docs/design.md, "Settled questions").
import { type TypeOf, oneOf } from './codec.ts';

export const ToolMode = oneOf('ToolMode', ['read', 'safe_write', 'destructive', 'local', 'external']);
export type ToolMode = TypeOf<typeof ToolMode>;

/** The first match wins. A prefix is followed by `_` or `-`; case is ignored. */
export const TOOL_MODE_PREFIXES: readonly (readonly [ToolMode, readonly string[]])[] = [
  ['read', ['get', 'list', 'read', 'search']],
  ['safe_write', ['create', 'update', 'add', 'set', 'write', 'apply']],
  ['destructive', ['delete', 'remove', 'archive', 'drop', 'destroy', 'purge']],
  ['local', ['local', 'shell', 'exec']],
];

/**
 * The mode that the name of a tool suggests; `unmatched` when it suggests none (`external` for tools of servers and
 * people, `local` for tools of the host, never `read`). Namespaces before `.`, `__`, `/` or `:` are ignored.
 */
export function inferToolMode(name: string, unmatched: ToolMode = 'external'): ToolMode {
  const segment = (name.split(/\.|__|\/|:/).findLast((part) => part !== '') ?? '').toLowerCase();
  const found = TOOL_MODE_PREFIXES.find(([, prefixes]) =>
    prefixes.some((prefix) => segment.startsWith(`${prefix}_`) || segment.startsWith(`${prefix}-`)),
  );
  return found?.[0] ?? unmatched;
}
