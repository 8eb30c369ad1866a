// Bugs in the reducers: functions are replaced while one of these is planted.
import { vi } from 'vitest';
import { pageOf, positionOf, slotOf } from '../../../../reducers/batch-index.ts';
import { type NextState, inOrder, openBatchOf } from '../../../../reducers/next-state.ts';
import type { IngressEvent } from '../../../../schemas/event.ts';
import type { CallId } from '../../../../schemas/ids.ts';
import type { ActiveToolBatch, CallState, SessionState } from '../../../../schemas/state.ts';
import { type Bugs, planted } from './planted.ts';

vi.mock(import('../../../../reducers/batch-admission.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    admitSettled: (state, event) => {
      const refused = real.admitSettled(state, event);
      return planted.bug === 'a call is settled twice' && refused?.code === 'call_already_settled' ? null : refused;
    },
  };
});

vi.mock(import('../../../../reducers/batch.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    settleCall: (next, event) => {
      const call = callIn(next, event.call_id);
      if (planted.bug !== 'a call is settled twice' || call.output === null) real.settleCall(next, event);
      else putCall(next, event.call_id, { ...call, output: event.output });
    },
    loseCall: (next, event) => {
      if (planted.bug === 'a noted call is given up with its bridge') {
        const { noted: _forgotten, ...lost } = callIn(next, event.call_id);
        putCall(next, event.call_id, lost);
      }
      if (planted.bug !== 'a lost call runs again') {
        real.loseCall(next, event);
        return;
      }
      const { attempt, ...call } = callIn(next, event.call_id);
      putCall(next, event.call_id, { ...call, attempt: attempt + 1, owner: null, status: 'queued' });
    },
  };
});

/** The state of a call of the open batch. */
function callIn(next: NextState, id: CallId): CallState {
  const { batch, page, slot } = placeOf(next, id);
  return batch.pages[page]?.[slot] as CallState;
}

function putCall(next: NextState, id: CallId, call: CallState): void {
  const { batch, page, slot } = placeOf(next, id);
  const pages = batch.pages.map((calls, at) => (at === page ? calls.toSpliced(slot, 1, call) : calls));
  const moved = Number(call.status === 'queued') - Number(batch.pages[page]?.[slot]?.status === 'queued');
  next.active_tool_batch = { ...batch, pages, queued: batch.queued + moved, running: batch.running - moved };
}

function placeOf(next: NextState, id: CallId): { batch: ActiveToolBatch; page: number; slot: number } {
  const batch = openBatchOf(next);
  const position = positionOf(batch, id) ?? 0;
  return { batch, page: pageOf(position), slot: slotOf(position) };
}

vi.mock(import('../../../../reducers/questions/call-attempts.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    afterLoss: (call) => {
      const next = real.afterLoss(call);
      const { question } = call;
      return planted.bug !== 'a question outlives its bridge' || question === undefined
        ? next
        : inOrder({ ...next, question });
    },
  };
});

vi.mock(import('../../../../reducers/retry.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    retryDelay: (policy, failures, failed) => {
      const endless = planted.bug === 'a call is retried too often' && policy !== undefined;
      const wait = real.retryDelay(endless ? { ...policy, attempts_max: 100 } : policy, failures, failed);
      return planted.bug === 'a call is retried at once' ? wait && 0 : wait;
    },
  };
});

vi.mock(import('../../../../reducers/answer-admission.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    admitConfirmation: (state, event) => {
      const refused = real.admitConfirmation(state, event);
      const { bug } = planted;
      const taken =
        (bug === 'an approval of other arguments' && refused?.code === 'arguments_mismatch') ||
        (bug === 'an answer with another preview' && refused?.code === 'preview_mismatch');
      return taken ? null : refused;
    },
  };
});

vi.mock(import('../../../../reducers/reconsider.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    reconsiderCalls: (next, before, event) => {
      const { kind } = event;
      if (planted.bug === 'a new policy is for later calls' && kind === 'ConsentPolicySet') return;
      if (planted.bug === 'an override is for later calls' && kind === 'ToolOverridesSet') return;
      if (planted.bug === 'a host session closes for later calls' && kind === 'HostSessionUpdated') return;
      if (planted.bug === 'a retry is not judged again' && kind === 'ToolCallSettled') return;
      real.reconsiderCalls(next, before, event);
    },
  };
});

vi.mock(import('../../../../reducers/consent.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    grantFor: (scope, tool, args) => {
      const grant = real.grantFor(scope, tool, args);
      return planted.bug !== 'a pattern grants the other arguments' || grant === null
        ? grant
        : { tool_id: grant.tool_id, tool_ref: grant.tool_ref };
    },
  };
});

