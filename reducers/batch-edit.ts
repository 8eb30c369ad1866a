// Changes to calls of the open batch within one event: to one call, or to ten thousand when a person interrupts. The
// changes are collected in order and the batch is rebuilt once, so that the work is linear in the calls that change.
import type { CallConsent, PreviewedFiles } from '../schemas/consent.ts';
import type { CallId } from '../schemas/ids.ts';
import { invariant } from '../schemas/rejection.ts';
import type { ActiveToolBatch, CallState, CallStatus } from '../schemas/state.ts';
import { type TimedCall, dependentsOf, pageOf, positionOf, sharersOf, slotOf, timedCallsOf } from './batch-index.ts';
import { newBatchOutput } from './batch-results.ts';
import { withoutQuestion } from './call-attempts.ts';
import { isTerminal } from './call-status.ts';
import { type NextState, inOrder, openBatchOf } from './next-state.ts';
import { rulesOf } from './rules/known-rules.ts';
import { hasNotWaited, openWaits } from './waits.ts';

/** How a call ended. */
export type Settlement = Pick<CallState, 'attachments' | 'code' | 'terminal'> & {
  readonly status: Exclude<CallStatus, 'waiting' | 'queued' | 'running'>;
  readonly output: NonNullable<CallState['output']>;
};

export interface BatchEdit {
  /** The current state of the call at a position among the observed calls. */
  at(position: number): CallState;
  call(id: CallId): CallState;
  put(id: CallId, call: CallState): void;
  /** Adds the call to those with a time that state waits for. */
  addTime(id: CallId): void;
  /** Removes the call from those with such a time. */
  dropTime(id: CallId): void;
  /** Settles a call, and the calls that share its result. The time of calls that waited for them may begin. */
  settle(id: CallId, settlement: Settlement): void;
  /** Like {@link settle}, in an event that leaves no call queued: no time begins. */
  end(id: CallId, settlement: Settlement): void;
  /**
   * Queues a call that waits for a person; `approved` when the answer was about this very call. `previewed`: the files that
   * must be as they were in the preview that the answer names.
   */
  allow(id: CallId, by: 'answer' | 'grant', previewed?: PreviewedFiles): void;
  /** Has a queued call wait for a person, who is asked until `dueAtMs`. The time of its next attempt stays. */
  ask(id: CallId, consent: CallConsent, dueAtMs: number | undefined): void;
  /** Notes what a call that waits for a person would do, or why it is not known; it is owed no more. */
  notePreview(id: CallId, preview: NonNullable<CallState['preview']>): void;
  /** Has the preview of a call that waits for a person be made again: it was made in another place. */
  previewAgain(id: CallId): void;
  /** Has a queued call run. What state waits for is over: no time ends a call that runs, only a report or a lost lease. */
  start(id: CallId, owner: CallState['owner']): void;
  /** Marks a running call whose bridge is to stop it. A question that it asks is withdrawn. */
  stop(id: CallId): void;
  /** Makes the next attempt of a call owed, because its time is reached. */
  allowRetry(id: CallId): void;
  /** Writes the changed batch into the state. */
  finish(): void;
}

export function editBatch(next: NextState): BatchEdit {
  const batch = openBatchOf(next);
  const pages = newPages(batch);
  const times = newTimes(batch.timed ?? []);
  const timing = newTiming(batch, pages);
  const outputs = newBatchOutput(rulesOf(next), batch.observed.length, batch.pages);

  const put = (id: CallId, call: CallState): void => pages.put(positionOf(batch, id) as number, call);
  const call = (id: CallId): CallState => {
    const position = positionOf(batch, id);
    invariant(position !== undefined, `the batch has no call "${id}"`);
    return pages.at(position);
  };
  /** The time to fulfil a custom call, or to say what a call would do, begins when everything it waits for has settled. */
  const startTimes = (changed: readonly CallId[]): void => {
    for (const { call_id, timeFor, withinMs } of timing.begins(changed)) {
      const at = next.updated_at_ms + withinMs;
      put(
        call_id,
        inOrder({ ...call(call_id), ...(timeFor === 'answer' ? { due_at_ms: at } : { preview_until_ms: at }) }),
      );
      times.add(call_id);
    }
  };

  /** The settled calls: this one, and those that share its result. */
  const end = (id: CallId, { attachments, status, output, code, terminal }: Settlement): readonly CallId[] => {
    const settled = [id, ...sharersOf(batch.plan, id)];
    const kept = outputs.fit(output, settled.length, attachments);
    for (const call_id of settled) {
      invariant(!isTerminal(call(call_id).status), `the call "${call_id}" is settled already`);
      times.remove(call_id);
      const ended = { ...withoutOpen(call(call_id)), ...kept, code, status, terminal };
      put(call_id, kept.attachments === undefined ? ended : inOrder(ended));
    }
    return settled;
  };

  return {
    at: (position) => pages.at(position),
    call,
    put,
    addTime: (id) => times.add(id),
    dropTime: (id) => times.remove(id),
    settle: (id, settlement) => startTimes(end(id, settlement)),
    end: (id, settlement) => void end(id, settlement),
    ...questionEdits({ call, put, times, startTimes }),
    start(id, owner) {
      times.remove(id);
      put(id, { ...withoutTime(call(id)), owner, status: 'running' });
    },
    stop(id) {
      times.remove(id);
      put(id, inOrder({ ...withoutQuestion(call(id)), stopping: true }));
    },
    allowRetry(id) {
      times.remove(id);
      put(id, withoutTime(call(id)));
      timing.note(id);
    },
    finish() {
      next.active_tool_batch = withTimes(pages.changed(), times.list());
    },
  };
}

