// The first state of a stream, made from its genesis record.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { computeEffectiveTools } from '../../reducers/effective-tools.ts';
import { decode } from '../../schemas/codec.ts';
import { Genesis } from '../../schemas/genesis.ts';
import type { Version } from '../../schemas/ids.ts';
import { freezeJson } from '../../schemas/json.ts';
import { pointerSegment } from '../../schemas/pointer.ts';
import { type Rejection, invariant, reject } from '../../schemas/rejection.ts';
import type { SessionState } from '../../schemas/state.ts';
import { type EffectiveToolSet, NO_OVERRIDES } from '../../schemas/tool-set.ts';
import { genesisChain } from './chain.ts';
import { type PackageParts, partsOf } from './package-parts.ts';

/** The given genesis record when its shape, its tool package and the package's digest are valid. */
export function checkGenesis(value: unknown): Either<Rejection, Genesis> {
  const checked = examine(value);
  return isLeft(checked) ? checked : right(checked.right.genesis);
}

/** The state of a session before its first event. Throws an InvariantError for a genesis {@link checkGenesis} refuses. */
export function initialState(genesis: Genesis): SessionState {
  const checked = examine(genesis);
  invariant(!isLeft(checked), `not a genesis record: ${JSON.stringify(isLeft(checked) ? checked.left : null)}`);
  const parts = toolInputOf(genesis, checked.right.parts);
  const { config, provider_profiles, tool_overrides, tool_profiles, tool_registry, tool_runtime_context } = parts;
  const state: SessionState = {
    active_tool_batch: null,
    batches_started: 0,
    config,
    ...(genesis.consent === undefined ? {} : { consent: { grants: [], policy: genesis.consent } }),
    created_at_ms: genesis.created_at_ms,
    effective_tools: checked.right.effective_tools,
    follow_ups: [],
    genesis_digest: genesisChain(genesis),
    last_tool_plan_hash: null,
    provider_profiles,
    run: null,
    run_history: [],
    runs_started: 0,
    session_id: genesis.session_id,
    tool_overrides,
    tool_profile: null,
    tool_profiles,
    tool_registry,
    tool_runtime_context,
    transcript: { count: 0, open: [], sealed: [] },
    updated_at_ms: genesis.created_at_ms,
    v: genesis.v,
    version: 0 as Version,
  };
  return freezeJson(state);
}

interface Examined {
  readonly genesis: Genesis;
  readonly parts: PackageParts;
  readonly effective_tools: EffectiveToolSet;
}

const examined = new WeakMap<object, Examined>();

/** Examines a genesis record; a frozen record is examined once. */
function examine(value: unknown): Either<Rejection, Examined> {
  const known = typeof value === 'object' && value !== null ? examined.get(value) : undefined;
  if (known !== undefined) return right(known);
  const made = examineAnew(value);
  if (!isLeft(made) && Object.isFrozen(value)) examined.set(made.right.genesis, made.right);
  return made;
}

function examineAnew(value: unknown): Either<Rejection, Examined> {
  const decoded = decode(Genesis, value);
  if (isLeft(decoded)) return decoded;
  const genesis = decoded.right;
  const parts = partsOf(genesis.tool_package);
  if (parts.fault !== null) return left({ ...parts.fault, path: `/tool_package${parts.fault.path}` });
  if (genesis.tool_package_digest !== parts.digest) {
    return left(reject('digest_mismatch', '/tool_package_digest', `the digest of the tool package is ${parts.digest}`));
  }
  const unregistered = Object.keys(genesis.consent?.tools ?? {}).find((id) => !Object.hasOwn(parts.tool_registry, id));
  if (unregistered !== undefined) {
    return left(
      reject('tool_unknown', `/consent/tools${pointerSegment(unregistered)}`, `there is no tool "${unregistered}"`),
    );
  }
  const tools = computeEffectiveTools(toolInputOf(genesis, parts));
  return isLeft(tools) ? tools : right({ genesis, parts, effective_tools: tools.right });
}

const toolInputOf = (genesis: Genesis, { tool_registry, tool_profiles, provider_profiles }: PackageParts) => ({
  config: genesis.config,
  run: null,
  tool_registry,
  tool_profiles,
  provider_profiles,
  tool_profile: null,
  tool_overrides: NO_SCOPED_OVERRIDES,
  tool_runtime_context: NO_HOST,
});

const NO_SCOPED_OVERRIDES: SessionState['tool_overrides'] = freezeJson({ run: NO_OVERRIDES, session: NO_OVERRIDES });

const NO_HOST: SessionState['tool_runtime_context'] = freezeJson({
  capabilities: [],
  host_session_expires_at_ms: null,
  host_session_id: null,
  host_session_status: null,
  sandbox: null,
  workspace: null,
});
