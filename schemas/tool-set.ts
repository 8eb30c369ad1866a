// The tools of a session: package, profiles, overrides, facts about the host, and the effective set that follows from
// them (AOS P7, "Tool Runtime Layer").
import { type TypeOf, dictionary, flag, list, nullable, oneOf, remembering, shape, text } from './codec.ts';
import { HostSessionId, ProfileId, TimeMs, ToolId, ToolName } from './ids.ts';
import { CAPABILITIES_MAX, PROFILES_MAX, REGISTRY_TOOLS_MAX, TOOLS_MAX } from './limits.ts';
import { ToolSpec } from './tool-spec.ts';
import { WorkspaceName } from './undo.ts';

/** A named, ordered list of tools. */
export const ToolProfile = shape('ToolProfile', { profile_id: ProfileId, tool_ids: list(ToolId, TOOLS_MAX) });
export type ToolProfile = TypeOf<typeof ToolProfile>;

/**
 * The profile for providers whose name contains `provider_contains` (lower case) and models whose name contains
 * `model_contains`; when absent, for all models. Case does not count. The first entry that matches wins.
 */
export const ProviderProfile = shape(
  'ProviderProfile',
  { provider_contains: text('provider_contains', { max: 64 }), profile_id: ProfileId },
  { model_contains: text('model_contains', { min: 1, max: 128 }) },
);
export type ProviderProfile = TypeOf<typeof ProviderProfile>;

/**
 * The tools a session is created with (AOS P7, "Install-Time Profile Preload"). An empty `provider_contains` matches
 * every provider.
 */
export const ToolPackage = remembering(
  shape('ToolPackage', {
    registry: list(ToolSpec, TOOLS_MAX),
    profiles: list(ToolProfile, PROFILES_MAX),
    provider_profiles: list(ProviderProfile, PROFILES_MAX),
  }),
);
export type ToolPackage = TypeOf<typeof ToolPackage>;

export const ToolRegistry = dictionary(ToolId, ToolSpec, REGISTRY_TOOLS_MAX);
export type ToolRegistry = TypeOf<typeof ToolRegistry>;

export const ToolProfiles = dictionary(ProfileId, ToolProfile, PROFILES_MAX);
export type ToolProfiles = TypeOf<typeof ToolProfiles>;

/** Tool ids to add to the profile (`enable`, `force`) and to remove. Disable wins over both others. */
export const ToolOverrides = shape('ToolOverrides', {
  enable: list(ToolId, TOOLS_MAX),
  disable: list(ToolId, TOOLS_MAX),
  force: list(ToolId, TOOLS_MAX),
});
export type ToolOverrides = TypeOf<typeof ToolOverrides>;

export const NO_OVERRIDES: ToolOverrides = { disable: [], enable: [], force: [] };

export const HostSessionStatus = oneOf('HostSessionStatus', ['ready', 'closed', 'expired', 'error']);
export type HostSessionStatus = TypeOf<typeof HostSessionStatus>;

/** How the host confines commands (docs/design.md, "Safety"). */
export const SandboxLevel = oneOf('SandboxLevel', ['none', 'bwrap']);
export type SandboxLevel = TypeOf<typeof SandboxLevel>;

const capability = text('capability', { min: 1, max: 64, pattern: /^[A-Za-z0-9_.-]+$/ });

const placeFields = {
  sandbox: SandboxLevel,
  /** With the sandbox `none`: commands run as the engine's own user, who can read its tokens. */
  commands_share_user: flag,
  /** The path of the workspace. */
  workspace: text('workspace', { max: 4_096 }),
  /** Two workspaces with one path have different names. */
  workspace_name: WorkspaceName,
} as const;

/** Where a host runs calls, and how it confines commands: what a person allowed there is not allowed elsewhere. */
export const HostPlace = shape('HostPlace', {}, placeFields);
export type HostPlace = TypeOf<typeof HostPlace>;

/** Facts about the host that decide the availability of tools; null or absent until known. */
export const ToolRuntimeContext = shape(
  'ToolRuntimeContext',
  {
    host_session_id: nullable(HostSessionId),
    host_session_status: nullable(HostSessionStatus),
    host_session_expires_at_ms: nullable(TimeMs),
    sandbox: nullable(SandboxLevel),
    workspace: nullable(placeFields.workspace),
    /** Sorted, without repeats. */
    capabilities: list(capability, CAPABILITIES_MAX),
  },
  { commands_share_user: flag, workspace_name: WorkspaceName },
);
export type ToolRuntimeContext = TypeOf<typeof ToolRuntimeContext>;

/** New facts about the host; absent fields stay as they are. */
export const HostSessionFacts = shape(
  'HostSessionFacts',
  {},
  {
    host_session_id: HostSessionId,
    host_session_status: HostSessionStatus,
    expires_at_ms: TimeMs,
    ...placeFields,
    capabilities: list(capability, CAPABILITIES_MAX),
  },
);
export type HostSessionFacts = TypeOf<typeof HostSessionFacts>;

/** Why a tool is or is not in the effective set. */
export const ToolReason = oneOf('ToolReason', [
  'in_profile',
  'not_in_profile',
  'enabled_by_session',
  'enabled_by_run',
  'forced_by_session',
  'forced_by_run',
  'disabled_by_session',
  'disabled_by_run',
  'host_session_not_ready',
  'host_session_ready',
  'capability_missing',
  'in_toolset',
  'not_approved',
  'definition_changed',
  'beyond_offer',
  'all_offered',
]);
export type ToolReason = TypeOf<typeof ToolReason>;

/** Whether one registered tool is in the effective set, with all reasons. */
export const ToolVerdict = shape('ToolVerdict', {
  tool_id: ToolId,
  tool_name: ToolName,
  effective: flag,
  reasons: list(ToolReason, 16),
});
export type ToolVerdict = TypeOf<typeof ToolVerdict>;

/** The tools a model may be offered now, in order, and the verdict on every registered tool, by tool id. */
export const EffectiveToolSet = shape('EffectiveToolSet', {
  profile_id: ProfileId,
  provider: text('provider', { max: 64 }),
  ordered_tools: list(ToolSpec, REGISTRY_TOOLS_MAX),
  verdicts: list(ToolVerdict, REGISTRY_TOOLS_MAX),
});
export type EffectiveToolSet = TypeOf<typeof EffectiveToolSet>;
