// The tools of an application as the engine and the bridge take them: a package of specs, and an executor.
import { type CallTarget, type Executor, failedReport } from '../../bridge/index.ts';
import { type ToolPackage, brand } from '../../schemas/index.ts';
import type { Tool } from './tool.ts';

/** The profile of a package that has nothing but one's own tools. */
const OWN_PROFILE = 'agent';

const OWN_PACKAGE: ToolPackage = {
  registry: [],
  profiles: [{ profile_id: brand<'ProfileId'>(OWN_PROFILE), tool_ids: [] }],
  provider_profiles: [{ provider_contains: '', profile_id: brand<'ProfileId'>(OWN_PROFILE) }],
};

/** Adds the tools to the registry and to every profile of a package. Throws a TypeError when two have one name or id. */
export function toolPackageOf(tools: readonly Tool[], base: ToolPackage = OWN_PACKAGE): ToolPackage {
  const specs = tools.map(({ spec }) => spec);
  const registry = [...base.registry, ...specs];
  for (const field of ['tool_name', 'tool_id'] as const) {
    const values = registry.map((spec) => spec[field] as string);
    const twice = values.find((value, index) => values.indexOf(value) !== index);
    if (twice !== undefined) throw new TypeError(`two tools have the ${field} "${twice}": rename one of them`);
  }
  const own = specs.map(({ tool_id }) => tool_id);
  const profiles = base.profiles.map((profile) => ({ ...profile, tool_ids: [...profile.tool_ids, ...own] }));
  return { ...base, registry, profiles };
}

/** Runs the calls of the tools. */
export function toolExecutor(tools: readonly Tool[]): Executor {
  const byId = new Map<string, Tool>(tools.map((tool) => [tool.spec.tool_id, tool]));
  return {
    tools: [...byId.keys()],
    definitions: Object.fromEntries(tools.map(({ spec }) => [spec.tool_id, spec.tool_ref])),
    async run({ tool_id, session_id, call_id }: CallTarget, args, context) {
      const found = byId.get(tool_id);
      if (found === undefined) return failedReport('tool_unknown', `this process has no tool "${tool_id}"`);
      return await found.run(args, {
        get signal() {
          return context.signal;
        },
        timeoutMs: context.timeoutMs,
        session: session_id,
        call: call_id,
      });
    },
  };
}