interface Edits extends Pick<BatchEdit, 'call' | 'put'> {
  readonly times: Times;
  readonly startTimes: (changed: readonly CallId[]) => void;
}

/** The changes of calls that wait for a person, and of those that do again. */
const questionEdits = ({
  call,
  put,
  times,
  startTimes,
}: Edits): Pick<BatchEdit, 'allow' | 'ask' | 'notePreview' | 'previewAgain'> => ({
  allow(id, by, previewed) {
    const { not_before_ms } = call(id);
    const approved = {
      ...(by === 'answer' ? { approved: true } : {}),
      ...(previewed === undefined ? {} : { previewed }),
    };
    const waits = not_before_ms === undefined ? {} : { not_before_ms };
    times.remove(id);
    put(id, inOrder({ ...withoutOpen(call(id)), ...leftOver(call(id)), ...approved, ...waits, status: 'queued' }));
    if (not_before_ms === undefined) startTimes([id]);
    else times.add(id);
  },
  ask(id, asked, dueAtMs) {
    const { due_at_ms: _ofTheCall, previewed: _ofTheAnswer, ...waiting } = call(id);
    const due = dueAtMs === undefined ? {} : { due_at_ms: dueAtMs };
    times.remove(id);
    put(id, inOrder({ ...waiting, ...due, asked, status: 'waiting' }));
    if (dueAtMs !== undefined) times.add(id);
    startTimes([id]);
  },
  notePreview(id, preview) {
    const { preview_until_ms: _over, ...rest } = call(id);
    put(id, inOrder({ ...rest, preview }));
    if (rest.due_at_ms === undefined) times.remove(id);
  },
  previewAgain(id) {
    const { preview: _elsewhere, ...rest } = call(id);
    put(id, rest);
    startTimes([id]);
  },
});

function withTimes(batch: ActiveToolBatch, timed: readonly CallId[]): ActiveToolBatch {
  if (timed.length > 0) return inOrder({ ...batch, timed });
  if (batch.timed === undefined) return batch;
  const { timed: _gone, ...rest } = batch;
  return rest;
}

/** The call without what only an open call has. */
function withoutOpen(call: CallState): CallState {
  if (OPEN_FIELDS.every((field) => call[field] === undefined)) return withoutTime(call);
  return withoutTime(withoutFields(call));
}

const OPEN_FIELDS = [
  'answer',
  'approved',
  'asked',
  'noted',
  'preview',
  'preview_until_ms',
  'previewed',
  'question',
  'questions',
  'resume',
  'stopping',
] as const satisfies readonly (keyof CallState)[];

function withoutFields(call: CallState): CallState {
  const rest: { -readonly [Field in keyof CallState]: CallState[Field] } = { ...call };
  for (const field of OPEN_FIELDS) delete rest[field];
  return rest;
}

/** What the attempts so far left to the next one: it stays when a person is asked before that one. */
function leftOver({ noted, questions, resume }: CallState): Partial<CallState> {
  return {
    ...(noted === undefined ? {} : { noted }),
    ...(questions === undefined ? {} : { questions }),
    ...(resume === undefined ? {} : { resume }),
  };
}

/** The call without a time that state waits for. */
function withoutTime(call: CallState): CallState {
  if (call.due_at_ms === undefined && call.not_before_ms === undefined) return call;
  const { due_at_ms: _due, not_before_ms: _notBefore, ...rest } = call;
  return rest;
}

interface Pages {
  at(position: number): CallState;
  put(position: number, call: CallState): void;
  /** The batch with the changed pages and counts. */
  changed(): ActiveToolBatch;
}

