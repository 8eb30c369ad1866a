// Tool packages are large, and thousands of sessions share a few of them. The parts derived from a package are computed
// once for each digest and shared, so that its specs and their digests are in memory once.
import { type Either, chain, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { findPackageFault, profilesOf, registryOf } from '../../reducers/registry.ts';
import { canonicalText, digestJson, digestText } from '../../schemas/canonical.ts';
import { decode } from '../../schemas/codec.ts';
import type { Digest } from '../../schemas/ids.ts';
import { type Json, freezeJson, parseJson } from '../../schemas/json.ts';
import { BLOB_BYTES_MAX, PACKAGES_SHARED_MAX } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { ToolPackage, type ToolProfiles, type ToolRegistry } from '../../schemas/tool-set.ts';
import { type Steps, runSteps } from './steps.ts';

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
export const partsOf = (tool_package: ToolPackage): PackageParts => runSteps(partsInSteps(tool_package));

function* partsInSteps(tool_package: ToolPackage): Steps<PackageParts> {
  const digest = packageDigest(tool_package);
  const known = shared.get(digest);
  if (known !== undefined) return known;
  yield;
  const text = canonicalText(tool_package);
  const copy = JSON.parse(text) as ToolPackage;
  const { registry, profiles, provider_profiles } = copy;
  yield;
  const fault = findPackageFault(tool_package);
  yield;
  const parts: PackageParts = freezeJson({
    digest,
    tool_package: copy,
    text,
    fault,
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

/** The package of a stored text, frozen and shared; or a rejection when the text has another digest or no valid package. */
export const readPackageText = (text: string, digest: Digest): Either<Rejection, ToolPackage> =>
  runSteps(readPackageInSteps(text, digest));

/** The same in steps: a large package takes longer than one turn of an event loop may last. */
export function* readPackageInSteps(text: string, digest: Digest): Steps<Either<Rejection, ToolPackage>> {
  const known = shared.get(digest);
  if (known?.text === text) return right(known.tool_package);
  if (digestText(text) !== digest) return left(otherPackage(digest));
  const parsed = parseJson(text, BLOB_BYTES_MAX);
  yield;
  const decoded = chain((value: Json) => decode(ToolPackage, value))(parsed);
  if (isLeft(decoded)) return decoded;
  yield;
  return checkParts(yield* partsInSteps(decoded.right), digest);
}

/** The given package, frozen and shared, when it has this digest and is valid. */
export const checkPackage = (tool_package: ToolPackage, digest: Digest): Either<Rejection, ToolPackage> =>
  checkParts(partsOf(tool_package), digest);

function checkParts(parts: PackageParts, digest: Digest): Either<Rejection, ToolPackage> {
  if (parts.digest !== digest) return left(otherPackage(digest));
  return parts.fault === null ? right(parts.tool_package) : left(parts.fault);
}

const otherPackage = (digest: Digest): Rejection =>
  reject('digest_mismatch', '/tool_package', `the tool package does not have the digest ${digest}`);

/** The package with this digest when it is in the cache, else null. */
export const knownPackage = (digest: Digest): ToolPackage | null => shared.get(digest)?.tool_package ?? null;
