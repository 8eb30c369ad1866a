// Recorded batches of calls: each plans, as the simple reference planner does, and no call is lost.
import { isDeepStrictEqual } from 'node:util';
import { toObservedCalls } from '../../bridge/generate/observed-calls.ts';
import { mustBe } from '../../src/client/must.ts';
import { computeEffectiveTools, planBatch } from '../../src/core/index.ts';
import { packageOf } from '../../src/testing/facts.ts';
import { type ReferencePlan, referencePlan } from '../support/reference-planner.ts';
import { session } from '../support/session.ts';
import { tool } from '../support/tools.ts';
import { type Line, linesOf } from './corpus-files.ts';
import type { Section, Tally } from './tally.ts';
import { runSteps } from '../../src/core/steps.ts';

const PATH = 'unified/batches.jsonl';

export const batches: Section = {
  name: 'batches',
  check(corpora, tally, progress) {
    const lines = linesOf(corpora, PATH);
    for (const line of lines) {
      progress(line.place);
      checkLine(line, tally);
    }
    return Promise.resolve(lines.length > 0);
  },
};

interface RecordedCall {
  readonly id?: string;
  readonly name: string;
  readonly args?: unknown;
  /** Some are written as Python. */
  readonly python?: string;
}

function checkLine({ place, text }: Line, tally: Tally): void {
  const { calls: given } = JSON.parse(text) as { readonly calls: readonly RecordedCall[] };
  const calls = runSteps(
    toObservedCalls(
      1,
      given.map(({ id, name, args, python }) => ({
        ...(typeof id === 'string' && id !== '' ? { id } : {}),
        name: offeredName(name),
        arguments: (args ?? { python: python ?? '' }) as never,
      })),
    ),
  );
  tally.count('batches');
  tally.count('calls', calls.length);
  const names = [...new Set(given.map(({ name }) => offeredName(name)))];
  // Every other tool runs alone.
  const tools = names.map((name, index) => tool(name, { parallelism_hint: { parallel_safe: index % 2 === 0 } }));
  const { state } = session({ tool_package: packageOf(tools) });
  const offered = mustBe(computeEffectiveTools(state));
  const { planned_calls, rejected, execution_plan } = planBatch(offered, calls);
  const plan: ReferencePlan = {
    planned: planned_calls.map(({ call_id }) => call_id),
    rejected: rejected.map(({ index, code }) => `${index} ${code}`),
    groups: execution_plan.groups,
    after: execution_plan.after,
  };
  tally.count('calls: planned', plan.planned.length);
  if (rejected.length > 0) tally.count('calls: rejected', rejected.length);
  if (plan.planned.length + rejected.length !== calls.length)
    tally.fail(place, 'a call is neither planned nor rejected');
  for (const { index, code } of rejected) {
    if (names.includes(calls[index]?.tool_name as never)) tally.fail(place, `call ${index} is rejected: ${code}`);
  }
  if (!isDeepStrictEqual(plan, referencePlan(offered, calls)))
    tally.fail(place, 'the simple planner plans it otherwise');
}

/** Some corpora name functions of modules (`math.gcd`); a model is offered a name that APIs take. */
const offeredName = (name: string): string => name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 64);
