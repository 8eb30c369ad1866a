// fast-check arbitraries of the inputs of a session: tools, calls that a model may make of them, and whole streams of facts
// that a session accepts. All of them shrink.
import { isRight } from 'fp-ts/lib/Either.js';
import * as fc from 'fast-check';
import { defineTool } from '../../schemas/define-tool.ts';
import type { IngressEvent } from '../../schemas/event.ts';
import type { Genesis } from '../../schemas/genesis.ts';
import type { SessionState } from '../../schemas/state.ts';
import type { ToolCallObserved } from '../../schemas/tool-call.ts';
import type { ToolPackage } from '../../schemas/tool-set.ts';
import type { ToolSpec } from '../../schemas/tool-spec.ts';
import { type GenesisOverrides, defaultGenesis } from '../core/genesis.ts';
import { type Origin, initialState } from '../core/initial-state.ts';
import { stepNew } from '../core/step.ts';
import { factEvent, packageOf } from './facts.ts';
import { type Draw, plausibleFact, withClaimed } from './plausible-fact.ts';

/** A genesis record, its tool package, the events that the session accepts after it, and the resulting state. */
export interface IngressStream {
  readonly genesis: Genesis;
  readonly tool_package: ToolPackage;
  readonly events: readonly IngressEvent[];
  readonly state: SessionState;
}

/** `consent` and `config` of the session; by default those of the default genesis record. */
export interface IngressStreamOptions extends Pick<GenesisOverrides, 'consent' | 'config'> {
  /** The tools of the session; an arbitrary registry by default. */
  readonly tool_package?: ToolPackage;
  /** The most facts that are tried, 0 or more; 40 by default. Facts that are refused are left out. */
  readonly lengthMax?: number;
}

const claims = (access: 'read' | 'write'): ToolSpec['parallelism_hint'] => ({
  parallel_safe: true,
  claims: [{ space: 'fs', argument: 'path', form: 'path', access }],
});

const toolKind = fc.constantFrom<Partial<ToolSpec>>(
  { read_only: true, destructive: false, mode: 'read', parallelism_hint: claims('read') },
  { mode: 'safe_write', destructive: false, parallelism_hint: claims('write') },
  { mode: 'safe_write', destructive: false, idempotent: true, parallelism_hint: { parallel_safe: true } },
  { mode: 'external', destructive: false, interrupt_behavior: 'cancel' },
  { mode: 'external', destructive: false, permission_policy: 'always_ask', preview: true },
  { mode: 'external', destructive: false, ownership: 'custom', executor: { kind: 'custom' } },
  { mode: 'external', destructive: false, ownership: 'custom', executor: { kind: 'custom' }, answer_within_ms: 3_000 },
  { mode: 'read', read_only: true, destructive: false, availability_rules: ['host_session_ready'] },
);

/** Any tool may say how long an answer may take. Only the calls of custom tools have that time; an engine refuses it on others. */
const timedKind = fc
  .tuple(toolKind, fc.constantFrom<Partial<ToolSpec>>({}, {}, {}, { answer_within_ms: 3_000 }))
  .map(([kind, time]) => ({ ...kind, ...time }));

/**
 * One to eight tools that cover every kind of parallelism, consent and availability. `everyTime`: also tools with a time that
 * an engine refuses, which a recorded session may have.
 */
function toolRegistry({ everyTime = false }: { readonly everyTime?: boolean } = {}): fc.Arbitrary<readonly ToolSpec[]> {
  return fc.array(everyTime ? timedKind : toolKind, { minLength: 1, maxLength: 8 }).map((kinds) =>
    kinds.map((kind, index) =>
      defineTool({
        tool_id: `any.tool_${index}`,
        tool_name: `tool_${index}`,
        description: `Tool ${index}.`,
        input_schema: { type: 'object' },
        ...kind,
      }),
    ),
  );
}

/**
 * Up to twelve calls of these tools, with ids `c0`, `c1`, …; some are of a tool that does not exist. Their arguments are
 * `path`, `n` and the ones that the tool's claims name, so that some calls conflict. Schemas are ignored.
 */
function toolCalls(registry: readonly ToolSpec[]): fc.Arbitrary<readonly ToolCallObserved[]> {
  const names = registry.map(({ tool_name }) => tool_name as string);
  const unknown = fc.constant('no_such_tool');
  const known = names.length === 0 ? unknown : fc.constantFrom(...names);
  const made = fc
    .record({
      tool_name: fc.oneof({ weight: 9, arbitrary: known }, { weight: 1, arbitrary: unknown }),
      arguments: fc.record({ path: fc.constantFrom('a', 'b', 'a/x', 'a/y', 'c'), n: fc.nat({ max: 9 }) }),
    })
    .map((call) => ({ ...call, arguments: withClaimed(registry, call.tool_name, call.arguments) }));
  return fc
    .array(made, { maxLength: 12 })
    .map((calls) => calls.map((call, index) => ({ call_id: `c${index}`, ...call }) as unknown as ToolCallObserved));
}

/** A stream of plausible facts; facts that are refused are left out. It shrinks to fewer facts. */
function ingressStream(options: IngressStreamOptions = {}): fc.Arbitrary<IngressStream> {
  const { tool_package, lengthMax = 40, ...genesis } = options;
  const tools =
    tool_package === undefined ? toolRegistry({ everyTime: true }).map(packageOf) : fc.constant(tool_package);
  const draw = fc.record<Draw>({ what: fc.nat({ max: 99 }), a: fc.nat({ max: 999 }), b: fc.nat({ max: 999 }) });
  return fc
    .tuple(tools, fc.array(draw, { maxLength: lengthMax }))
    .map(([made, draws]) =>
      streamOf({ genesis: defaultGenesis({ ...genesis, tool_package: made }), tool_package: made }, draws),
    );
}

function streamOf({ genesis, tool_package }: Origin, draws: readonly Draw[]): IngressStream {
  let state = initialState(genesis, tool_package);
  const events: IngressEvent[] = [];
  for (const draw of draws) {
    const stepped = stepNew(state, factEvent(plausibleFact(state, draw), events.length + 1));
    if (!isRight(stepped)) continue;
    ({ state } = stepped.right);
    events.push(stepped.right.event);
  }
  return { genesis, tool_package, events, state };
}

export const arbitrary = { toolRegistry, toolCalls, ingressStream };
