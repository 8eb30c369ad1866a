// Why tools are in the effective set or out of it, in words, and since when (DESIGN section 4, step 5).
import type { EventRecord } from '../../schemas/record.ts';
import type { SessionState } from '../../schemas/state.ts';
import type { ToolReason, ToolVerdict } from '../../schemas/tool-set.ts';

export interface ReasonInWords {
  readonly code: ToolReason;
  /** Whether it speaks for the tool; one reason against it is enough to keep it out. */
  readonly speaks_for: boolean;
  readonly text: string;
}

export interface ToolExplanation extends Omit<ToolVerdict, 'reasons'> {
  readonly reasons: readonly ReasonInWords[];
  /** The event that made it so; null when it has been so from the start. */
  readonly since: { readonly position: number; readonly kind: string } | null;
}

/** Follows a stream as it is folded and remembers which event last changed the verdict on each tool. */
export interface ToolHistory {
  add(record: EventRecord, before: SessionState, after: SessionState): void;
  /** Every registered tool of a state this history has come to, by tool id. */
  explain(state: SessionState): readonly ToolExplanation[];
}

export function newToolHistory(): ToolHistory {
  const changes = new Map<string, NonNullable<ToolExplanation['since']>>();
  return {
    add({ position, event }, before, after) {
      if (before.effective_tools === after.effective_tools) return;
      const known = new Map(before.effective_tools.verdicts.map((verdict) => [verdict.tool_id, verdict]));
      for (const verdict of after.effective_tools.verdicts) {
        if (isSame(known.get(verdict.tool_id), verdict)) continue;
        changes.set(verdict.tool_id, { position, kind: event.kind });
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
        since: changes.get(verdict.tool_id) ?? null,
      })),
  };
}

const isSame = (a: ToolVerdict | undefined, b: ToolVerdict): boolean =>
  a !== undefined && a.effective === b.effective && a.reasons.join() === b.reasons.join();

/** Which profile counts, and by whose choice: the run's, the session's, the selected, the provider's default. */
export function profileInWords({ run, config, tool_profile, effective_tools }: SessionState): string {
  const { profile_id, provider } = effective_tools;
  const chosen =
    run !== null && run.config.tool_profile !== null
      ? 'the run names it'
      : config.tool_profile !== null
        ? 'the session’s config names it'
        : tool_profile !== null
          ? 'an event selected it'
          : `the default for the provider "${provider}"`;
  return `${profile_id} (${chosen})`;
}

const FOR: ReadonlySet<ToolReason> = new Set<ToolReason>([
  'in_profile',
  'enabled_by_session',
  'enabled_by_run',
  'forced_by_session',
  'forced_by_run',
]);

type InWords = (state: SessionState, verdict: ToolVerdict) => string;

const REASONS: Readonly<Record<ToolReason, InWords>> = {
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
    `it needs a ready host session, and ${host_session_status === null ? 'there is none' : `this one is ${host_session_status}`}`,
  host_session_ready: () => 'it is there only while no host session is ready, and one is',
  capability_missing: (state, { tool_id }) => `the host lacks ${missingCapabilities(state, tool_id).join(', ')}`,
};

function missingCapabilities(state: SessionState, toolId: string): readonly string[] {
  const rules = state.tool_registry[toolId]?.availability_rules ?? [];
  return rules
    .filter((rule) => rule.startsWith('capability:'))
    .map((rule) => rule.slice('capability:'.length))
    .filter((capability) => !state.tool_runtime_context.capabilities.includes(capability));
}
