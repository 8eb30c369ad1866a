// The definitions of tools before they are recorded: a schema that does not compile would check nothing, and is refused. The
// types of another API's schemas (`OBJECT`, or `6`) become those of JSON Schema, which every model API reads.
import { type Either, isRight, left, right } from 'fp-ts/lib/Either.js';
import { isFulfilled } from '../../../reducers/planner.ts';
import { toolRef } from '../../../schemas/define-tool.ts';
import type { Digest } from '../../../schemas/ids.ts';
import { DEFINITIONS_KEPT } from '../../../schemas/limits.ts';
import { type Rejection, reject } from '../../../schemas/rejection.ts';
import type { ToolSpec } from '../../../schemas/tool-spec.ts';
import { normalisedTypes } from '../../core/json-schema-types.ts';
import type { Pause } from '../../turns.ts';
import { type RequestBudget, newRequestBudget } from './budget.ts';
import { findCompileFault } from './schema-check.ts';

/** The tools of a registry as they are recorded, or the first fault: a schema that does not compile, a time that no call has. */
export async function admitTools(
  registry: readonly ToolSpec[],
  pause: Pause,
  budget: RequestBudget = newRequestBudget(),
  pathOf: (index: number) => string = (index) => `/registry/${index}`,
): Promise<Either<Rejection, readonly ToolSpec[]>> {
  const tools = registry.map(withPlainTypes);
  for (const [index, tool] of tools.entries()) {
    // `tool_ref` does not cover this field, so it is checked for every tool.
    if (tool.answer_within_ms !== undefined && !isFulfilled(tool)) {
      return left(reject('registry_invalid', `${pathOf(index)}/answer_within_ms`, untimed(tool)));
    }
    if (compiled.has(tool.tool_ref)) continue;
    const rest = pause();
    if (rest !== null) await rest;
    for (const field of ['input_schema', 'output_schema'] as const) {
      const why = tool[field] === undefined ? null : await findCompileFault(tool[field], budget);
      if (why !== null) return left(reject('registry_invalid', `${pathOf(index)}/${field}`, refusal(tool, why)));
    }
    if (compiled.size >= DEFINITIONS_KEPT) compiled.clear();
    // A reference that is not the digest of its definition must not vouch for another one.
    if (tool.tool_ref === toolRef(tool)) compiled.add(tool.tool_ref);
  }
  return right(tools.some((tool, index) => tool !== registry[index]) ? tools : registry);
}

/** Definitions whose schemas compile. */
const compiled = new Set<Digest>();

const refusal = ({ tool_name }: ToolSpec, why: string): string =>
  `the schema of the tool "${tool_name}" does not compile (${why}); correct it, as JSON Schema draft 2020-12`;

const untimed = ({ tool_name }: ToolSpec): string =>
  `no person fulfils the calls of the tool "${tool_name}", so they have no time to be answered; leave it out, or give the tool the executor "custom"`;

/** The same tool when there is nothing to do. A wrong `tool_ref` stays wrong, and is refused later. */
function withPlainTypes(tool: ToolSpec): ToolSpec {
  const input_schema = normalisedTypes(tool.input_schema);
  const output_schema = tool.output_schema === undefined ? undefined : normalisedTypes(tool.output_schema);
  if (input_schema === tool.input_schema && output_schema === tool.output_schema) return tool;
  const plain = { ...tool, input_schema, ...(output_schema === undefined ? {} : { output_schema }) };
  return tool.tool_ref === toolRef(tool) ? { ...plain, tool_ref: toolRef(plain) } : plain;
}

/** A value with a registry, with its tools as they are recorded. */
export async function withAdmittedTools<T extends { readonly registry: readonly ToolSpec[] }>(
  value: T,
  pause: Pause,
  budget?: RequestBudget,
): Promise<Either<Rejection, T>> {
  const tools = await admitTools(value.registry, pause, budget);
  if (!isRight(tools)) return tools;
  return right(tools.right === value.registry ? value : { ...value, registry: tools.right });
}
