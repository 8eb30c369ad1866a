// Executors together with one whose tools change while the bridge runs, as servers come and go. Every request for leases names
// the tools that there are then.
import type { Executor, Executors } from './executors.ts';

/** A tool of `fixed` is run by it, also when `changing` lists it too. */
export function withChangingTools(fixed: Executors, changing: Executor): Executors {
  const runs = (toolId: string): boolean =>
    changing.tools.some((pattern) =>
      pattern.endsWith('*') ? toolId.startsWith(pattern.slice(0, -1)) : pattern === toolId,
    );
  return {
    ...fixed,
    get tools() {
      return [...new Set([...fixed.tools, ...changing.tools])].sort();
    },
    find: (toolId) => fixed.find(toolId) ?? (runs(toolId) ? changing : null),
  };
}
