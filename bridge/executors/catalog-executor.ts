// Runs calls of the toolset `catalog`: each names, in its executor, a tool that another executor of this bridge runs. The catalog
// gives that tool another name, description and schema, and this file leads the call to it.
import type { JsonObject } from '../../schemas/json.ts';
import { type ToolId, brand } from '../../schemas/ids.ts';
import { toolRunBy } from '../../schemas/tool-spec.ts';
import { HELPER_DIRECTORIES, findIn } from '../../src/files/helper-programs.ts';
import { failedReport } from './call-report.ts';
import { type CallTarget, type Executor, combineExecutors } from './executors.ts';

/** The executors with those that lead to them: one for each kind of entry that they can run. */
export function withCatalog(executors: readonly Executor[]): readonly Executor[] {
  const lists = (prefix: string): boolean =>
    executors.some(({ tools }) => tools.some((pattern) => pattern.startsWith(prefix)));
  const kinds = (['platform', 'skill', 'mcp'] as const).filter((kind) => lists(PREFIXES[kind]));
  return [...executors, ...kinds.map((kind) => leading(`catalog.${kind}.*`, PREFIXES[kind], executors))];
}

const PREFIXES = { platform: 'host.', skill: 'skill.', mcp: 'mcp.' } as const;

function leading(pattern: string, prefix: string, executors: readonly Executor[]): Executor {
  const all = combineExecutors(executors);
  const first = executors.find(({ tools }) => tools.some((tool) => tool.startsWith(prefix)));
  const { place, preview } = first ?? {};
  const leadOf = (call: CallTarget): { readonly to: Executor; readonly call: CallTarget } | null => {
    const target = targetOf(call);
    const to = target === null || !target.startsWith(prefix) ? null : all.find(target);
    return to === null || target === null ? null : { to, call: { ...call, tool_id: target } };
  };
  return {
    tools: [pattern],
    ...(place === undefined ? {} : { place }),
    ...(preview === undefined
      ? {}
      : {
          preview: (call, args, context) => {
            const lead = leadOf(call);
            if (lead?.to.preview === undefined) throw new Error('what runs this tool makes no previews');
            return lead.to.preview(lead.call, platformArguments(lead.call, args), context);
          },
        }),
    run(call, args, context) {
      const lead = leadOf(call);
      if (lead === null)
        return Promise.resolve(failedReport('executor_missing', `this bridge runs nothing for "${call.tool_id}"`));
      return lead.to.run(lead.call, platformArguments(lead.call, args), context);
    },
  };
}

/** The id of the tool that an entry names; null for one that no executor here can run. */
function targetOf({ executor }: CallTarget): ToolId | null {
  const target = toolRunBy(executor);
  return target === null ? null : brand<'ToolId'>(target);
}

/** The arguments as the tool takes them: an entry may give `host.exec` a shell line in place of a list of arguments. */
export function platformArguments({ tool_id }: Pick<CallTarget, 'tool_id'>, args: JsonObject): JsonObject {
  const { command, ...others } = args;
  if (tool_id !== 'host.exec' || typeof command !== 'string' || args['argv'] !== undefined) return args;
  const shell = findIn(HELPER_DIRECTORIES, 'bash') === null ? 'sh' : 'bash';
  return { ...others, argv: [shell, '-c', command] };
}
