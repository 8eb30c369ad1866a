// The first state of a stream, made from its genesis record and its tool package.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { computeEffectiveTools } from '../../reducers/effective-tools.ts';
import { isKnownTool } from '../../reducers/registry.ts';
import { findRulesFault } from '../../reducers/rules/known-rules.ts';
import { decode } from '../../schemas/codec.ts';
import { Genesis } from '../../schemas/genesis.ts';
import type { Version } from '../../schemas/ids.ts';
import { freezeJson, isPlainObject } from '../../schemas/json.ts';
import { namesRules } from '../../schemas/rules.ts';
import { pointerSegment, type Rejection, invariant, reject } from '../../schemas/rejection.ts';
import type { SessionState } from '../../schemas/state.ts';
import { type EffectiveToolSet, NO_OVERRIDES, type ToolPackage } from '../../schemas/tool-set.ts';
import { defaultToolPackage } from '../toolsets/default-package.ts';
import { genesisDigest } from './chain.ts';
import { type PackageParts, packageDigest, partsOf } from './package-parts.ts';

/** What a stream begins with. */
export interface Origin {
  readonly genesis: Genesis;
  readonly tool_package: ToolPackage;
}

/** The given genesis record when its shape is valid and it fits the tool package, whose digest it must name. */
export function checkGenesis(value: unknown, tool_package: ToolPackage): Either<Rejection, Genesis> {
  const checked = examine(value, tool_package);
  return isLeft(checked) ? checked : right(checked.right.genesis);
}

/**
 * The state of a session before its first event. Throws an InvariantError for a genesis {@link checkGenesis} refuses. A
 * genesis with another tool package than the default one needs it as the second argument.
 */
export function initialState(genesis: Genesis, tool_package: ToolPackage = defaultToolPackage()): SessionState {
  const checked = examine(genesis, tool_package);
  invariant(!isLeft(checked), `not a genesis record: ${JSON.stringify(isLeft(checked) ? checked.left : null)}`);
  const parts = toolInputOf(genesis, checked.right.parts);
  const { config, provider_profiles, tool_overrides, tool_profiles, tool_registry, tool_runtime_context } = parts;
  const state: SessionState = {
    active_tool_batch: null,
    batches_started: 0,
    config,
    consent: { grants: [], policy: genesis.consent },
    created_at_ms: genesis.created_at_ms,
    effective_tools: checked.right.effective_tools,
    follow_ups: [],
    genesis_digest: genesisDigest(genesis),
    last_tool_plan_hash: null,
    ...(genesis.forked_from === undefined ? {} : { parent: genesis.forked_from.session_id }),
    provider_profiles,
    rules: genesis.rules,
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
function examine(value: unknown, tool_package: ToolPackage): Either<Rejection, Examined> {
  const known = typeof value === 'object' && value !== null ? examined.get(value) : undefined;
  if (known !== undefined && known.parts.digest === packageDigest(tool_package)) return right(known);
  const made = examineAnew(value, tool_package);
  if (!isLeft(made) && Object.isFrozen(value)) examined.set(made.right.genesis, made.right);
  return made;
}

function examineAnew(value: unknown, tool_package: ToolPackage): Either<Rejection, Examined> {
  const read = decodeGenesis(value);
  if (isLeft(read)) return read;
  const genesis = read.right;
  const parts = partsOf(tool_package);
  if (parts.fault !== null) return left({ ...parts.fault, path: `/tool_package${parts.fault.path}` });
  if (genesis.tool_package_digest !== parts.digest) {
    return left(reject('digest_mismatch', '/tool_package_digest', `the digest of the tool package is ${parts.digest}`));
  }
  const unregistered = Object.keys(genesis.consent.tools).find((id) => !isKnownTool(parts.tool_registry, id));
  if (unregistered !== undefined) {
    return left(
      reject('tool_unknown', `/consent/tools${pointerSegment(unregistered)}`, `there is no tool "${unregistered}"`),
    );
  }
  const tools = computeEffectiveTools(toolInputOf(genesis, parts));
  return isLeft(tools) ? tools : right({ genesis, parts, effective_tools: tools.right });
}

/** The given genesis record when its shape is valid; it is not compared with its tool package. */
export function decodeGenesis(value: unknown): Either<Rejection, Genesis> {
  const unknown = findUnknownRules(value);
  return unknown === null ? decode(Genesis, value) : left(unknown);
}

/** Checked before the shape: a record of later rules may have fields that this version does not know. */
function findUnknownRules(value: unknown): Rejection | null {
  const { rules, since } = isPlainObject(value) ? value : {};
  return namesRules.rules.is(rules) && namesRules.since.is(since) ? findRulesFault({ rules, since }) : null;
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
