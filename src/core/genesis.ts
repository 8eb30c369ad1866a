// The default genesis record: the default tool package, ready to run (AOS P7, "Install-Time Profile Preload").
import type { Genesis } from '../../schemas/genesis.ts';
import { brand } from '../../schemas/ids.ts';
import {
  ATTEMPTS_DEFAULT,
  CALLS_DEFAULT,
  CONCURRENCY_DEFAULT,
  REPEATS_DEFAULT,
  RETRY_BASE_MS_DEFAULT,
  RETRY_CAP_MS_DEFAULT,
  TURNS_DEFAULT,
} from '../../schemas/limits.ts';
import { MODEL_UNNAMED, type RunConfig } from '../../schemas/run.ts';
import { CONSENT_PRESETS } from '../toolsets/consent-presets.ts';
import { defaultToolPackage } from '../toolsets/default-package.ts';
import { packageDigest } from './package-parts.ts';

/** The config of a session unless the client sets another. */
export const DEFAULT_CONFIG: RunConfig = {
  calls_max: CALLS_DEFAULT,
  completion: 'continue',
  host_session_open: false,
  instructions: null,
  model: MODEL_UNNAMED,
  output_tokens_max: null,
  provider: 'openai',
  repeats_max: REPEATS_DEFAULT,
  retry: { attempts_max: ATTEMPTS_DEFAULT, base_ms: RETRY_BASE_MS_DEFAULT, cap_ms: RETRY_CAP_MS_DEFAULT },
  share_reads: true,
  tokens_max: null,
  tool_concurrency_max: CONCURRENCY_DEFAULT,
  tool_profile: null,
  turns_max: TURNS_DEFAULT,
  wall_ms_max: null,
};

/** The fields that may differ from the default genesis. */
export type GenesisOverrides = Partial<Pick<Genesis, 'created_at_ms' | 'tool_package' | 'consent' | 'forked_from'>> & {
  readonly session_id?: string;
  readonly config?: Partial<RunConfig>;
};

/** A genesis record; without overrides always the same, for the session `default` at time 0. */
export function defaultGenesis(overrides: GenesisOverrides = {}): Genesis {
  const tool_package = overrides.tool_package ?? defaultToolPackage();
  // In canonical order, as everything that enters a state, so that it is digested without being sorted.
  return {
    config: { ...DEFAULT_CONFIG, ...overrides.config },
    consent: overrides.consent ?? CONSENT_PRESETS.default,
    created_at_ms: overrides.created_at_ms ?? 0,
    ...(overrides.forked_from === undefined ? {} : { forked_from: overrides.forked_from }),
    session_id: brand<'SessionId'>(overrides.session_id ?? 'default'),
    tool_package,
    tool_package_digest: packageDigest(tool_package),
    v: 2,
  };
}
