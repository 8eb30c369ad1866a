// Decides whether a call runs without a question, must be confirmed by a person, or is denied (openboa, "Permission
// policies"; Steerable Tools Spec, "ToolMode"). Deny wins over everything (docs/design.md, law 6); the setting for a tool
// wins over that for its mode; a grant answers a question before it is asked.
import { digestJson } from '../schemas/canonical.ts';
import type {
  ConsentPolicy,
  ConsentReason,
  ConsentState,
  Grant,
  GrantScope,
  ToolPermission,
} from '../schemas/consent.ts';
import type { Digest, ToolId } from '../schemas/ids.ts';
import type { JsonObject } from '../schemas/json.ts';
import { GRANT_STEPS_MAX, GRANT_VALUE_CHARS_MAX } from '../schemas/limits.ts';
import { type ToolSpec, toolRunBy } from '../schemas/tool-spec.ts';

export interface ConsentDecision {
  readonly decision: 'allow' | 'ask' | 'deny';
  readonly reasons: readonly ConsentReason[];
}

/** How many steps the patterns of grants may still take; the calls of one batch share it. */
export interface GrantWork {
  steps: number;
}

export const newGrantWork = (): GrantWork => ({ steps: GRANT_STEPS_MAX });

/** `args` is null for arguments in a blob; a grant with a pattern does not match them. */
export function decideConsent(
  consent: ConsentState,
  tool: ToolSpec,
  args: JsonObject | null,
  work: GrantWork = newGrantWork(),
): ConsentDecision {
  const { policy } = consent;
  const permission = permissionOf(policy, tool);
  const byFlag = isDestructiveBeyondMode(tool) ? policy.modes.destructive : 'allow';
  const when = (holds: boolean, reason: ConsentReason): readonly ConsentReason[] => (holds ? [reason] : []);
  const denied = [
    ...when(policy.modes[tool.mode] === 'deny', 'mode_denies'),
    ...when(byFlag === 'deny', 'destructive_denies'),
    ...when(permission === 'deny', 'session_denies'),
  ];
  if (denied.length > 0) return { decision: 'deny', reasons: denied };
  // A workflow is a pure function of state, so there is nothing to ask about.
  if (tool.executor.kind === 'workflow') return { decision: 'allow', reasons: [] };
  const asks = [
    ...when(policy.modes[tool.mode] === 'ask', 'mode_asks'),
    ...when(byFlag === 'ask', 'destructive_asks'),
    ...when(tool.permission_policy === 'always_ask', 'tool_asks'),
    ...when(permission === 'always_ask', 'session_asks'),
  ];
  if (asks.length === 0) return { decision: 'allow', reasons: [] };
  if (permission === 'always_allow') return { decision: 'allow', reasons: [...asks, 'session_allows'] };
  const granted = consent.grants.some((grant) => isGranted(grant, tool, args, work));
  return granted ? { decision: 'allow', reasons: [...asks, 'granted'] } : { decision: 'ask', reasons: asks };
}

/** A tool that runs another one under its own name is denied, and asks, where that one is, and does. */
function permissionOf({ tools }: ConsentPolicy, { tool_id, executor }: ToolSpec): ToolPermission | undefined {
  const own = tools[tool_id];
  const led = toolRunBy(executor);
  const other = led === null || !Object.hasOwn(tools, led) ? undefined : tools[led as ToolId];
  if (own === 'deny' || other === 'deny') return 'deny';
  return other === 'always_ask' ? (own ?? other) : own;
}

/**
 * The `destructive` flag counts where the mode does not cover it, such as a destructive tool of a server. It does not
 * count for commands, whose effects are unknown, nor for custom tools, which a person carries out.
 */
const isDestructiveBeyondMode = ({ destructive, mode, executor }: ToolSpec): boolean =>
  destructive && mode !== 'destructive' && mode !== 'local' && executor.kind !== 'custom';

/** A tool as a grant names it. */
type GrantedTool = Pick<ToolSpec, 'tool_id' | 'tool_ref'>;

