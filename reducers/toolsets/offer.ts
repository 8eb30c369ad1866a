// Which of the effective tools a generate offers: all of them up to the limit of the run's config, else those that come
// first. The order of what is offered stays that of the effective set.
import type { ToolId } from '../../schemas/ids.ts';
import { FINDS_MAX } from '../../schemas/limits.ts';
import type { EffectiveToolSet } from '../../schemas/tool-set.ts';
import { type EffectiveToolsInput, needsExcess, offerMaxOf } from '../effective-tools.ts';

/**
 * The tools to offer. First come the tools that find others, then those of the profile, then those that the run and the
 * session force or enable, the last enabled first, and then the rest by tool id. A profile that fills the offer leaves room
 * for what the run forces or enables, and so for what `tools_find` found last. The verdicts on the others say `beyond_offer`.
 */
export function cutOffer(input: EffectiveToolsInput, tools: EffectiveToolSet): EffectiveToolSet {
  const offerMax = offerMaxOf(input);
  if (tools.ordered_tools.length <= offerMax) return tools;
  const offered = new Set(byPrecedence(input, tools, offerMax).slice(0, offerMax));
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

/** The effective tools, without repeats. */
function byPrecedence(
  input: EffectiveToolsInput,
  { ordered_tools, profile_id }: EffectiveToolSet,
  offerMax: number,
): readonly ToolId[] {
  const { run, session } = input.tool_overrides;
  const effective = new Set(ordered_tools.map(({ tool_id }) => tool_id));
  const finding = ordered_tools.filter(needsExcess).map(({ tool_id }) => tool_id);
  const profile = (input.tool_profiles[profile_id]?.tool_ids ?? []).filter(
    (id) => effective.has(id) && !finding.includes(id),
  );
  const wanted = [...run.force, ...run.enable.toReversed()].filter((id) => effective.has(id));
  const room = Math.max(0, offerMax - finding.length);
  const first = new Set(profile.slice(0, room));
  const beside = new Set(wanted.filter((id) => !first.has(id)));
  const profileMax = room - Math.min(beside.size, FINDS_MAX, Math.max(1, Math.floor(room / 2)));
  const precedence = [
    ...finding,
    ...profile.slice(0, profileMax),
    ...wanted,
    ...profile,
    ...[...session.force, ...session.enable.toReversed()].filter((id) => effective.has(id)),
    ...ordered_tools.map(({ tool_id }) => tool_id).toSorted(),
  ];
  return [...new Set(precedence)];
}
