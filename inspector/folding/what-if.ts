// What a session would have decided under another policy, profile or registry, turn by turn, beside what it decided.
import { type Either, chain, isLeft } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { ToolCallObserved } from '../../schemas/tool-call.ts';
import { brand } from '../../schemas/ids.ts';
import { parseJson } from '../../schemas/json.ts';
import { AUDIT_FILE_BYTES_MAX } from '../../schemas/limits.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import { type Alternative, type TurnWhatIf, newWhatIf } from '../../src/core/index.ts';
import {
  POLICY_PRESETS,
  policyAlternative,
  policyPreset,
  profileAlternative,
  registryAlternative,
} from '../../src/core/compare/alternative.ts';
import { describeDecision, turnObject } from '../../src/shown/whatif-lines.ts';
import type {
  AlternativeGiven,
  AlternativesKnown,
  ExportedFile,
  WhatIfSummary,
  WhatIfTurn,
  WhatIfWindow,
  Window,
} from '../protocol.ts';
import { Refused, refusalOf } from './refused.ts';
import type { StreamFold } from './stream-fold.ts';
import { windowIn } from './windows.ts';

/** Turns that are kept; of more, the export says how many are left out. */
const CHANGED_MAX = 10_000;
/** Calls of one turn in a window; the export has all of them. */
const CHANGES_SHOWN = 40;

export interface WhatIfFound {
  readonly summary: WhatIfSummary;
  readonly turns: readonly WhatIfTurn[];
}

export async function alternativesOf(fold: StreamFold): Promise<AlternativesKnown> {
  await fold.settled();
  const state = fold.now()?.state;
  if (state === undefined) throw new Refused({ code: 'not_folded', message: 'nothing of it was folded', advice: '' });
  return {
    policies: POLICY_PRESETS,
    policy: state.consent.policy,
    profiles: Object.keys(state.tool_profiles)
      .sort()
      .map((id) => brand<'ProfileId'>(id)),
    profile: state.effective_tools.profile_id,
  };
}

export async function decideAgain(
  fold: StreamFold,
  given: AlternativeGiven,
  { tell, signal }: { readonly tell: (decided: number, total: number) => void; readonly signal?: AbortSignal },
): Promise<WhatIfFound> {
  const alternative = alternativeIn(given);
  await fold.settled();
  const end = Math.min(given.at ?? Infinity, fold.progress().folded);
  const whatIf = newWhatIf(alternative);
  const summary = { ...NONE };
  const turns: WhatIfTurn[] = [];
  await fold.foldAgain(
    0,
    end,
    (folded) => {
      // Without a checker of JSON Schemas no call is judged again: `unjudged` counts those that had to be.
      const turn = whatIf.add(folded);
      if (turn === null) return;
      count(summary, turn);
      tell(folded.position + 1, end);
      const isChanged = turn.offer !== null || turn.fault !== null || turn.changes.length > 0;
      if (!isChanged) return;
      summary.changed += 1;
      const calls = folded.event.kind === 'ToolCallsObserved' ? folded.event.calls : [];
      const batch_id = folded.after.active_tool_batch?.batch_id ?? null;
      if (turns.length < CHANGED_MAX) turns.push(shownTurn(turn, calls, batch_id));
    },
    signal,
  );
  return { summary, turns };
}

const NONE = {
  turns: 0,
  calls: 0,
  rejections: 0,
  approvals: 0,
  plans: 0,
  offers: 0,
  faults: 0,
  unjudged: 0,
  changed: 0,
};

function count(summary: { -readonly [K in keyof WhatIfSummary]: number }, turn: TurnWhatIf): void {
  summary.turns += 1;
  summary.calls += turn.calls;
  summary.unjudged += turn.unjudged;
  if (turn.offer !== null) summary.offers += 1;
  if (turn.fault !== null) summary.faults += 1;
  for (const { kind } of turn.changes) {
    if (kind === 'rejection') summary.rejections += 1;
    else if (kind === 'approval') summary.approvals += 1;
    else summary.plans += 1;
  }
}

function shownTurn(
  turn: TurnWhatIf,
  calls: readonly ToolCallObserved[],
  batch_id: NonNullable<WhatIfTurn['changes'][number]['address']>['batch_id'],
): WhatIfTurn {
  return {
    ...turn,
    rest: 0,
    changes: turn.changes.map((change) => ({
      ...change,
      was: wordsOf(change.recorded),
      would_be: wordsOf(change.alternative),
      address:
        calls[change.index] === undefined
          ? null
          : { batch_id, call_id: change.call_id, observed: turn.position, index: change.index },
    })),
  };
}

type Decision = TurnWhatIf['changes'][number]['recorded'];

const wordsOf = (decision: Decision): string =>
  decision.accepted && decision.asks ? `${describeDecision(decision)}, asks a person` : describeDecision(decision);

export const whatIfWindow = ({ summary, turns }: WhatIfFound, wanted: Window): WhatIfWindow => {
  const { from, items } = windowIn(turns, wanted);
  const cut = items.map((turn) => ({
    ...turn,
    changes: turn.changes.slice(0, CHANGES_SHOWN),
    rest: Math.max(0, turn.changes.length - CHANGES_SHOWN),
  }));
  return { from, total: summary.changed, turns: cut };
};

/** The lines that `refold whatif --json` prints of each turn, and at the end the sums. */
export const exportOf = ({ summary, turns }: WhatIfFound, name: string): ExportedFile => ({
  name: `${name}.whatif.jsonl`,
  text: [...turns.map((turn) => turnObject(plain(turn))), { summary, left_out: summary.changed - turns.length }]
    .map((line) => `${JSON.stringify(line)}\n`)
    .join(''),
});

const plain = ({ rest: _rest, ...turn }: WhatIfTurn): TurnWhatIf => ({
  ...turn,
  changes: turn.changes.map(({ was: _was, would_be: _words, address: _address, ...change }) => change),
});

function alternativeIn({ policy, profile, registry }: AlternativeGiven): Alternative {
  if (policy === undefined && profile === undefined && registry === undefined) {
    const message = 'no alternative is given';
    throw new Refused({ code: 'invalid_shape', message, advice: 'Give a policy, a profile or a registry.' });
  }
  const preset = policy === undefined ? undefined : policyPreset(policy);
  return {
    ...(registry === undefined ? {} : taken(pipe(parsed(registry), chain(registryAlternative)))),
    ...(profile === undefined ? {} : taken(profileAlternative(profile))),
    ...(preset !== undefined
      ? { policy: preset }
      : policy === undefined
        ? {}
        : taken(pipe(parsed(policy), chain(policyAlternative)))),
  };
}

const parsed = (text: string) => parseJson(text, AUDIT_FILE_BYTES_MAX);

function taken(found: Either<Rejection, Alternative>): Alternative {
  if (isLeft(found)) throw new Refused(refusalOf(found.left));
  return found.right;
}
