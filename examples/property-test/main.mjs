// Properties of the tools of stock.mjs: node examples/property-test/main.mjs [--careless]
// With --careless the tools claim nothing, although they say that they may run together: the second property fails.
import * as fc from 'fast-check';
import { isDeepStrictEqual } from 'node:util';
import { CONSENT_PRESETS } from 'refold';
import { call, given, packageOf, say } from 'refold/testing';
import { reduce, tools, toolsWith } from './stock.mjs';

const registry = process.argv.includes('--careless') ? toolsWith({ parallel_safe: true }) : tools;
const genesis = { tool_package: packageOf(registry), consent: CONSENT_PRESETS.allow_all };
const running = given([{ kind: 'RunRequested', input: say('go') }], genesis);

const someCalls = fc
  .array(
    fc.record({
      tool_name: fc.constantFrom('add_stock', 'take_stock'),
      arguments: fc.record({ article: fc.constantFrom('pen', 'book', 'cup'), count: fc.integer({ min: 1, max: 9 }) }),
    }),
    { maxLength: 10 },
  )
  .map((calls) => calls.map((made, index) => call(`c${index}`, made.tool_name, made.arguments)));

/** The stock after these calls, and the text of each by its id. */
function runAll(stock, calls) {
  const texts = {};
  let now = stock;
  for (const { call_id, tool_name, arguments: args } of calls) {
    const { stock: next, text } = reduce(now, tool_name, args);
    [now, texts[call_id]] = [next, text];
  }
  return { stock: now, texts };
}

const neverNegative = fc.property(someCalls, (calls) =>
  Object.values(runAll({ pen: 3 }, calls).stock).every((count) => count >= 0),
);

// What refold may run together must not depend on the order in which it ends: otherwise the claims of the tools are wrong.
const groupsCommute = fc.property(someCalls, (calls) => {
  const observed = { kind: 'ToolCallsObserved', run_id: 'run-1', turn: 1, calls };
  const { outcome } = running.when(observed);
  const groups = outcome.right.active_tool_batch?.plan.execution_plan.groups ?? [];
  const byId = new Map(calls.map((made) => [made.call_id, made]));
  const stock = { pen: 5, book: 5, cup: 5 };
  const forwards = groups.flatMap((ids) => ids.map((id) => byId.get(id)));
  const backwards = groups.flatMap((ids) => ids.map((id) => byId.get(id)).reverse());
  return isDeepStrictEqual(runAll(stock, forwards), runAll(stock, backwards));
});

for (const [name, property] of Object.entries({ neverNegative, groupsCommute })) {
  const { failed, counterexample, seed } = fc.check(property, { numRuns: 300 });
  if (failed) process.exitCode = 1;
  console.log(failed ? `${name} fails, seed ${seed}:\n${JSON.stringify(counterexample, null, 1)}` : `${name} holds`);
}
