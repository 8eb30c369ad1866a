// Which tools a model may be offered now, and why (AOS P7, "Effective Tool Computation"; docs/design.md, "Effective
// tools").
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { ProfileId, ToolId } from '../schemas/ids.ts';
import { freezeJson } from '../schemas/json.ts';
import { EFFECTIVE_SETS_KEPT, TOOLS_MAX } from '../schemas/limits.ts';
import { type Rejection, reject } from '../schemas/rejection.ts';
import type { SessionState } from '../schemas/state.ts';
import type {
  EffectiveToolSet,
  ProviderProfile,
  ToolOverrides,
  ToolProfile,
  ToolReason,
  ToolRuntimeContext,
} from '../schemas/tool-set.ts';
import { isKnownTool } from './registry.ts';
import { standingOf } from './toolsets/members.ts';
import { type ToolAvailabilityRule, type ToolSpec, toolRunBy } from '../schemas/tool-spec.ts';

/** The part of the state that determines the effective set. */
export type EffectiveToolsInput = Pick<
  SessionState,
  | 'tool_registry'
  | 'tool_profiles'
  | 'provider_profiles'
  | 'tool_profile'
  | 'tool_overrides'
  | 'tool_runtime_context'
  | 'toolsets'
  | 'config'
> & {
  /** The live run's config, when there is a run. */
  readonly run: {
    readonly config: Pick<SessionState['config'], 'model' | 'offer_max' | 'provider' | 'tool_profile'>;
  } | null;
};

/**
 * The effective tools, ordered by profile and then by tool id, with the reasons of every registered tool; or a
 * rejection `profile_unknown` or `tool_unknown`. Disable wins over enable and force; force does not make an
 * unavailable tool available.
 */
export function computeEffectiveTools(input: EffectiveToolsInput): Either<Rejection, EffectiveToolSet> {
  const registry = input.tool_registry;
  if (!Object.isFrozen(registry)) return compute(input);
  const known = recent.get(registry) ?? [];
  const before = known.find((computed) => leadToSameSet(computed.input, input));
  if (before !== undefined) return before.tools;
  const computed = { input: inputOnly(input), tools: freezeJson(compute(input)) };
  recent.set(registry, [computed, ...known].slice(0, EFFECTIVE_SETS_KEPT));
  return computed.tools;
}

/** Why there is no effective set: the rejection, and the provider, profile or tool that caused it. */
export interface ToolSetFault {
  readonly rejection: Rejection & { readonly code: 'profile_unknown' | 'tool_unknown' };
  readonly name: string;
}

/** Null when the input leads to an effective set. */
export function findToolSetFault(input: EffectiveToolsInput): ToolSetFault | null {
  const profile = selectProfile(input, providerOf(input));
  return isLeft(profile) ? profile.left : findUnknownTool(input, profile.right);
}

interface Computed {
  readonly input: EffectiveToolsInput;
  readonly tools: Either<Rejection, EffectiveToolSet>;
}

// Runs ask for the same few sets repeatedly, and thousands of sessions share one tool package.
const recent = new WeakMap<SessionState['tool_registry'], readonly Computed[]>();

/** The input without the rest of the state, so that the cache keeps no state alive. */
const inputOnly = (input: EffectiveToolsInput): EffectiveToolsInput => ({
  config: input.config,
  provider_profiles: input.provider_profiles,
  run: input.run === null ? null : { config: input.run.config },
  tool_overrides: input.tool_overrides,
  tool_profile: input.tool_profile,
  tool_profiles: input.tool_profiles,
  tool_registry: input.tool_registry,
  tool_runtime_context: input.tool_runtime_context,
  ...(input.toolsets === undefined ? {} : { toolsets: input.toolsets }),
});

/** Whether both inputs, which have the same registry, lead to the same set. */
function leadToSameSet(a: EffectiveToolsInput, b: EffectiveToolsInput): boolean {
  return (
    a.toolsets === b.toolsets &&
    offerMaxOf(a) === offerMaxOf(b) &&
    a.tool_profiles === b.tool_profiles &&
    a.provider_profiles === b.provider_profiles &&
    providerOf(a) === providerOf(b) &&
    (modelOf(a) === modelOf(b) || !a.provider_profiles.some(namesModel)) &&
    namedProfile(a) === namedProfile(b) &&
    a.tool_runtime_context.host_session_status === b.tool_runtime_context.host_session_status &&
    sameList(a.tool_runtime_context.capabilities, b.tool_runtime_context.capabilities) &&
    sameOverrides(a.tool_overrides.session, b.tool_overrides.session) &&
    sameOverrides(a.tool_overrides.run, b.tool_overrides.run)
  );
}

