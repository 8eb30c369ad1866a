// Which effects a lease request asks for. The patterns of its tools are compared once with each tool, not with each call:
// a request may name many patterns, and sessions may owe many calls.
import { TOOLS_MAX } from '../../../schemas/limits.ts';
import type { Wanted } from '../../../schemas/wire.ts';
import type { BridgeEffect } from './owed-effects.ts';

type Wants = Pick<Wanted, 'kinds' | 'tools' | 'workspace'>;

const matchers = new WeakMap<Wants, (tool: string) => boolean>();

/** The effect is of a requested kind and, for a call, or for its preview, on a requested tool; for an undo, in the requested workspace. */
export function isWanted(request: Wants, effect: BridgeEffect): boolean {
  if (!request.kinds.includes(effect.kind)) return false;
  if (effect.kind === 'call.undo') return effect.workspace === request.workspace;
  if (effect.kind !== 'tool.call' && effect.kind !== 'call.preview') return true;
  const known = matchers.get(request);
  if (known !== undefined) return known(effect.tool_id);
  const made = newToolMatcher(request.tools);
  matchers.set(request, made);
  return made(effect.tool_id);
}

/** Matches tool ids against exact ids and prefixes that end with `*`. Another prefix costs nothing unless its length is new. */
export function newToolMatcher(patterns: readonly string[]): (tool: string) => boolean {
  const exact = new Set(patterns);
  const prefixes = new Set(patterns.filter((pattern) => pattern.endsWith('*')).map((pattern) => pattern.slice(0, -1)));
  const lengths = Array.from(new Set(Array.from(prefixes, ({ length }) => length)));
  const verdicts = new Map<string, boolean>();
  return (tool) => {
    const known = verdicts.get(tool);
    if (known !== undefined) return known;
    const isMatch =
      exact.has(tool) || lengths.some((length) => length <= tool.length && prefixes.has(tool.slice(0, length)));
    if (verdicts.size >= TOOLS_MAX) verdicts.clear();
    verdicts.set(tool, isMatch);
    return isMatch;
  };
}
