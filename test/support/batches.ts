// Random batches of calls for the tests of the planner, over a few paths, so that they conflict often.
import { type EffectiveToolSet, type JsonObject, type ToolCallObserved, brand } from '../../schemas/index.ts';
import { computeEffectiveTools } from '../../src/core/index.ts';
import type { Random } from './random.ts';
import { INVALID, call, session } from './session.ts';
import { mustBe } from '../../src/client/must.ts';

/** The effective tools of the test package, without the tools in `disabled`. */
export function batchTools(disabled: readonly string[] = []): EffectiveToolSet {
  const { state } = session();
  const disable = disabled.map((id) => brand<'ToolId'>(id));
  return mustBe(
    computeEffectiveTools({
      ...state,
      run: null,
      tool_overrides: { ...state.tool_overrides, session: { enable: [], disable, force: [] } },
    }),
  );
}

/** Spellings of a few overlapping paths; some name the whole workspace, some cannot be normalized. */
export const PATHS = [
  'a',
  'a/b',
  'a/b/c',
  'a/b/d',
  'a-b',
  'b',
  'b/c',
  './a//b/',
  'a/x/../b',
  'c',
  '.',
  '/a',
  '../a',
  'é',
] as const;

const NAMES = ['read', 'read', 'read', 'write', 'write', 'write', 'copy', 'copy', 'patch', 'topic', 'free', 'keyed'];
const SELDOM = ['barrier', 'hosted', 'workflow', 'spare', 'nowhere'];

/** A batch of up to `callsMax` calls. */
export function randomBatch(random: Random, callsMax: number): readonly ToolCallObserved[] {
  const count = random.below(callsMax + 1);
  return Array.from({ length: count }, (_, index) => randomCall(random, index));
}

function randomCall(random: Random, index: number): ToolCallObserved {
  const id = random.oneIn(24) ? `c${random.below(index + 1)}` : `c${index}`;
  const name = random.oneIn(16) ? random.pick(SELDOM) : random.pick(NAMES);
  const args = random.oneIn(24) ? {} : argumentsFor(random, name);
  return call(id, name, args, random.oneIn(40) ? { arguments_verdict: INVALID } : {});
}

function argumentsFor(random: Random, name: string): JsonObject {
  const path = (): string => random.pick(PATHS);
  if (name === 'copy') return { from: path(), to: path() };
  if (name === 'topic') return { topic: random.pick(['x', 'y', 'x/y']) };
  if (name !== 'patch') return { path: path() };
  const headers = Array.from({ length: 1 + random.below(4) }, () => {
    const verb = random.pick(['Add File', 'Update File', 'Delete File', 'Move to']);
    return `*** ${verb}: ${path()}`;
  });
  return { patch: ['*** Begin Patch', ...headers, '+text', '*** End Patch'].join('\n') };
}
