// The state as a tree that is opened part by part, and how two states differ.
import { digestJson, sortedKeys } from '../../schemas/canonical.ts';
import { type Json, isPlainObject } from '../../schemas/json.ts';
import { pointerSegment } from '../../schemas/rejection.ts';
import type { SessionState } from '../../schemas/state.ts';
import { type JsonDiff, diffJson, stateDigest } from '../../src/core/index.ts';
import type { FindPath, PathsFound, ShownDiff, StateNode, StatePart, StateWanted } from '../protocol.ts';
import { Refused } from './refused.ts';
import type { StreamFold } from './stream-fold.ts';
import { lineOf } from './texts.ts';
import { windowOf } from './windows.ts';

/** Most paths of one comparison. */
export const PATHS_MAX = 500;
/** Most parts that one search looks at. */
const SEARCHED_MAX = 200_000;

export async function statePart(fold: StreamFold, wanted: StateWanted): Promise<StatePart> {
  const { at, path } = wanted;
  const state = await fold.stateAt(at);
  const value = partAt(state, path);
  if (value === undefined) {
    throw new Refused({
      code: 'not_found',
      message: `the state after ${at} events has nothing at "${path}"`,
      advice: '',
    });
  }
  const { from, limit } = windowOf(wanted);
  const children = childrenOf(value)
    .slice(from, from + limit)
    .map(([name, child]) => nodeOf(child, path + pointerSegment(name), name));
  const name = path.split('/').at(-1) ?? '';
  return { at, path, from, node: nodeOf(value, path, unescaped(name), state), children };
}

function partAt(state: SessionState, path: string): Json | undefined {
  let value: Json | undefined = state;
  for (const segment of path.split('/').slice(1)) {
    const name = unescaped(segment);
    value = childrenOf(value).find(([key]) => key === name)?.[1];
    if (value === undefined) return undefined;
  }
  return value;
}

const unescaped = (segment: string): string => segment.replaceAll('~1', '/').replaceAll('~0', '~');

function childrenOf(value: Json): readonly (readonly [name: string, value: Json])[] {
  if (Array.isArray(value)) return (value as readonly Json[]).map((child, index) => [String(index), child]);
  if (!isPlainObject(value)) return [];
  return sortedKeys(value).map((key) => [key, value[key] as Json]);
}

function nodeOf(value: Json, path: string, name: string, whole?: SessionState): StateNode {
  const type = value === null ? 'null' : Array.isArray(value) ? 'array' : (typeof value as StateNode['type']);
  const isPart = type === 'object' || type === 'array';
  return {
    path,
    name,
    type,
    size: isPart ? (Array.isArray(value) ? value.length : Object.keys(value as object).length) : 0,
    text: isPart ? { text: '', rest: 0, ref: null } : lineOf(value),
    // The whole state has a digest over its parts; a part has that of its canonical JSON.
    digest: path === '' && whole !== undefined ? stateDigest(whole) : isPart ? digestJson(value) : null,
  };
}

export async function findPaths(fold: StreamFold, { at, text, limit }: FindPath): Promise<PathsFound> {
  const state = await fold.stateAt(at);
  const wanted = text.toLowerCase();
  const nodes: StateNode[] = [];
  let [rest, searched] = [0, 0];
  const { limit: most } = windowOf({ from: 0, limit });

  function visit(value: Json, path: string): void {
    for (const [name, child] of childrenOf(value)) {
      searched += 1;
      if (searched > SEARCHED_MAX) return;
      const below = path + pointerSegment(name);
      if (below.toLowerCase().includes(wanted)) {
        if (nodes.length < most) nodes.push(nodeOf(child, below, name));
        else rest += 1;
      }
      visit(child, below);
    }
  }
  if (wanted !== '') visit(state, '');
  return { nodes, rest };
}

export const stateDiff = async (
  fold: StreamFold,
  { a, b }: { readonly a: number; readonly b: number },
): Promise<ShownDiff> => shownDiff(diffJson(await fold.stateAt(a), await fold.stateAt(b), PATHS_MAX));

export const shownDiff = ({ differences, rest }: JsonDiff): ShownDiff => ({
  differences: differences.map(({ path, a, b }) => ({
    path,
    a: a === undefined ? null : lineOf(a),
    b: b === undefined ? null : lineOf(b),
  })),
  rest,
});