vi.mock(import('../../../../reducers/transcript.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    resultEntries: (batch) => {
      const entries = real.resultEntries(batch);
      if (planted.bug !== 'a rejected call has no result') return entries;
      const rejected = new Set(batch.plan.rejected.map(({ index }) => index));
      return entries.filter((_, index) => !rejected.has(index));
    },
  };
});

vi.mock(import('../../../../reducers/toolsets/members.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    standingOf: (toolsets, id) => {
      const standing = real.standingOf(toolsets, id);
      return planted.bug === 'an approval is for later definitions' && standing === 'changed' ? 'approved' : standing;
    },
  };
});

vi.mock(import('../../../../reducers/effective-tools.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    computeEffectiveTools: (input) => {
      const { session, run } = input.tool_overrides;
      if (planted.bug !== 'force beats deny' || session.force.length === 0) return real.computeEffectiveTools(input);
      return real.computeEffectiveTools({ ...input, tool_overrides: { run, session: { ...session, disable: [] } } });
    },
  };
});

/** The time that calls of a bridge get by mistake, in milliseconds. */
const WITHIN_MS = 1_500;

vi.mock(import('../../../../reducers/planner.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    // A plan is made by the function behind this one: only calls that are judged again are asked about no more.
    consentTo: (...given) => {
      const consent = real.consentTo(...given);
      return planted.bug === 'a new question is for later calls' && consent !== null && 'ask' in consent
        ? null
        : consent;
    },
    isPlannedTool: (...given) => planted.bug === 'a redefined tool is run' || real.isPlannedTool(...given),
    planBatch: (...given) => {
      const plan = real.planBatch(...given);
      if (planted.bug === 'a time ends a call that runs') {
        const timed = plan.planned_calls.map((call) => ({ answer_within_ms: WITHIN_MS, ...call }));
        return { ...plan, planned_calls: timed, plan_hash: real.planHash({ ...plan, planned_calls: timed }) };
      }
      if (planted.bug !== 'conflicts are not seen') return plan;
      const ids = plan.planned_calls.map(({ call_id }) => call_id);
      const after = Object.fromEntries(ids.map((id) => [id, []]));
      const loose = { ...plan, execution_plan: { groups: ids.length === 0 ? [] : [ids], after } };
      return { ...loose, plan_hash: real.planHash(loose) };
    },
  };
});

vi.mock(import('../../../../reducers/evolve.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    evolve: (state, event) => {
      if (planted.bug === 'calls are not counted') return real.evolve(uncounted(state), event);
      if (planted.bug === 'tokens are not counted') return real.evolve(unspent(state), event);
      if (planted.bug === 'an amended call is forgotten') return real.evolve(unamended(state, event), event);
      const next = real.evolve(state, event);
      if (planted.bug === 'the time of a run is not bounded') return timeless(next);
      if (planted.bug === 'a fold that remembers') return Object.freeze({ ...next, updated_at_ms: folds++ });
      return planted.bug === 'a follow-up is lost' && event.kind === 'ToolBatchSettled'
        ? { ...next, follow_ups: [] }
        : next;
    },
  };
});

vi.mock(import('../../../../reducers/compaction.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    owesCompaction: (run) => planted.bug !== 'a generate does not wait for its compaction' && real.owesCompaction(run),
    earlySeal: (state) => {
      const end = real.earlySeal(state);
      return planted.bug === 'a compaction ends inside a batch' && end !== null && end > 1 ? end - 1 : end;
    },
    replacePages: (next, event) => {
      real.replacePages(next, event);
      if (planted.bug === 'a summary takes later messages with it') next.transcript = { ...next.transcript, open: [] };
    },
    noteTokens: (next, usage, context) => {
      if (planted.bug !== 'a mark counts output alone' || usage === undefined) real.noteTokens(next, usage, context);
      else real.noteTokens(next, { ...usage, input_tokens: 0 }, context);
    },
  };
});

vi.mock(import('../../../../reducers/turn.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    compactContext: (next, event) => {
      real.compactContext(next, event);
      const { run } = next;
      if (planted.bug !== 'a summary is asked for twice' || run?.compact === undefined) return;
      next.run = { ...run, compact: { ...run.compact, answered: false } };
    },
    failCompact: (next, event) =>
      real.failCompact(
        next,
        planted.bug === 'a failed compaction is tried again' ? { ...event, retryable: true } : event,
      ),
  };
});

let folds = 0;

