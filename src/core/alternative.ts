// The alternatives of a what-if as people write them: tools as their authors write them, profiles and policies.
import { type Either, chain, isLeft, left, map, right } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { findPackageFault } from '../../reducers/registry.ts';
import { type Codec, decode, list } from '../../schemas/codec.ts';
import { ConsentPolicy } from '../../schemas/consent.ts';
import { type ToolDefinition, defineTool } from '../../schemas/define-tool.ts';
import { ProfileId } from '../../schemas/ids.ts';
import { type Json, type JsonObject, isPlainObject } from '../../schemas/json.ts';
import { PROFILES_MAX, TOOLS_MAX } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { ProviderProfile, ToolProfile } from '../../schemas/tool-set.ts';
import { ToolSpec } from '../../schemas/tool-spec.ts';
import { CONSENT_PRESETS } from '../toolsets/consent-presets.ts';
import type { Alternative } from './what-if.ts';

/** The policies that have a name. */
export const POLICY_PRESETS: Readonly<Record<string, ConsentPolicy>> = CONSENT_PRESETS;

/** The preset with this name; undefined when there is none. */
export const policyPreset = (name: string): ConsentPolicy | undefined =>
  Object.hasOwn(POLICY_PRESETS, name) ? POLICY_PRESETS[name] : undefined;

export const policyAlternative = (value: Json): Either<Rejection, Alternative> =>
  map((policy: ConsentPolicy): Alternative => ({ policy }))(decode(ConsentPolicy, value));

export const profileAlternative = (id: string): Either<Rejection, Alternative> =>
  map((profile: ProfileId): Alternative => ({ profile }))(decode(ProfileId, id));

/** Of a list of tools, or of `{ registry, profiles?, provider_profiles? }`. */
export function registryAlternative(value: Json): Either<Rejection, Alternative> {
  const given: JsonObject = Array.isArray(value) ? { registry: value } : isPlainObject(value) ? value : {};
  const { registry: tools, profiles, provider_profiles, ...unknown } = given;
  if (!Array.isArray(tools) || Object.keys(unknown).length > 0) {
    const message = 'it holds neither a list of tools nor { registry, profiles?, provider_profiles? }';
    return left(reject('invalid_shape', '', message));
  }
  return pipe(
    part('registry', tools.map(defined), list(ToolSpec, TOOLS_MAX)),
    chain((registry) =>
      pipe(
        optional('profiles', profiles, list(ToolProfile, PROFILES_MAX)),
        chain((ofProfiles) =>
          pipe(
            optional('provider_profiles', provider_profiles, list(ProviderProfile, PROFILES_MAX)),
            map((ofProviders): PackageAlternative => ({ registry, ...ofProfiles, ...ofProviders })),
          ),
        ),
      ),
    ),
    chain(whole),
  );
}

type PackageAlternative = Alternative & Required<Pick<Alternative, 'registry'>>;

function whole(alternative: PackageAlternative): Either<Rejection, Alternative> {
  const { registry, profiles = [], provider_profiles = [] } = alternative;
  const providers = alternative.profiles === undefined ? [] : provider_profiles;
  const fault = findPackageFault({ registry, profiles, provider_profiles: providers });
  return fault === null ? right(alternative) : left(fault);
}

// The author of a definition cannot know its digest, so it is computed. Omitted fields take the safest default.
function defined(tool: Json): unknown {
  if (!isPlainObject(tool) || typeof tool['tool_name'] !== 'string' || !isPlainObject(tool['input_schema']))
    return tool;
  const { tool_ref: _old, ...definition } = tool;
  return defineTool(definition as unknown as ToolDefinition);
}

function part<T>(name: string, value: unknown, codec: Codec<T>): Either<Rejection, T> {
  const decoded = decode(codec, value);
  return isLeft(decoded) ? left({ ...decoded.left, path: `/${name}${decoded.left.path}` }) : decoded;
}

function optional<Name extends 'profiles' | 'provider_profiles', T>(
  name: Name,
  value: Json | undefined,
  codec: Codec<T>,
): Either<Rejection, { readonly [K in Name]?: T }> {
  if (value === undefined) return right({});
  return map((decoded: T) => ({ [name]: decoded }) as { readonly [K in Name]?: T })(part(name, value, codec));
}