const sameOverrides = (a: ToolOverrides, b: ToolOverrides): boolean =>
  a === b || (sameList(a.enable, b.enable) && sameList(a.disable, b.disable) && sameList(a.force, b.force));

const sameList = (a: readonly string[], b: readonly string[]): boolean =>
  a === b || (a.length === b.length && a.every((item, index) => item === b[index]));

const providerOf = ({ run, config }: EffectiveToolsInput): string => (run?.config.provider ?? config.provider).trim();

const modelOf = ({ run, config }: EffectiveToolsInput): string => (run?.config.model ?? config.model).trim();

/** How many tools a generate offers at most. */
export const offerMaxOf = ({ run, config }: EffectiveToolsInput): number =>
  Math.min((run?.config ?? config).offer_max ?? TOOLS_MAX, TOOLS_MAX);

const namesModel = ({ model_contains }: ProviderProfile): boolean => model_contains !== undefined;

/** The profile of the run, of the session's config, or the selected one; null when none is named. */
const namedProfile = ({ run, config, tool_profile }: EffectiveToolsInput): ProfileId | null =>
  run?.config.tool_profile ?? config.tool_profile ?? tool_profile;

function compute(input: EffectiveToolsInput): Either<Rejection, EffectiveToolSet> {
  const provider = providerOf(input);
  const profile = selectProfile(input, provider);
  if (isLeft(profile)) return left(profile.left.rejection);
  const unknown = findUnknownTool(input, profile.right);
  if (unknown !== null) return left(unknown.rejection);

  const reasonsOf = reasonTable(input, profile.right);
  const judged = Object.keys(input.tool_registry)
    .sort()
    .map((key) => {
      const spec = input.tool_registry[key] as ToolSpec;
      const { candidate, reasons } = reasonsOf(spec.tool_id);
      const unmet = unmetRules(spec.availability_rules, input.tool_runtime_context);
      return { available: candidate && unmet.length === 0, reasons: [...reasons, ...unmet], spec };
    });
  // The tools that need an exceeded offer do not count, so that they come and go with the others alone.
  const exceeds = judged.filter(({ available, spec }) => available && !needsExcess(spec)).length > offerMaxOf(input);
  const effective = new Set<ToolId>();
  const verdicts = judged.map(({ available, reasons, spec }) => {
    const all_offered = needsExcess(spec) && !exceeds;
    if (available && !all_offered) effective.add(spec.tool_id);
    return {
      effective: effective.has(spec.tool_id),
      reasons: all_offered ? [...reasons, 'all_offered' as const] : reasons,
      tool_id: spec.tool_id,
      tool_name: spec.tool_name,
    };
  });

  const extras = [...effective].filter((id) => !profile.right.tool_ids.includes(id)).sort();
  const order = [...new Set([...profile.right.tool_ids, ...extras])].filter((id) => effective.has(id));
  return right({
    ordered_tools: order.map((id) => input.tool_registry[id] as ToolSpec),
    profile_id: profile.right.profile_id,
    provider,
    verdicts,
  });
}

/** The tool is only for a session with more tools than a generate offers. */
export const needsExcess = ({ availability_rules }: ToolSpec): boolean => availability_rules.includes('offer_exceeded');

/** True when a tool is not effective for the sole reason that the host session is not ready. */
export const waitsForHostSession = ({ verdicts }: EffectiveToolSet): boolean =>
  verdicts.some(
    ({ reasons }) =>
      reasons.includes('host_session_not_ready') && !reasons.some((reason) => OTHER_OBSTACLES.has(reason)),
  );

const OTHER_OBSTACLES: ReadonlySet<ToolReason> = new Set<ToolReason>([
  'not_in_profile',
  'disabled_by_session',
  'disabled_by_run',
  'capability_missing',
  'not_approved',
  'definition_changed',
  'all_offered',
]);

/** Precedence: the profile of the run, of the session's config, the selected one, the default of provider and model. */
function selectProfile(input: EffectiveToolsInput, provider: string): Either<ToolSetFault, ToolProfile> {
  const named = namedProfile(input) ?? defaultProfile(input, provider)?.profile_id;
  if (named === undefined) {
    const model = input.provider_profiles.some(namesModel) ? ` and the model "${modelOf(input)}"` : '';
    const message = `no default tool profile fits the provider "${provider}"${model}`;
    return left(fault('profile_unknown', '/provider', provider, message));
  }
  const profile = Object.hasOwn(input.tool_profiles, named) ? input.tool_profiles[named] : undefined;
  return profile === undefined
    ? left(fault('profile_unknown', '/profile_id', named, `there is no tool profile "${named}"`))
    : right(profile);
}

