// The tool registry and its profiles: what makes them valid, and how an event replaces them (AOS P7, "Tool Inventory
// Layer").
import { toolRef } from '../schemas/define-tool.ts';
import type { EventOfKind } from '../schemas/event.ts';
import { type Rejection, reject } from '../schemas/rejection.ts';
import type { SessionState } from '../schemas/state.ts';
import type { ToolPackage, ToolProfiles, ToolRegistry } from '../schemas/tool-set.ts';
import type { ToolSpec } from '../schemas/tool-spec.ts';
import { toolsetNamedBy } from '../schemas/toolset.ts';
import type { NextState } from './next-state.ts';
import { toolsetTools } from './toolset-members.ts';

export const registryOf = (tools: ToolPackage['registry']): ToolRegistry => byId(tools, ({ tool_id }) => tool_id);

export const profilesOf = (profiles: ToolPackage['profiles']): ToolProfiles =>
  byId(profiles, ({ profile_id }) => profile_id);

/** The entries in canonical order, as everywhere in state. */
const byId = <T>(items: readonly T[], idOf: (item: T) => string): Readonly<Record<string, T>> =>
  Object.fromEntries(items.map((item): [string, T] => [idOf(item), item]).sort(([a], [b]) => (a < b ? -1 : 1)));

/** Whether an id may be named: tools of toolsets come and go, so that theirs always may. */
export const isKnownTool = (registry: ToolRegistry, id: string): boolean =>
  Object.hasOwn(registry, id) || toolsetNamedBy(id) !== null;

/**
 * Null when the ids and names of these tools and of those registered `beside` them are unique, and every `tool_ref` is
 * correct.
 */
export function findToolsFault(
  tools: readonly ToolSpec[],
  pathOf: (index: number) => string,
  beside: readonly ToolSpec[] = [],
): Rejection | null {
  const ids = new Set<string>(beside.map(({ tool_id }) => tool_id));
  const names = new Set<string>(beside.map(({ tool_name }) => tool_name));
  for (const [index, tool] of tools.entries()) {
    const at = (field: string, message: string): Rejection =>
      reject('registry_invalid', `${pathOf(index)}/${field}`, message);
    if (ids.has(tool.tool_id)) return at('tool_id', `the tool id "${tool.tool_id}" occurs twice; remove one`);
    if (names.has(tool.tool_name))
      return at('tool_name', `the tool name "${tool.tool_name}" occurs twice; rename or remove one`);
    if (tool.tool_ref !== toolRef(tool))
      return at('tool_ref', `must be the digest of the definition, ${toolRef(tool)}`);
    ids.add(tool.tool_id);
    names.add(tool.tool_name);
  }
  return null;
}

/**
 * Null when the tools are valid (`findToolsFault`) and every profile names only tools that are registered or may come with a
 * toolset.
 */
export function findPackageFault(
  { registry, profiles, provider_profiles }: ToolPackage,
  beside: readonly ToolSpec[] = [],
): Rejection | null {
  const invalid = findToolsFault(registry, (index) => `/registry/${index}`, beside);
  if (invalid !== null) return invalid;
  const ids = new Set<string>(registry.map(({ tool_id }) => tool_id));
  const profileIds = new Set<string>();
  for (const [index, profile] of profiles.entries()) {
    const path = `/profiles/${index}`;
    if (profileIds.has(profile.profile_id)) {
      return reject(
        'registry_invalid',
        `${path}/profile_id`,
        `the profile id "${profile.profile_id}" occurs twice; remove one`,
      );
    }
    profileIds.add(profile.profile_id);
    const unregistered = profile.tool_ids.findIndex((id) => !ids.has(id) && toolsetNamedBy(id) === null);
    if (unregistered !== -1) {
      const message = `the profile "${profile.profile_id}" names "${profile.tool_ids[unregistered]}", which is not registered; register the tool or remove it here`;
      return reject('registry_invalid', `${path}/tool_ids/${unregistered}`, message);
    }
  }
  const dangling = provider_profiles.findIndex((entry) => !profileIds.has(entry.profile_id));
  if (dangling === -1) return null;
  const message = `there is no profile "${provider_profiles[dangling]?.profile_id}"; add it to the profiles`;
  return reject('registry_invalid', `/provider_profiles/${dangling}/profile_id`, message);
}

/** The package after a `ToolRegistrySet`; omitted parts stay. */
export const packageAfter = (state: SessionState, event: EventOfKind<'ToolRegistrySet'>): ToolPackage => ({
  registry: event.registry,
  profiles: event.profiles ?? Object.values(state.tool_profiles),
  provider_profiles: event.provider_profiles ?? state.provider_profiles,
});

export function setRegistry(next: NextState, event: EventOfKind<'ToolRegistrySet'>): void {
  next.tool_registry = registryOf([...event.registry, ...toolsetTools(next)]);
  if (event.profiles !== undefined) next.tool_profiles = profilesOf(event.profiles);
  if (event.provider_profiles !== undefined) next.provider_profiles = event.provider_profiles;
}