/** The same state, with a run that has made no calls yet. */
const uncounted = (state: SessionState): SessionState =>
  state.run === null ? state : { ...state, run: { ...state.run, calls: 0 } };

/** The same state, with a run that has used no tokens yet. */
const unspent = (state: SessionState): SessionState =>
  state.run === null ? state : { ...state, run: { ...state.run, usage: { input_tokens: 0, output_tokens: 0 } } };

/** The same state, with a run that may take any time. */
const timeless = (state: SessionState): SessionState =>
  state.run === null ? state : { ...state, run: { ...state.run, config: { ...state.run.config, wall_ms_max: null } } };

/** The same state, without the amended calls. */
function unamended(state: SessionState, { kind }: IngressEvent): SessionState {
  if (kind !== 'ToolBatchSettled' || state.run === null) return state;
  const { amended: _forgotten, ...run } = state.run;
  return { ...state, run };
}

vi.mock(import('../../../../src/core/copies/given.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    isAllowed: (planned, call) => planted.bug !== 'an approval counts in a fork' && real.isAllowed(planned, call),
    owesAllowedCall: (state) => planted.bug !== 'an approval counts in a fork' && real.owesAllowedCall(state),
    owesChangedCalls: (state) => planted.bug !== 'a fork makes a changed call' && real.owesChangedCalls(state),
    grantsFact: (state) => (planted.bug === 'a fork has the grants of its source' ? null : real.grantsFact(state)),
  };
});

vi.mock(import('../../../../reducers/batch-edit.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    editBatch: (next) => {
      const edit = real.editBatch(next);
      if (planted.bug !== 'a time ends a call that runs') return edit;
      return { ...edit, start: (id, owner) => edit.put(id, { ...edit.call(id), owner, status: 'running' }) };
    },
  };
});

export const REDUCER_BUGS: Bugs = {
  'a lost call runs again': { seed: 36, breaks: 'runs at most once' },
  'a noted call is given up with its bridge': { seed: 24, breaks: 'noted work is awaited' },
  'a question outlives its bridge': { seed: 1202, breaks: 'no question is lost' },
  'a time ends a call that runs': { seed: 1, breaks: 'every run ends' },
  'an approval counts in a fork': { seed: 33, breaks: 'approvals bound' },
  'a fork makes a changed call': { seed: 33, breaks: 'runs at most once' },
  'a fork has the grants of its source': { seed: 1, breaks: 'approvals bound' },
  'a call is retried at once': { seed: 8, breaks: 'retried when due' },
  'a call is retried too often': { seed: 8, breaks: 'retried when due' },
  'a rejected call has no result': { seed: 2, breaks: 'pairing' },
  'a follow-up is lost': { seed: 16, breaks: 'nothing is lost' },
  'force beats deny': { seed: 317, breaks: 'deny wins' },
  'conflicts are not seen': { seed: 1, breaks: 'no conflicting calls overlap' },
  'an approval of other arguments': { seed: 50, breaks: 'approvals bound' },
  'an answer with another preview': { seed: 116, breaks: 'approvals bound' },
  'a new policy is for later calls': { seed: 22, breaks: 'deny wins' },
  'an override is for later calls': { seed: 129, breaks: 'deny wins' },
  'a host session closes for later calls': { seed: 15, breaks: 'deny wins' },
  'a redefined tool is run': { seed: 357, breaks: 'deny wins' },
  'a retry is not judged again': { seed: 1645, breaks: 'deny wins' },
  'a new question is for later calls': { seed: 33, breaks: 'approvals bound' },
  'a pattern grants the other arguments': { seed: 1, breaks: 'approvals bound' },
  'calls are not counted': { seed: 62, breaks: 'bounded' },
  'tokens are not counted': { seed: 35, breaks: 'bounded' },
  'the time of a run is not bounded': { seed: 73, breaks: 'bounded' },
  'an amended call is forgotten': { seed: 63, breaks: 'nothing is lost' },
  'a generate does not wait for its compaction': { seed: 18, breaks: 'the window is whole' },
  'a compaction ends inside a batch': { seed: 26, breaks: 'the window is whole' },
  'a summary takes later messages with it': { seed: 36, breaks: 'the window is whole' },
  'a mark counts output alone': { seed: 18, breaks: 'the window is whole' },
  'a summary is asked for twice': { seed: 26, breaks: 'the window is whole' },
  'a failed compaction is tried again': { seed: 18, breaks: 'the window is whole' },
  'an approval is for later definitions': { seed: 710, breaks: 'unapproved tools are out' },
  'a fold that remembers': { seed: 1, breaks: 'replay identity' },
};
