// Steps the requests of one group, one after the other, on top of a session's durable state. Nothing here is durable or
// visible yet: a request that is refused or that fails leaves the steps of the others unchanged. So a group that waits for a
// check on another thread can be given up, and stepped again after a request that ends work.
import { type Either, isLeft, isRight, left, right } from 'fp-ts/lib/Either.js';
import { canonicalText } from '../../../schemas/canonical.ts';
import type { Ingress, NewEvent } from '../../../schemas/event.ts';
import type { Position, SessionId } from '../../../schemas/ids.ts';
import { type Rejection, reject } from '../../../schemas/rejection.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { Submit, SubmitReceipt } from '../../../schemas/wire.ts';
import { owesBridge } from '../../core/owed/owing.ts';
import { type NewFolded, foldNew } from '../../core/step.ts';
import type { Journal } from '../../journal/journal.ts';
import { type Soon, andThen } from '../../soon.ts';
import { type CheckWaits, type RequestBudget, newRequestBudget } from '../edge/budget.ts';
import { type EdgePorts, digestArguments, toEvent } from '../edge/edge.ts';
import { type TellFault, stepFault, tellError } from '../faults.ts';
import { Overtaken } from './brakes.ts';
import { type EventAnswer, type Known, answerKnown, findPending, findRecorded } from './known-events.ts';
import { type PendingSteps, addStep, addSteps, noSteps } from './pending-steps.ts';
import { findUnreadable } from './readable.ts';
import type { QueuedRequest, Receipt } from './request-queue.ts';
import type { DigestArguments } from './same-event.ts';
import { type UndoRequest, fillUndo } from './undo-request.ts';

export interface StepPorts extends EdgePorts {
  readonly journal: Journal;
  readonly tellFault: TellFault;
  /** Why the sender of the request must not report this, or null. */
  readonly refuseReport: (session: SessionId, ingress: Ingress, request: Submit) => Rejection | null;
  /** Why an idle session must not become active, or null. */
  readonly refuseActive: (session: SessionId) => Rejection | null;
}

/** Where stepping starts: the session as of its last durable event. */
export interface StepStart {
  readonly id: SessionId;
  readonly state: SessionState;
  /** Awaits checks on the other thread; rejects with {@link Overtaken}. */
  readonly wait: CheckWaits['wait'];
}

/** When the journal is searched for an event id: before the event is stepped, or only after it was refused. */
export type LookUp = 'first' | 'if refused';

export interface SteppedRequests {
  readonly steps: PendingSteps;
  /** One for each request, in order. */
  readonly receipts: readonly Receipt[];
}

export async function stepRequests(
  ports: StepPorts,
  start: StepStart,
  requests: readonly Pick<QueuedRequest, 'request' | 'begun'>[],
  lookUp: LookUp,
): Promise<SteppedRequests> {
  const steps = noSteps(start.state);
  const receipts: Receipt[] = [];
  for (const { request, begun } of requests) {
    const own = noSteps(steps.state);
    const budget = newRequestBudget({ begun, wait: start.wait });
    receipts.push(await stepSafely({ ports, start, lookUp, request, budget, before: steps, own }));
  }
  return { steps, receipts };
}

/** What stepping one request needs. */
interface RequestSteps {
  readonly ports: StepPorts;
  readonly start: StepStart;
  readonly lookUp: LookUp;
  readonly request: Submit;
  readonly budget: RequestBudget;
  /** The steps of the requests before this one. */
  readonly before: PendingSteps;
  /** The steps of this request. */
  readonly own: PendingSteps;
}

// A step that throws is an internal error that affects only this request: the state it began with is frozen, and none of
// its steps are added.
async function stepSafely(requested: RequestSteps): Promise<Receipt> {
  try {
    return await stepRequest(requested);
  } catch (error) {
    if (error instanceof Overtaken) throw error;
    tellError(requested.ports.tellFault, requested.start.id, 'stepping a request', error);
    return left(stepFault());
  }
}

/** Steps every event of a request, or none. */
async function stepRequest(requested: RequestSteps): Promise<Receipt> {
  const { start, request, before, own } = requested;
  const events: SubmitReceipt['events'][number][] = [];
  for (const [index, ingress] of request.events.entries()) {
    const rest = requested.ports.pause();
    if (rest !== null) await rest;
    const answering = answerEvent(requested, ingress, findPending(ingress, start.state.version, [before, own]));
    const answer = answering instanceof Promise ? await answering : answering;
    if (isLeft(answer)) return left(atEvent(index, answer.left));
    events.push(answer.right);
  }
  addSteps(before, own);
  return right({ version: own.state.version, events });
}