/** The pages of a batch, each copied before its first change, and its counts. */
function newPages(batch: ActiveToolBatch): Pages {
  const pages: CallState[][] = batch.pages.slice() as CallState[][];
  const change = { previews: 0, questions: 0, queued: 0, running: 0, waiting: 0 };
  const count = ({ status, preview_until_ms, question }: CallState, by: number): void => {
    if (status === 'queued' || status === 'running' || status === 'waiting') change[status] += by;
    if (preview_until_ms !== undefined) change.previews += by;
    if (question !== undefined) change.questions += by;
  };
  const at = (position: number): CallState => pages[pageOf(position)]?.[slotOf(position)] as CallState;
  return {
    at,
    put(position, call) {
      const index = pageOf(position);
      let page = pages[index] as CallState[];
      if (page === batch.pages[index]) {
        page = page.slice();
        pages[index] = page;
      }
      count(at(position), -1);
      count(call, 1);
      page[slotOf(position)] = call;
    },
    changed() {
      const { previews: previewsBefore = 0, questions: questionsBefore = 0, ...rest } = batch;
      const previews = previewsBefore + change.previews;
      const questions = questionsBefore + change.questions;
      const changed = {
        ...rest,
        pages,
        queued: batch.queued + change.queued,
        running: batch.running + change.running,
        ...(batch.waiting === undefined && change.waiting === 0
          ? {}
          : { waiting: (batch.waiting ?? 0) + change.waiting }),
      };
      if (previews === 0 && questions === 0) return changed;
      return inOrder({
        ...changed,
        ...(previews === 0 ? {} : { previews }),
        ...(questions === 0 ? {} : { questions }),
      });
    },
  };
}

interface Times {
  add(id: CallId): void;
  remove(id: CallId): void;
  list(): readonly CallId[];
}

/** The calls with a time that state waits for, in the order they got it. */
function newTimes(before: readonly CallId[]): Times {
  // Most batches wait for no time, so the sets are made on demand.
  let gone: Set<CallId> | null = null;
  let added: Set<CallId> | null = null;
  return {
    add(id) {
      added ??= new Set();
      added.add(id);
    },
    remove(id) {
      added?.delete(id);
      if (before.length === 0) return;
      gone ??= new Set();
      gone.add(id);
    },
    list() {
      const left = before.filter((id) => gone?.has(id) !== true);
      return added === null ? left : [...left, ...added];
    },
  };
}

interface Timing {
  /** The calls whose time begins after these calls changed, in the order of the plan. */
  begins(changed: readonly CallId[]): readonly TimedCall[];
  /** Marks a call that lost its time and may get another one. */
  note(id: CallId): void;
}

// The first `begins` checks all calls that may have a time. Those that have no time then wait for another call, so later ones check only
// the calls that depend on a changed call, directly or through calls that ended without having waited.
function newTiming(batch: ActiveToolBatch, pages: Pages): Timing {
  const { plan } = batch;
  const callOf = (id: CallId): CallState => pages.at(positionOf(batch, id) as number);
  const statusOf = (id: CallId): CallStatus => callOf(id).status;
  const noted: CallId[] = [];
  let allChecked = false;

  const mayBegin = ({ call_id, timeFor }: TimedCall): boolean =>
    isTimeless(callOf(call_id), timeFor) && openWaits(plan, call_id, statusOf).length === 0;

  /** The timed calls that may have waited for one of these calls. */
  function waitingFor(changed: readonly CallId[]): readonly TimedCall[] {
    const found = new Set<CallId>([...changed, ...noted]);
    const ended = [...changed];
    for (let id = ended.pop(); id !== undefined; id = ended.pop()) {
      for (const later of dependentsOf(plan, id)) {
        if (found.has(later)) continue;
        found.add(later);
        const status = statusOf(later);
        if (isTerminal(status) && hasNotWaited(plan, later, status)) ended.push(later);
      }
    }
    const timed = [...found].flatMap((id) => timedCallsOf(plan).get(id) ?? []);
    return timed.sort((a, b) => a.place - b.place);
  }

  return {
    note(id) {
      noted.push(id);
    },
    begins(changed) {
      const timed = timedCallsOf(plan);
      if (timed.size === 0) return [];
      const candidates = allChecked ? waitingFor(changed) : [...timed.values()];
      allChecked = true;
      noted.length = 0;
      return candidates.filter(mayBegin);
    },
  };
}

/** Whether a call has no time yet that may begin: to fulfil it, or to say what it would do. */
const isTimeless = (
  { status, due_at_ms, preview, preview_until_ms, question }: CallState,
  timeFor: TimedCall['timeFor'],
): boolean =>
  timeFor === 'answer'
    ? status === 'queued' && due_at_ms === undefined
    : status === 'waiting' && question === undefined && preview === undefined && preview_until_ms === undefined;
