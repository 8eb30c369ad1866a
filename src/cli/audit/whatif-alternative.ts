// Reads the alternatives of `refold whatif` from files: tools as their authors write them, profiles and policies.
import { existsSync } from 'node:fs';
import { type Either, isLeft } from 'fp-ts/lib/Either.js';
import { findPackageFault } from '../../../reducers/registry.ts';
import { type Codec, decode, list } from '../../../schemas/codec.ts';
import { ConsentPolicy } from '../../../schemas/consent.ts';
import { type ToolDefinition, defineTool } from '../../../schemas/define-tool.ts';
import { ProfileId } from '../../../schemas/ids.ts';
import { type Json, type JsonObject, isPlainObject, parseJson } from '../../../schemas/json.ts';
import { AUDIT_FILE_BYTES_MAX, PROFILES_MAX, TOOLS_MAX } from '../../../schemas/limits.ts';
import type { Rejection } from '../../../schemas/rejection.ts';
import { ProviderProfile, ToolProfile } from '../../../schemas/tool-set.ts';
import { ToolSpec } from '../../../schemas/tool-spec.ts';
import type { Alternative } from '../../core/what-if.ts';
import { CONSENT_PRESETS } from '../../toolsets/consent-presets.ts';
import { readText } from '../files.ts';
import { CommandFailure } from '../output.ts';

export interface AlternativeFiles {
  /** A list of tools, or `{ registry, profiles?, provider_profiles? }`. */
  readonly registry?: string;
  /** The id of a profile. */
  readonly profile?: string;
  /** A consent policy, or the name of a preset. */
  readonly policy?: string;
}

export async function readAlternativeFiles({ registry, profile, policy }: AlternativeFiles): Promise<Alternative> {
  return {
    ...(registry === undefined ? {} : await readRegistry(registry)),
    ...(profile === undefined ? {} : { profile: decodedOrThrow('--profile', decode(ProfileId, profile)) }),
    ...(policy === undefined ? {} : { policy: await readPolicy(policy) }),
  };
}

async function readPolicy(given: string): Promise<ConsentPolicy> {
  const presets: Readonly<Record<string, ConsentPolicy>> = CONSENT_PRESETS;
  const preset = Object.hasOwn(presets, given) ? presets[given] : undefined;
  if (preset !== undefined) return preset;
  if (!existsSync(given)) {
    const names = Object.keys(presets).join(', ');
    throw new CommandFailure('file_unreadable', `${given} is neither a file nor a preset. The presets are ${names}`);
  }
  return decodedOrThrow(given, decode(ConsentPolicy, await readJsonFile(given)));
}

async function readRegistry(path: string): Promise<Alternative> {
  const value = await readJsonFile(path);
  const given: JsonObject = Array.isArray(value) ? { registry: value } : isPlainObject(value) ? value : {};
  const { registry: tools, profiles, provider_profiles, ...unknown } = given;
  if (!Array.isArray(tools) || Object.keys(unknown).length > 0) {
    throw notRegistry(path, 'it holds neither a list of tools nor { registry, profiles?, provider_profiles? }');
  }
  const registry = decodedOrThrow(path, decode(list(ToolSpec, TOOLS_MAX), tools.map(defined)), '/registry');
  const alternative = {
    registry,
    ...optional('profiles', profiles, list(ToolProfile, PROFILES_MAX), path),
    ...optional('provider_profiles', provider_profiles, list(ProviderProfile, PROFILES_MAX), path),
  };
  const fault = findPackageFault({
    registry,
    profiles: alternative.profiles ?? [],
    provider_profiles: alternative.profiles === undefined ? [] : (alternative.provider_profiles ?? []),
  });
  if (fault !== null) throw notRegistry(path, withPath(fault.message, fault.path));
  return alternative;
}

// The author of a definition cannot know its digest, so it is computed. Omitted fields take the safest default.
function defined(tool: Json): unknown {
  if (!isPlainObject(tool) || typeof tool['tool_name'] !== 'string' || !isPlainObject(tool['input_schema']))
    return tool;
  const { tool_ref: _old, ...definition } = tool;
  return defineTool(definition as unknown as ToolDefinition);
}

function optional<Name extends 'profiles' | 'provider_profiles', T>(
  name: Name,
  value: Json | undefined,
  codec: Codec<T>,
  path: string,
): { readonly [K in Name]?: T } {
  if (value === undefined) return {};
  return { [name]: decodedOrThrow(path, decode(codec, value), `/${name}`) } as { readonly [K in Name]?: T };
}

function decodedOrThrow<T>(path: string, decoded: Either<Rejection, T>, below = ''): T {
  if (isLeft(decoded)) throw notRegistry(path, withPath(decoded.left.message, `${below}${decoded.left.path}`));
  return decoded.right;
}

const withPath = (message: string, at: string): string => (at === '' ? message : `${message} at ${at}`);

const notRegistry = (path: string, why: string): CommandFailure =>
  new CommandFailure('registry_invalid', `${path}: ${why}`);

async function readJsonFile(path: string): Promise<Json> {
  return decodedOrThrow(path, parseJson(await readText(path, AUDIT_FILE_BYTES_MAX), AUDIT_FILE_BYTES_MAX));
}
