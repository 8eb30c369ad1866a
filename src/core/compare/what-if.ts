// What a recorded session would have decided with other tools: every recorded turn is judged and planned again with the
// tools that would have been offered. Pure: the edge checks arguments against other schemas and passes the verdicts in, as
// it does when a call is first observed. Each turn is decided alone, because a model's answer to another result is
// unknown.
import { type Either, isLeft, map } from 'fp-ts/lib/Either.js';
import { argumentsOf } from '../../../schemas/tool-call.ts';
import { type EffectiveToolsInput, computeEffectiveTools } from '../../../reducers/effective-tools.ts';
import { cutOffer } from '../../../reducers/toolsets/offer.ts';
import { toolsetTools } from '../../../reducers/toolsets/members.ts';
import { planBatch } from '../../../reducers/planner.ts';
import { profilesOf, registryOf } from '../../../reducers/registry.ts';
import { guardRepeats } from '../../../reducers/repeat-guard.ts';
import { rulesOf } from '../../../reducers/rules/known-rules.ts';
import { canonicalText } from '../../../schemas/canonical.ts';
import type { ConsentPolicy, ConsentState } from '../../../schemas/consent.ts';
import type { EventOfKind } from '../../../schemas/event.ts';
import type { ProfileId, RunId, ToolId } from '../../../schemas/ids.ts';
import type { ToolBatchPlan } from '../../../schemas/plan.ts';
import type { Rejection } from '../../../schemas/rejection.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { Claim, SchemaVerdict, ToolCallObserved } from '../../../schemas/tool-call.ts';
import type {
  EffectiveToolSet,
  ToolOverrides,
  ToolPackage,
  ToolProfiles,
  ToolRegistry,
} from '../../../schemas/tool-set.ts';
import type { ToolSpec } from '../../../schemas/tool-spec.ts';
import type { FoldedEvent } from '../folded-event.ts';
import { type CallChange, compareCalls } from './what-if-calls.ts';

/** What is different. Omitted fields are as recorded, at each position. */
export interface Alternative {
  /** Replaces every registry of the session. Profiles and overrides lose the tools that are not in it. */
  readonly registry?: ToolPackage['registry'];
  readonly profiles?: ToolPackage['profiles'];
  readonly provider_profiles?: ToolPackage['provider_profiles'];
  /** The profile of every run. */
  readonly profile?: ProfileId;
  /** Replaces every policy of the session. Grants by people stay. */
  readonly policy?: ConsentPolicy | undefined;
}

/** A call whose recorded verdict or claims do not apply to the tool it would have used. */
export interface CallToJudge {
  readonly index: number;
  readonly call: ToolCallObserved;
  readonly tool: ToolSpec;
}

/** What the edge found. The claims are used only for arguments in a blob. */
export interface Judged {
  readonly verdict: SchemaVerdict;
  readonly claims: readonly Claim[];
}

/** How the offered tools differ, by name. `redefined`: the same name with another definition. */
export interface OfferChange {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly redefined: readonly string[];
}

export interface TurnWhatIf {
  readonly position: number;
  readonly run_id: RunId;
  readonly turn: number;
  readonly calls: number;
  /** Null when the offer is the same. */
  readonly offer: OfferChange | null;
  readonly changes: readonly CallChange[];
  /** How many calls were not judged although they had to be: they keep the recorded verdict and claim whole spaces. */
  readonly unjudged: number;
  /** Why there would have been no tools at all, such as a missing profile; null otherwise. */
  readonly fault: Rejection | null;
}

/** Decides each turn again while a stream is folded. */
export interface WhatIf {
  /** The calls to judge before this event is added. */
  toJudge(folded: Pick<FoldedEvent, 'event' | 'before'>): readonly CallToJudge[];
  /** Returns the decisions for the turn of this event; null for every kind but `ToolCallsObserved`. */
  add(folded: FoldedEvent, judged?: ReadonlyMap<number, Judged>): TurnWhatIf | null;
}

