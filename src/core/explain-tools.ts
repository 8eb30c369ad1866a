// Why tools are or are not in the effective set, as codes and as text, and since when (docs/design.md, "Effective tools").
import { defaultProfile, offerMaxOf } from '../../reducers/effective-tools.ts';
import type { SessionState } from '../../schemas/state.ts';
import type { ToolReason, ToolVerdict } from '../../schemas/tool-set.ts';
import { toolsetNamedBy } from '../../schemas/toolset.ts';
import type { FoldedEvent } from './folded-event.ts';

/** One row per registered tool, by tool id, with its reason codes. */
export const explain = (state: Pick<SessionState, 'effective_tools'>): readonly ToolVerdict[] =>
  state.effective_tools.verdicts;

export interface ExplainedReason {
  readonly code: ToolReason;
  /** True when the reason is for the tool. One reason against it is enough to exclude it. */
  readonly speaks_for: boolean;
  readonly text: string;
}

export interface ToolExplanation extends Omit<ToolVerdict, 'reasons'> {
  readonly reasons: readonly ExplainedReason[];
  /** The event that last changed the verdict; null when it has not changed since the start. */
  readonly since: { readonly position: number; readonly kind: string } | null;
}

/** Keeps, while a stream is folded, which events changed the verdict on each tool. */
export interface ToolHistory {
  add(folded: FoldedEvent): void;
  /** Explains every registered tool of one of the states so far, by tool id. */
  explain(state: SessionState): readonly ToolExplanation[];
}

export function newToolHistory(): ToolHistory {
  const changes = new Map<string, NonNullable<ToolExplanation['since']>[]>();
  return {
    add({ position, event, before, after }) {
      if (before.effective_tools === after.effective_tools) return;
      const was = new Map(before.effective_tools.verdicts.map((verdict) => [verdict.tool_id, verdict]));
      for (const verdict of after.effective_tools.verdicts) {
        if (isSame(was.get(verdict.tool_id), verdict)) continue;
        const known = changes.get(verdict.tool_id) ?? [];
        known.push({ position, kind: event.kind });
        changes.set(verdict.tool_id, known);
      }
    },
    explain: (state) =>
      state.effective_tools.verdicts.map((verdict) => ({
        ...verdict,
        reasons: verdict.reasons.map((code) => ({
          code,
          speaks_for: FOR.has(code),
          text: REASONS[code](state, verdict),
        })),
        since: changes.get(verdict.tool_id)?.findLast(({ position }) => position < state.version) ?? null,
      })),
  };
}

const isSame = (a: ToolVerdict | undefined, b: ToolVerdict): boolean =>
  a !== undefined && a.effective === b.effective && a.reasons.join() === b.reasons.join();

/** The profile in use, and what chose it: the run, the session's config, an event, or the provider's default. */
export function describeProfile(state: SessionState): string {
  const { run, config, tool_profile, effective_tools } = state;
  const { profile_id, provider } = effective_tools;
  const chosen =
    run !== null && run.config.tool_profile !== null
      ? 'the run names it'
      : config.tool_profile !== null
        ? 'the session’s config names it'
        : tool_profile !== null
          ? 'an event selected it'
          : `the default for the provider "${provider}"${modelInDefault(state)}`;
  return `${profile_id} (${chosen})`;
}

function modelInDefault(state: SessionState): string {
  if (defaultProfile(state)?.model_contains === undefined) return '';
  return ` and the model "${state.run?.config.model ?? state.config.model}"`;
}

const FOR: ReadonlySet<ToolReason> = new Set<ToolReason>([
  'in_profile',
  'enabled_by_session',
  'enabled_by_run',
  'forced_by_session',
  'forced_by_run',
  'in_toolset',
]);

type ReasonText = (state: SessionState, verdict: ToolVerdict) => string;

const REASONS: Readonly<Record<ToolReason, ReasonText>> = {
  in_profile: ({ effective_tools }) => `the profile "${effective_tools.profile_id}" lists it`,
  not_in_profile: ({ effective_tools }) =>
    `the profile "${effective_tools.profile_id}" does not list it, and nothing enables it`,
  enabled_by_session: () => 'the session enables it',
  enabled_by_run: () => 'the run enables it',
  forced_by_session: () => 'the session forces it',
  forced_by_run: () => 'the run forces it',
  disabled_by_session: () => 'the session disables it, which wins over enable and force',
  disabled_by_run: () => 'the run disables it, which wins over enable and force',
  host_session_not_ready: ({ tool_runtime_context: { host_session_status } }) =>
    `it needs a ready host session, and ${host_session_status === null ? 'there is none' : `the host session is ${host_session_status}`}`,
  host_session_ready: () => 'it is available only without a ready host session, and there is one',
  capability_missing: (state, { tool_id }) => `the host lacks ${missingCapabilities(state, tool_id).join(', ')}`,
  in_toolset: (_state, { tool_id }) => `the toolset "${toolsetNamedBy(tool_id)}" has it, as it was approved`,
  not_approved: (_state, { tool_id }) => `nothing of the toolset "${toolsetNamedBy(tool_id)}" is approved yet`,
  definition_changed: (_state, { tool_id }) =>
    `its definition is not the one that was approved of the toolset "${toolsetNamedBy(tool_id)}"`,
  beyond_offer: (state) => `a generate offers ${offerMaxOf(state)} tools, and others come first; tools_find finds it`,
  all_offered: (state) => `a generate offers every tool: no more than ${offerMaxOf(state)} are effective`,
};

function missingCapabilities(state: SessionState, toolId: string): readonly string[] {
  const rules = state.tool_registry[toolId]?.availability_rules ?? [];
  return rules
    .filter((rule) => rule.startsWith('capability:'))
    .map((rule) => rule.slice('capability:'.length))
    .filter((capability) => !state.tool_runtime_context.capabilities.includes(capability));
}