/**
 * The grant that a person gives with an answer about a call with these arguments. A pattern stands for one argument: every
 * other argument must be that of the call, and be absent where it is absent there. Null when the call has no such argument
 * that a pattern could stand for, or its arguments are in a blob.
 */
export function grantFor(scope: GrantScope, { tool_id, tool_ref }: GrantedTool, args: JsonObject | null): Grant | null {
  const { argument, pattern } = scope;
  if (argument === undefined || pattern === undefined) return { tool_id, tool_ref };
  const others = args === null ? null : digestOfOthers(args, argument);
  return others === null ? null : { argument, others, pattern, tool_id, tool_ref };
}

/** The digest of arguments in which one is emptied: a text by '', a list by []. Null when it is neither, or missing. */
function digestOfOthers(args: JsonObject, argument: string): Digest | null {
  const value = Object.hasOwn(args, argument) ? args[argument] : undefined;
  if (typeof value !== 'string' && !Array.isArray(value)) return null;
  return digestJson({ ...args, [argument]: typeof value === 'string' ? '' : [] });
}

/**
 * Whether a grant covers a call; no when the steps for it are used up, so that a person is asked. An array of plain words is
 * matched as a command line; other values never match.
 */
export function isGranted(
  grant: Grant,
  tool: GrantedTool,
  args: JsonObject | null,
  work: GrantWork = newGrantWork(),
): boolean {
  if (grant.tool_id !== tool.tool_id || grant.tool_ref !== tool.tool_ref) return false;
  const { argument, pattern } = grant;
  if (argument === undefined || pattern === undefined) return true;
  const value = args === null || !Object.hasOwn(args, argument) ? null : wordsOf(args[argument]);
  if (args === null || value === null || value.length > GRANT_VALUE_CHARS_MAX || climbs(value)) return false;
  // The digest costs more than the match, so it comes last.
  return matches(pattern, value, work) && digestOfOthers(args, argument) === grant.others;
}

function wordsOf(value: unknown): string | null {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return null;
  const plain = value.every((word): word is string => typeof word === 'string' && /^[^\s"'\\]+$/.test(word));
  return plain ? value.join(' ') : null;
}

/** A `..` segment may lead out of the folder that a pattern names, also as a tool writes it that decodes URLs. */
const climbs = (value: string): boolean =>
  value
    .replaceAll(/%2e/gi, '.')
    .split(/[/\\\s]|%2f|%5c/i)
    .includes('..');

/** What `*` does not stand for: what separates words, or the parts of a path or a URL. */
const BOUNDS = /[/\\\s\p{Cc}?#@:%]/u;
/** A word that begins with `-` is no ordinary argument of a command, so that `*` does not stand for it. */
const isOption = (value: string, at: number): boolean =>
  value[at] === '-' && (at === 0 || /\s/.test(value[at - 1] ?? ''));

/** So many characters are read in one step. */
const CHARS_PER_STEP = 8;

/**
 * Matches wildcards without backtracking: each `*` and `**` is tried at most once at every position. Every position that is
 * tried is a step; false when there are no more.
 */
export function matches(pattern: string, value: string, work: GrantWork = newGrantWork()): boolean {
  work.steps -= Math.ceil((pattern.length + value.length) / CHARS_PER_STEP);
  const tokens = pattern.split(/(\*\*|\*)/).filter((token) => token !== '');
  let reachable = new Set<number>([0]);
  for (const token of tokens) {
    const next = new Set<number>();
    for (const at of reachable) {
      work.steps -= 1;
      if (work.steps < 0) return false;
      if (token !== '*' && token !== '**') {
        if (value.startsWith(token, at)) next.add(at + token.length);
        continue;
      }
      for (let end = at; end <= value.length; end += 1) {
        work.steps -= 1;
        if (work.steps < 0) return false;
        if (next.has(end)) break;
        next.add(end);
        if (token === '*' && (BOUNDS.test(value[end] ?? '/') || isOption(value, end))) break;
      }
    }
    reachable = next;
  }
  return reachable.has(value.length);
}