export function newWhatIf(alternative: Alternative): WhatIf {
  let recordedOffer: EffectiveToolSet | null = null;
  let offer: Either<Rejection, EffectiveToolSet> | null = null;

  /** An offer is pinned when its generate becomes owed, and so is the alternative one. */
  function pin({ run }: SessionState, state: SessionState): void {
    const pinned = run?.offer ?? null;
    if (pinned === recordedOffer) return;
    recordedOffer = pinned;
    offer = pinned === null ? null : offerUnder(alternative, state);
  }

  function decide(folded: FoldedEvent, judged: ReadonlyMap<number, Judged>): TurnWhatIf | null {
    const { event, position, before, after } = folded;
    if (event.kind !== 'ToolCallsObserved') return null;
    const wanted = toJudge(folded);
    const turn = {
      position,
      run_id: event.run_id,
      turn: event.turn,
      calls: event.calls.length,
      unjudged: wanted.filter(({ index }) => !judged.has(index)).length,
    };
    const now = toolsUnder(alternative, before);
    const fault = offer !== null && isLeft(offer) ? offer.left : isLeft(now) ? now.left : null;
    if (fault !== null || isLeft(now)) return { ...turn, offer: null, changes: [], fault };
    const pinned = offer === null || isLeft(offer) ? null : offer.right;
    const offered = recordedOffer === null || pinned === null ? null : compareOffers(recordedOffer, pinned);
    // A turn that ended its run opened no batch.
    const recorded = after.active_tool_batch?.plan ?? null;
    const changes =
      recorded === null
        ? []
        : compareCalls(
            event.calls,
            recorded,
            replan({ event, before, now: now.right, pinned, wanted, judged, policy: alternative.policy }),
          );
    return { ...turn, offer: offered, changes, fault: null };
  }

  const toJudge: WhatIf['toJudge'] = ({ event, before }) => {
    if (event.kind !== 'ToolCallsObserved' || alternative.registry === undefined) return [];
    const recorded = byName(Object.values(before.tool_registry));
    const other = byName(alternative.registry);
    return event.calls.flatMap((call, index) => {
      const tool = other.get(call.tool_name);
      if (tool === undefined || !isAffected(call, recorded.get(call.tool_name), tool)) return [];
      return [{ index, call, tool }];
    });
  };

  return {
    toJudge,
    add(folded, judged = NONE_JUDGED) {
      pin(folded.before, folded.before);
      const turn = decide(folded, judged);
      pin(folded.after, folded.after);
      return turn;
    },
  };
}

const NONE_JUDGED: ReadonlyMap<number, Judged> = new Map();

/** The effective tools of a state under an alternative. */
export const toolsUnder = (alternative: Alternative, state: SessionState): Either<Rejection, EffectiveToolSet> =>
  computeEffectiveTools(inputUnder(alternative, state));

/** What a generate that becomes owed would offer of them. */
function offerUnder(alternative: Alternative, state: SessionState): Either<Rejection, EffectiveToolSet> {
  const input = inputUnder(alternative, state);
  return map((tools: EffectiveToolSet) => cutOffer(input, tools))(computeEffectiveTools(input));
}

/** An alternative registry replaces what an event could: the tools of toolsets stay. */
function inputUnder(alternative: Alternative, state: SessionState): EffectiveToolsInput {
  const tool_registry =
    alternative.registry === undefined
      ? state.tool_registry
      : registryOf([...alternative.registry, ...toolsetTools(state)]);
  const { session, run: ofRun } = state.tool_overrides;
  const profile = alternative.profile === undefined ? {} : { tool_profile: alternative.profile };
  return {
    ...state,
    tool_registry,
    tool_profiles:
      alternative.profiles === undefined
        ? knownProfiles(state.tool_profiles, tool_registry)
        : profilesOf(alternative.profiles),
    provider_profiles: alternative.provider_profiles ?? state.provider_profiles,
    tool_overrides: { session: knownOverrides(session, tool_registry), run: knownOverrides(ofRun, tool_registry) },
    config: { ...state.config, ...profile },
    run: state.run === null ? null : { config: { ...state.run.config, ...profile } },
  };
}