/** The rejection with the index of its event in its path; a version conflict concerns the whole request. */
const atEvent = (index: number, rejection: Rejection): Rejection =>
  rejection.code === 'version_conflict' ? rejection : { ...rejection, path: `/events/${index}${rejection.path}` };

// Most events that are sent again are refused, because what they report has already happened. So the journal is searched
// only after a refusal.
function answerEvent(requested: RequestSteps, ingress: Ingress, pending: Known | null): Soon<EventAnswer> {
  const { lookUp, request, before } = requested;
  if (pending !== null) return answerKnown(ingress, pending, digestsOf(requested));
  const { expected_version: expected } = request;
  const conflicts = expected !== undefined && expected !== before.state.version;
  if (conflicts || lookUp === 'first') return answerLookedUp(requested, ingress, conflicts);
  return andThen(stepEvent(requested, ingress), (answer) =>
    isRight(answer) ? answer : findOr(requested, ingress, () => answer),
  );
}

function answerLookedUp(requested: RequestSteps, ingress: Ingress, conflicts: boolean): Promise<EventAnswer> {
  const { before, request } = requested;
  return findOr(requested, ingress, () => {
    if (!conflicts) return stepEvent(requested, ingress);
    // Only a new event can conflict: a request sent again gets its first answer, whatever was appended since.
    const at = `the session is at version ${before.state.version}, not at the expected ${request.expected_version}`;
    return left(reject('version_conflict', '/expected_version', at));
  });
}

/** The answer to an event that the journal contains, else what `otherwise` answers. */
async function findOr(
  requested: RequestSteps,
  ingress: Ingress,
  otherwise: () => Soon<EventAnswer>,
): Promise<EventAnswer> {
  const { ports, start } = requested;
  const found = await findRecorded(ports.journal, start.id, ingress, digestsOf(requested));
  return found ?? (await otherwise());
}

const digestsOf =
  ({ ports, budget }: RequestSteps): DigestArguments =>
  (call) =>
    digestArguments({ ...ports, budget }, call);

function stepEvent(requested: RequestSteps, ingress: Ingress): Soon<EventAnswer> {
  const { ports, start, request, own } = requested;
  const refusal = ports.refuseReport(start.id, ingress, request);
  if (refusal !== null && refusal.code !== 'lease_required') return left(refusal);
  return andThen(measureEvent(requested, ingress), (event) => {
    if (isLeft(event)) return event;
    // What the edge measures and the fold may each take most of a turn.
    return andThen(ports.pause(), () => {
      if (refusal === null) return addEvent(requested, event.right);
      // What would be refused under a lease too is told so: no lease would help.
      const folded = foldNew(own.state, event.right);
      return isLeft(folded) ? folded : left(refusal);
    });
  });
}

/** The event to record, with everything the edge measures. */
function measureEvent(requested: RequestSteps, ingress: Ingress): Soon<Either<Rejection, NewEvent>> {
  const { ports, budget, own } = requested;
  if (ingress.kind === 'UndoRequested') return measureUndo(requested, ingress);
  return toEvent(ports, own.state, ingress, budget);
}

async function measureUndo(
  { ports, start, budget, before, own }: RequestSteps,
  ingress: UndoRequest,
): Promise<Either<Rejection, NewEvent>> {
  const pending = [...before.events, ...own.events];
  const filled = await fillUndo(
    {
      journal: ports.journal,
      id: start.id,
      state: own.state,
      version: start.state.version,
      pending,
      pause: ports.pause,
      budget,
    },
    ingress,
  );
  return isLeft(filled) ? filled : await toEvent(ports, own.state, filled.right, budget);
}

function addEvent(requested: RequestSteps, given: NewEvent): Soon<EventAnswer> {
  const folded = foldNew(requested.own.state, given);
  return isLeft(folded) ? folded : andThen(requested.ports.pause(), () => addFolded(requested, folded.right));
}

function addFolded({ ports, start, own }: RequestSteps, folded: NewFolded): EventAnswer {
  const { event, state } = folded;
  const position = own.state.version as number as Position;
  const text = canonicalText(event);
  const becomesActive = !owesBridge(own.state) && owesBridge(state);
  const tooMany = becomesActive ? ports.refuseActive(start.id) : null;
  const refused = tooMany ?? findUnreadable(event, text);
  if (refused !== null) return left(refused);
  addStep(own, event, text, folded);
  return right({ event_id: event.event_id, position, repeated: false });
}
