// The planner by its definition (docs/design.md, "The planner"): every pair of calls is compared, levels and reachability
// follow from the pairs, and an edge is kept when no other predecessor comes after it. O(n²) pairs, O(n³) bits. It shares
// no code with the planner it checks, not even the claims of arguments and the rule of conflicts.
import type { Claim, EffectiveToolSet, Json, JsonObject, ToolCallObserved, ToolSpec } from '../../schemas/index.ts';

export interface ReferencePlan {
  readonly planned: readonly string[];
  /** `index code` of every rejected call. */
  readonly rejected: readonly string[];
  readonly groups: readonly (readonly string[])[];
  readonly after: Readonly<Record<string, readonly string[]>>;
}

/** One call as the scheduler sees it. */
export interface ClaimedCall {
  readonly parallelSafe: boolean;
  readonly claims: readonly Claim[];
}

/** `conflicts[j]`: the earlier calls that call j conflicts with, ascending. */
export function conflictsOf(calls: readonly ClaimedCall[]): readonly (readonly number[])[] {
  return calls.map((later, j) => calls.slice(0, j).flatMap((earlier, i) => (conflict(earlier, later) ? [i] : [])));
}

const conflict = (a: ClaimedCall, b: ClaimedCall): boolean =>
  !a.parallelSafe ||
  !b.parallelSafe ||
  a.claims.some((x) => b.claims.some((y) => (x.access === 'write' || y.access === 'write') && overlap(x.key, y.key)));

/** One key equals the other or is above it, compared segment by segment. */
function overlap(x: string, y: string): boolean {
  const [short, long] = [x.split('/'), y.split('/')].sort((a, b) => a.length - b.length) as [string[], string[]];
  return short.every((segment, index) => segment === long[index]);
}

/** 1 + the highest level of the earlier calls in conflict; 0 without any. */
export function levelsOf(conflicts: readonly (readonly number[])[]): readonly number[] {
  const levels: number[] = [];
  for (const earlier of conflicts) levels.push(Math.max(-1, ...earlier.map((i) => levels[i] as number)) + 1);
  return levels;
}

/** `reach[j]`: every call that must settle before j may start. */
export function reachOf(edges: readonly (readonly number[])[]): readonly ReadonlySet<number>[] {
  const reach: Set<number>[] = [];
  for (const earlier of edges) {
    reach.push(new Set(earlier.flatMap((i) => [i, ...(reach[i] as Set<number>)])));
  }
  return reach;
}

/** The transitive reduction: a conflict is an edge unless another one already comes after it. */
export function reductionOf(conflicts: readonly (readonly number[])[]): readonly (readonly number[])[] {
  const reach = reachOf(conflicts);
  return conflicts.map((earlier) =>
    earlier.filter((i) => !earlier.some((k) => k !== i && (reach[k] as ReadonlySet<number>).has(i))),
  );
}

export function referencePlan(
  tools: EffectiveToolSet,
  calls: readonly ToolCallObserved[],
  offer: EffectiveToolSet | null = null,
): ReferencePlan {
  const rejected: string[] = [];
  const planned: { readonly id: string; readonly claimed: ClaimedCall }[] = [];
  for (const [index, call] of calls.entries()) {
    const twice = calls.slice(0, index).some((earlier) => earlier.call_id === call.call_id);
    const code = twice ? 'duplicate_call_id' : refusalOf(tools, call, offer);
    if (code !== null) {
      rejected.push(`${index} ${code}`);
      continue;
    }
    const tool = tools.ordered_tools.find((entry) => entry.tool_name === call.tool_name) as ToolSpec;
    const claims = referenceClaims(tool, call.arguments);
    planned.push({ id: call.call_id, claimed: { parallelSafe: tool.parallelism_hint.parallel_safe, claims } });
  }
  const ids = planned.map(({ id }) => id);
  const conflicts = conflictsOf(planned.map(({ claimed }) => claimed));
  const levels = levelsOf(conflicts);
  const groups: string[][] = [];
  for (const [index, level] of levels.entries()) (groups[level] ??= []).push(ids[index] as string);
  const after = reductionOf(conflicts).map(
    (edges, index) => [ids[index] as string, edges.map((i) => ids[i] as string)] as const,
  );
  return { planned: ids, rejected, groups, after: Object.fromEntries(after) };
}

function refusalOf(tools: EffectiveToolSet, call: ToolCallObserved, offer: EffectiveToolSet | null): string | null {
  const verdict = tools.verdicts.find((entry) => entry.tool_name === call.tool_name);
  if (verdict === undefined) return 'tool_unknown';
  const tool = tools.ordered_tools.find((entry) => entry.tool_name === call.tool_name);
  if (tool === undefined) {
    if (verdict.reasons.some((reason) => reason.startsWith('disabled'))) return 'tool_disabled';
    return verdict.reasons.includes('not_in_profile') ? 'tool_not_offered' : 'tool_unavailable';
  }
  const offered = offer === null || offer.ordered_tools.some((entry) => entry.tool_ref === tool.tool_ref);
  if (!offered) return 'tool_not_offered';
  const unread = call.arguments === undefined && call.arguments_text !== undefined;
  if (unread || call.arguments_verdict?.valid === false) return 'tool_invalid_args';
  return tool.executor.kind === 'workflow' ? 'executor_unsupported' : null;
}

/** The claims of a call, from its arguments: never less than it may touch. */
function referenceClaims(tool: ToolSpec, args: JsonObject | undefined): readonly Claim[] {
  const { claims, resource_key } = tool.parallelism_hint;
  if (claims === undefined) return resource_key === undefined ? [] : [{ key: resource_key, access: 'write' }];
  return claims.flatMap(({ space, argument, form, access }) => {
    const value: Json | undefined = args?.[argument];
    const below = typeof value === 'string' ? keysBelow(form, value) : null;
    const keys = below === null ? [space] : below.map((key) => (key === '' ? space : `${space}/${key}`));
    return keys.map((key) => ({ key, access }));
  });
}

/** The keys that an argument names below its space; null when they cannot be determined. */
function keysBelow(form: 'path' | 'patch' | 'text', value: string): readonly string[] | null {
  if (value === '') return null;
  if (form === 'text') return [encodeURIComponent(value)];
  const paths =
    form === 'path' ? [value] : [...value.matchAll(/^\*\*\* (?:\w+ File|Move to): (.*)$/gmu)].map(([, p]) => p);
  const keys = paths.map((path) => workspaceKey(path as string));
  return keys.length === 0 || keys.includes(null) ? null : (keys as string[]);
}

function workspaceKey(path: string): string | null {
  if (!/^[ -[\]-~]*$/u.test(path) || path.startsWith('/')) return null;
  const kept: string[] = [];
  for (const part of path.split('/').filter((entry) => entry !== '' && entry !== '.')) {
    if (part !== '..') kept.push(part);
    else if (kept.pop() === undefined) return null;
  }
  return kept.join('/');
}