const isKnown = (registry: ToolRegistry) => (id: ToolId) => Object.hasOwn(registry, id);

const knownProfiles = (profiles: ToolProfiles, registry: ToolRegistry): ToolProfiles =>
  Object.fromEntries(
    Object.entries(profiles).map(([id, profile]) => [
      id,
      { ...profile, tool_ids: profile.tool_ids.filter(isKnown(registry)) },
    ]),
  );

const knownOverrides = ({ enable, disable, force }: ToolOverrides, registry: ToolRegistry): ToolOverrides => ({
  enable: enable.filter(isKnown(registry)),
  disable: disable.filter(isKnown(registry)),
  force: force.filter(isKnown(registry)),
});

const byName = (tools: readonly ToolSpec[]): ReadonlyMap<string, ToolSpec> =>
  new Map(tools.map((tool) => [tool.tool_name, tool]));

function isAffected(call: ToolCallObserved, recorded: ToolSpec | undefined, tool: ToolSpec): boolean {
  // Unreadable arguments fit no schema.
  const given = argumentsOf(call);
  if ('arguments_text' in given) return false;
  if (recorded === undefined || canonicalText(recorded.input_schema) !== canonicalText(tool.input_schema)) return true;
  const sameClaims = canonicalText(recorded.parallelism_hint) === canonicalText(tool.parallelism_hint);
  return 'arguments_ref' in given && !sameClaims;
}

interface Replanned {
  readonly event: EventOfKind<'ToolCallsObserved'>;
  readonly before: SessionState;
  readonly now: EffectiveToolSet;
  readonly pinned: EffectiveToolSet | null;
  readonly wanted: readonly CallToJudge[];
  readonly judged: ReadonlyMap<number, Judged>;
  readonly policy: Alternative['policy'];
}

function replan({ event, before, now, pinned, wanted, judged, policy }: Replanned): ToolBatchPlan {
  const open = new Set(wanted.map(({ index }) => index));
  const calls = event.calls.map((call, index) => (open.has(index) ? judgedCall(call, judged.get(index)) : call));
  const { run } = before;
  const rules = rulesOf(before);
  const refused =
    run === null ? undefined : guardRepeats(rules, event.calls, run.repeat, run.config.repeats_max).refused;
  return planBatch(now, calls, {
    offer: pinned,
    consent: consentUnder(policy, before),
    rules,
    shareReads: run?.config.share_reads ?? false,
    ...(refused === undefined ? {} : { refused }),
  });
}

const consentUnder = (policy: Alternative['policy'], { consent }: SessionState): ConsentState =>
  policy === undefined ? consent : { policy, grants: consent.grants };

function judgedCall(call: ToolCallObserved, found: Judged | undefined): ToolCallObserved {
  const { claims: _ofAnotherTool, ...rest } = call;
  if (found === undefined) return rest;
  const { verdict: arguments_verdict, claims } = found;
  return 'arguments_ref' in argumentsOf(call) ? { ...rest, arguments_verdict, claims } : { ...rest, arguments_verdict };
}

function compareOffers(recorded: EffectiveToolSet, other: EffectiveToolSet): OfferChange | null {
  const [was, is] = [byName(recorded.ordered_tools), byName(other.ordered_tools)];
  const added = [...is.keys()].filter((name) => !was.has(name));
  const removed = [...was.keys()].filter((name) => !is.has(name));
  const redefined = [...is].flatMap(([name, tool]) => {
    const before = was.get(name);
    return before === undefined || before.tool_ref === tool.tool_ref ? [] : [name];
  });
  return added.length + removed.length + redefined.length === 0 ? null : { added, removed, redefined };
}
