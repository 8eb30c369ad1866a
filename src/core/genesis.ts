// The default genesis record: the default tool package, ready to run (AOS P7, "Install-Time Profile Preload").
import { newestRules } from '../../reducers/rules/known-rules.ts';
import type { Genesis } from '../../schemas/genesis.ts';
import { brand } from '../../schemas/ids.ts';
import {
  ATTEMPTS_DEFAULT,
  CALLS_DEFAULT,
  CONCURRENCY_DEFAULT,
  OFFER_DEFAULT,
  REPEATS_DEFAULT,
  RETRY_BASE_MS_DEFAULT,
  RETRY_CAP_MS_DEFAULT,
  TURNS_DEFAULT,
} from '../../schemas/limits.ts';
import { MODEL_UNNAMED, type RunConfig } from '../../schemas/run.ts';
import type { ToolPackage } from '../../schemas/tool-set.ts';
import { CONSENT_PRESETS } from '../toolsets/consent-presets.ts';
import { defaultToolPackage } from '../toolsets/default-package.ts';
import type { Origin } from './initial-state.ts';
import { packageDigest } from './package-parts.ts';

/** The config of a session unless the client sets another. */
export const DEFAULT_CONFIG: RunConfig = {
  calls_max: CALLS_DEFAULT,
  completion: 'continue',
  host_session_open: false,
  instructions: null,
  model: MODEL_UNNAMED,
  offer_max: OFFER_DEFAULT,
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
export type GenesisOverrides = Partial<
  Pick<Genesis, 'created_at_ms' | 'consent' | 'forked_from' | 'rules' | 'since'>
> & {
  readonly session_id?: string;
  readonly config?: Partial<RunConfig>;
  readonly tool_package?: ToolPackage;
};

/** A genesis record and its tool package; without overrides always the same. */
export const defaultOrigin = (overrides: GenesisOverrides = {}): Origin => ({
  genesis: defaultGenesis(overrides),
  tool_package: overrides.tool_package ?? defaultToolPackage(),
});

/** A genesis record; without overrides always the same, for the session `default` at time 0. */
export function defaultGenesis(overrides: GenesisOverrides = {}): Genesis {
  const newest = newestRules();
  // In canonical order, as everything that enters a state, so that it is digested without being sorted.
  return {
    config: { ...DEFAULT_CONFIG, ...overrides.config },
    consent: overrides.consent ?? CONSENT_PRESETS.default,
    created_at_ms: overrides.created_at_ms ?? 0,
    ...(overrides.forked_from === undefined ? {} : { forked_from: overrides.forked_from }),
    rules: overrides.rules ?? newest.rules,
    session_id: brand<'SessionId'>(overrides.session_id ?? 'default'),
    since: overrides.since ?? newest.since,
    tool_package_digest: packageDigest(overrides.tool_package ?? defaultToolPackage()),
    v: 1,
  };
}
