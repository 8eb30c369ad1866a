// Tool packages are large, and thousands of sessions share a few of them. The parts derived from a package are computed
// once for each digest and shared, so that its specs and their digests are in memory once.
import { findPackageFault, profilesOf, registryOf } from '../../reducers/registry.ts';
import { canonicalText, digestJson } from '../../schemas/canonical.ts';
import type { Digest } from '../../schemas/ids.ts';
import { freezeJson } from '../../schemas/json.ts';
import { PACKAGES_SHARED_MAX } from '../../schemas/limits.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { ToolPackage, ToolProfiles, ToolRegistry } from '../../schemas/tool-set.ts';

export interface PackageParts {
  readonly digest: Digest;
  /** The package, and its canonical text. */
  readonly tool_package: ToolPackage;
  readonly text: string;
  /** Why the package is not valid; then its parts must not be used. Null when it is valid. */
  readonly fault: Rejection | null;
  readonly tool_registry: ToolRegistry;
  readonly tool_profiles: ToolProfiles;
  readonly provider_profiles: ToolPackage['provider_profiles'];
}

const shared = new Map<Digest, PackageParts>();
const digests = new WeakMap<ToolPackage, Digest>();

/** The digest of a package; a frozen package is digested once. */
export function packageDigest(tool_package: ToolPackage): Digest {
  const known = digests.get(tool_package);
  if (known !== undefined) return known;
  const made = digestJson(tool_package);
  if (Object.isFrozen(tool_package)) digests.set(tool_package, made);
  return made;
}

/** The parts of a package, frozen. The given package is not frozen or kept. */
export function partsOf(tool_package: ToolPackage): PackageParts {
  const digest = packageDigest(tool_package);
  const known = shared.get(digest);
  if (known !== undefined) return known;
  const text = canonicalText(tool_package);
  const copy = JSON.parse(text) as ToolPackage;
  const { registry, profiles, provider_profiles } = copy;
  const parts: PackageParts = freezeJson({
    digest,
    tool_package: copy,
    text,
    fault: findPackageFault(tool_package),
    tool_registry: registryOf(registry),
    tool_profiles: profilesOf(profiles),
    provider_profiles,
  });
  const [oldest] = shared.keys();
  if (shared.size >= PACKAGES_SHARED_MAX && oldest !== undefined) shared.delete(oldest);
  shared.set(digest, parts);
  digests.set(copy, digest);
  return parts;
}

/** The parts of a package in the cache; null when it is not there. */
export const knownParts = (digest: Digest): PackageParts | null => shared.get(digest) ?? null;
