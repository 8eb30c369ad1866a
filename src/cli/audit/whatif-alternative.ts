// Reads the alternatives of `refold whatif` from files.
import { existsSync } from 'node:fs';
import { type Either, chain, isLeft } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { type Json, parseJson } from '../../../schemas/json.ts';
import { AUDIT_FILE_BYTES_MAX } from '../../../schemas/limits.ts';
import type { Rejection } from '../../../schemas/rejection.ts';
import {
  POLICY_PRESETS,
  policyAlternative,
  policyPreset,
  profileAlternative,
  registryAlternative,
} from '../../core/alternative.ts';
import type { Alternative } from '../../core/what-if.ts';
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
    ...(registry === undefined ? {} : await readAlternative(registry, registryAlternative)),
    ...(profile === undefined ? {} : orThrow('--profile', profileAlternative(profile))),
    ...(policy === undefined ? {} : await readPolicy(policy)),
  };
}

async function readPolicy(given: string): Promise<Alternative> {
  const preset = policyPreset(given);
  if (preset !== undefined) return { policy: preset };
  if (!existsSync(given)) {
    const names = Object.keys(POLICY_PRESETS).join(', ');
    throw new CommandFailure('file_unreadable', `${given} is neither a file nor a preset. The presets are ${names}`);
  }
  return await readAlternative(given, policyAlternative);
}

async function readAlternative(
  path: string,
  read: (value: Json) => Either<Rejection, Alternative>,
): Promise<Alternative> {
  const text = await readText(path, AUDIT_FILE_BYTES_MAX);
  return orThrow(path, pipe(parseJson(text, AUDIT_FILE_BYTES_MAX), chain(read)));
}

function orThrow(path: string, found: Either<Rejection, Alternative>): Alternative {
  if (!isLeft(found)) return found.right;
  const { message, path: at } = found.left;
  throw new CommandFailure('registry_invalid', `${path}: ${message}${at === '' ? '' : ` at ${at}`}`);
}