/** The first entry that fits both the provider and the model. An entry that names no model fits every model. */
export function defaultProfile(input: EffectiveToolsInput, provider = providerOf(input)): ProviderProfile | undefined {
  const model = modelOf(input).toLowerCase();
  const lower = provider.toLowerCase();
  return input.provider_profiles.find(
    ({ provider_contains, model_contains = '' }) =>
      lower.includes(provider_contains) && model.includes(model_contains.toLowerCase()),
  );
}

const fault = (code: ToolSetFault['rejection']['code'], path: string, name: string, message: string): ToolSetFault => ({
  rejection: { ...reject(code, path, message), code },
  name,
});

function findUnknownTool(input: EffectiveToolsInput, profile: ToolProfile): ToolSetFault | null {
  const { session, run } = input.tool_overrides;
  const lists: readonly (readonly [path: string, ids: readonly ToolId[]])[] = [
    [`/profiles/${profile.profile_id}/tool_ids`, profile.tool_ids],
    ...(['enable', 'disable', 'force'] as const).flatMap((kind) => [
      [`/${kind}`, session[kind]] as const,
      [`/${kind}`, run[kind]] as const,
    ]),
  ];
  for (const [path, ids] of lists) {
    const index = ids.findIndex((id) => !isKnownTool(input.tool_registry, id));
    const name = ids[index];
    if (name !== undefined) return fault('tool_unknown', `${path}/${index}`, name, `there is no tool "${name}"`);
  }
  return null;
}

interface Candidacy {
  readonly candidate: boolean;
  readonly reasons: readonly ToolReason[];
}

function reasonTable(input: EffectiveToolsInput, profile: ToolProfile): (id: ToolId) => Candidacy {
  const { session, run } = input.tool_overrides;
  const allow: readonly (readonly [ToolReason, ReadonlySet<ToolId>])[] = [
    ['in_profile', new Set(profile.tool_ids)],
    ['enabled_by_session', new Set(session.enable)],
    ['enabled_by_run', new Set(run.enable)],
    ['forced_by_session', new Set(session.force)],
    ['forced_by_run', new Set(run.force)],
  ];
  const deny: readonly (readonly [ToolReason, ReadonlySet<ToolId>])[] = [
    ['disabled_by_session', new Set(session.disable)],
    ['disabled_by_run', new Set(run.disable)],
  ];
  // Under another name, as in a catalog, a tool that is disabled is so, too.
  const isDisabled = (id: ToolId, ids: ReadonlySet<string>): boolean => {
    const executor = input.tool_registry[id]?.executor;
    return ids.has(id) || (executor !== undefined && ids.has(toolRunBy(executor) ?? ''));
  };
  return (id) => {
    const standing = standingOf(input.toolsets, id);
    const named = allow.filter(([, ids]) => ids.has(id)).map(([reason]) => reason);
    const allowed: readonly ToolReason[] = standing === 'approved' ? [...named, 'in_toolset'] : named;
    const denied: readonly ToolReason[] = [
      ...(standing === 'not_approved' ? (['not_approved'] as const) : []),
      ...(standing === 'changed' ? (['definition_changed'] as const) : []),
      ...deny.filter(([, ids]) => ids.size > 0 && isDisabled(id, ids)).map(([reason]) => reason),
    ];
    return {
      candidate: allowed.length > 0 && denied.length === 0,
      reasons: [...(allowed.length === 0 && standing === null ? (['not_in_profile'] as const) : allowed), ...denied],
    };
  };
}

/** The reasons why availability rules do not hold; empty when all hold. */
function unmetRules(rules: readonly ToolAvailabilityRule[], context: ToolRuntimeContext): readonly ToolReason[] {
  const ready = context.host_session_status === 'ready';
  const unmet = rules.flatMap((rule): readonly ToolReason[] => {
    if (rule === 'host_session_ready') return ready ? [] : ['host_session_not_ready'];
    if (rule === 'host_session_not_ready') return ready ? ['host_session_ready'] : [];
    if (!rule.startsWith('capability:')) return [];
    return context.capabilities.includes(rule.slice('capability:'.length)) ? [] : ['capability_missing'];
  });
  return [...new Set(unmet)];
}
