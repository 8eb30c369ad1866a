// What an import records after the stream, so that nothing that was decided where the stream was recorded has an effect here:
// its run is paused, no call that was owed there is made here, its host session is closed, and consent is given anew. Pure.
import type { Either } from 'fp-ts/lib/Either.js';
import { rulesOf } from '../../../reducers/rules/known-rules.ts';
import { codedText, ruleText } from '../../../reducers/rules/rule-set.ts';
import { canonicalText } from '../../../schemas/canonical.ts';
import type { ConsentPolicy, ModePolicy, ToolPermission } from '../../../schemas/consent.ts';
import type { Digest } from '../../../schemas/ids.ts';
import type { Rejection } from '../../../schemas/rejection.ts';
import type { SessionState } from '../../../schemas/state.ts';
import { toolsetNamedBy } from '../../../schemas/toolset.ts';
import { CONSENT_PRESETS } from '../../toolsets/consent-presets.ts';
import { defaultToolPackage } from '../../toolsets/default-package.ts';
import { owesAllowedCall, owesChangedCalls, takesFact, unmadeFact } from './given.ts';
import { type OwnCommits, type OwnFact, commitOwnFacts } from './own-facts.ts';

/** The commits that follow the stream with this state and last chain value; none when it is independent already. */
export const endImport = (state: SessionState, chain: Digest, at_ms: number): Either<Rejection, OwnCommits> =>
  commitOwnFacts(
    { state, head: { version: state.version, chain }, events: [] },
    { name: `import-${chain.slice(7, 23)}`, at_ms },
    nextFact,
  );

function nextFact(state: SessionState): OwnFact | null {
  return (
    runFact(state) ??
    undoFact(state) ??
    // A call that was owed may have run there, and an approval of it was given there. Questions stay open: they are answered
    // here.
    unmadeFact(state, { text: codedText(rulesOf(state), 'imported', {}), makes: () => false }) ??
    (owesAllowedCall(state) ? endRun(state, 'imported.allowed') : null) ??
    placeFact(state) ??
    toolsetFact(state) ??
    consentFact(state)
  );
}

function runFact(state: SessionState): OwnFact | null {
  const { run } = state;
  if (run === null) return null;
  // A changed call that was approved there is made without a question when the batch ends: such a run does not go on.
  const ends = owesChangedCalls(state) ? endRun(state, 'imported.run') : null;
  return ends ?? (takesFact(state, 'RunPaused') ? { kind: 'RunPaused', run_id: run.run_id } : null);
}

/** Null when the run is ending already, or there is none. */
function endRun(state: SessionState, why: 'imported.run' | 'imported.allowed'): OwnFact | null {
  const { run } = state;
  if (run === null || !takesFact(state, 'RunCancelled')) return null;
  return { kind: 'RunCancelled', run_id: run.run_id, reason: ruleText(rulesOf(state), why, {}) };
}

function undoFact(state: SessionState): OwnFact | null {
  const [undo] = state.undos ?? [];
  if (undo === undefined) return null;
  const { position, batch_id, call_id } = undo;
  const refusal = codedText(rulesOf(state), 'imported.undo', {});
  return { kind: 'UndoSettled', position, batch_id, call_id, success: false, ...refusal };
}

/** The host session was opened there. */
const placeFact = ({ tool_runtime_context: { host_session_status } }: SessionState): OwnFact | null =>
  host_session_status === 'ready'
    ? { kind: 'HostSessionUpdated', host_session: { host_session_status: 'closed' } }
    : null;

/** Who set its tools, and what was approved of them, counts there alone: sources set them here anew. */
function toolsetFact({ toolsets = {} }: SessionState): OwnFact | null {
  const [toolset] = Object.keys(toolsets);
  return toolset === undefined ? null : { kind: 'ToolsetRemoved', toolset };
}

/** Grants end with every new policy. */
function consentFact(state: SessionState): OwnFact | null {
  const { policy, grants } = state.consent;
  const own = ownPolicy(state);
  const isOwn = grants.length === 0 && canonicalText(policy) === canonicalText(own);
  return isOwn ? null : { kind: 'ConsentPolicySet', policy: own };
}

const STRICTNESS: readonly ModePolicy[] = ['allow', 'ask', 'deny'];
const stricter = (a: ModePolicy, b: ModePolicy): ModePolicy => (STRICTNESS.indexOf(a) > STRICTNESS.indexOf(b) ? a : b);

/**
 * The recorded policy where it is stricter than the preset `default`, and that preset elsewhere. Its modes are those of the
 * tools that refold itself defines: any other definition may call a shell `read`, so that its tool asks.
 */
function ownPolicy({ consent: { policy }, tool_registry }: SessionState): ConsentPolicy {
  const { modes: preset } = CONSENT_PRESETS.default;
  const modes: ConsentPolicy['modes'] = {
    destructive: stricter(policy.modes.destructive, preset.destructive),
    external: stricter(policy.modes.external, preset.external),
    local: stricter(policy.modes.local, preset.local),
    read: stricter(policy.modes.read, preset.read),
    safe_write: stricter(policy.modes.safe_write, preset.safe_write),
  };
  // Not by `tool_ref`, which covers what the model sees: the mode is no part of it.
  const known = new Set(defaultToolPackage().registry.map((tool) => canonicalText(tool)));
  // What is denied of a toolset stays denied when its source comes back.
  const tools: Record<string, ToolPermission> = Object.fromEntries(
    Object.entries(policy.tools).filter(([id, to]) => to !== 'always_allow' && toolsetNamedBy(id) !== null),
  );
  for (const [id, tool] of Object.entries(tool_registry)) {
    const recorded = policy.tools[id];
    if (recorded === 'deny' || recorded === 'always_ask') tools[id] = recorded;
    else if (!known.has(canonicalText(tool))) tools[id] = modes[tool.mode] === 'deny' ? 'deny' : 'always_ask';
  }
  return { ...policy, modes, tools };
}
