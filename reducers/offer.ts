// Which of the effective tools a generate offers: all of them up to the limit of the run's config, else those that come
// first. The order of what is offered stays that of the effective set.
import type { ToolId } from '../schemas/ids.ts';
import type { EffectiveToolSet } from '../schemas/tool-set.ts';
import { type EffectiveToolsInput, needsExcess, offerMaxOf } from './effective-tools.ts';

/**
 * The tools to offer. First come the tools that find others, then those of the profile, then those that the run and the
 * session force or enable, the last enabled first, and then the rest by tool id. The verdicts on the others say
 * `beyond_offer`.
 */
export function cutOffer(input: EffectiveToolsInput, tools: EffectiveToolSet): EffectiveToolSet {
  const offerMax = offerMaxOf(input);
  if (tools.ordered_tools.length <= offerMax) return tools;
  const effective = new Set(tools.ordered_tools.map(({ tool_id }) => tool_id));
  const offered = new Set<ToolId>();
  for (const id of byPrecedence(input, tools)) {
    if (offered.size === offerMax) break;
    if (effective.has(id)) offered.add(id);
  }
  return {
    ...tools,
    ordered_tools: tools.ordered_tools.filter(({ tool_id }) => offered.has(tool_id)),
    verdicts: tools.verdicts.map((verdict) =>
      verdict.effective && !offered.has(verdict.tool_id)
        ? { ...verdict, effective: false, reasons: [...verdict.reasons, 'beyond_offer'] }
        : verdict,
    ),
  };
}

function byPrecedence(input: EffectiveToolsInput, { ordered_tools, profile_id }: EffectiveToolSet): readonly ToolId[] {
  const { run, session } = input.tool_overrides;
  return [
    ...ordered_tools.filter(needsExcess).map(({ tool_id }) => tool_id),
    ...(input.tool_profiles[profile_id]?.tool_ids ?? []),
    ...run.force,
    ...run.enable.toReversed(),
    ...session.force,
    ...session.enable.toReversed(),
    ...ordered_tools.map(({ tool_id }) => tool_id).toSorted(),
  ];
}
