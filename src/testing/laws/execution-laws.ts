// Laws of a running tool, checked against what is durable when it starts.
import { canonicalText, digestJson } from '../../../schemas/canonical.ts';
import { type Content, isInline } from '../../../schemas/content.ts';
import type { EventOfKind } from '../../../schemas/event.ts';
import type { CallId, SessionId } from '../../../schemas/ids.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { conflictBetween } from '../../../reducers/conflict.ts';
import type { ToolResume } from '../bridge-world.ts';
import type { Execution } from '../sim-tools.ts';
import { isStateOf } from './call-left.ts';
import type { StoredSession, CallEntry } from './stored-session.ts';
import type { Judge } from './judge.ts';

/** What a tool runs with. */
interface Run {
  readonly args: JsonObject;
  readonly resume: ToolResume | undefined;
}

export interface ExecutionLaws {
  /** Called when a tool starts to run. */
  entered(execution: Execution, stored: StoredSession, run: Run): void;
  /** A server has begun work for a call, for the `count`th time. */
  began(order: Pick<Execution, 'session_id' | 'call_id'>, count: number): void;
  /** Called when a result has become durable. */
  settled(session: SessionId, event: EventOfKind<'ToolCallSettled'>): void;
  readonly executions: readonly Execution[];
  /** The executions of one call. */
  of(session: SessionId, call: CallId): readonly Execution[];
}

export function newExecutionLaws(
  judge: Judge,
  storedOf: (session: SessionId) => StoredSession | undefined,
): ExecutionLaws {
  const executions: Execution[] = [];

  const of = (session: SessionId, call: CallId): readonly Execution[] =>
    executions.filter(({ session_id, call_id }) => session_id === session && call_id === call);

  function checkCall({ call_id, owner }: Execution, call: CallEntry, { stored, args }: Entered): void {
    const { planned, plan, starters } = call;
    if (planned === null) {
      judge.fail('only the plan runs', `${call_id} was rejected but runs`);
      return;
    }
    judge.check(
      planned.executor.kind !== 'custom',
      'approvals bound',
      () => `${call_id} is performed by a person but runs`,
    );
    const allowed = !call.asks || call.allowed;
    judge.check(allowed, 'approvals bound', () => `${call_id} runs before a person allowed it`);
    const bound = digestJson(args) === planned.arguments_digest;
    judge.check(bound, 'only the plan runs', () => `${call_id} runs with arguments that differ from the plan`);
    const begun = planned.read_only || starters.includes(owner);
    judge.check(begun, 'durable first', () => `${call_id} runs before its start is recorded`);
    const open = (plan?.execution_plan.after[call_id] ?? []).find((id) => isOpen(stored.call(id)));
    judge.check(open === undefined, 'no conflicting calls overlap', () => `${call_id} does not wait for ${open}`);
  }

  /** No other running call of the batch conflicts with this one. */
  function checkBeside({ call_id, session_id }: Execution, call: CallEntry, stored: StoredSession): void {
    for (const other of executions) {
      if (other.succeeded !== null || other.session_id !== session_id || other.process.isDead()) continue;
      const entry = stored.call(other.call_id);
      if (entry?.batch_id !== call.batch_id || other.call_id === call_id || !isOpen(entry)) continue;
      if (entry.planned === null || call.planned === null) continue;
      const beside = conflictBetween(entry.planned, call.planned) === null;
      judge.check(beside, 'no conflicting calls overlap', () => `${call_id} runs beside ${other.call_id}`);
    }
  }

  return {
    executions,
    of,
    entered(execution, stored, { args, resume }) {
      const call = stored.call(execution.call_id);
      if (call === undefined) judge.fail('durable first', `${execution.call_id} runs but is not recorded`);
      else {
        checkCall(execution, call, { stored, args });
        checkOnce(execution, { call, resume, earlier: of(execution.session_id, execution.call_id) }, judge);
        checkBeside(execution, call, stored);
        checkAttempt(execution, { call, events: stored.events }, judge);
      }
      executions.push(execution);
    },
    began({ session_id, call_id }, count) {
      const once = count === 1 || storedOf(session_id)?.call(call_id)?.planned?.repeatable === true;
      judge.check(once, 'runs at most once', () => `a server works for ${call_id} for the ${count}th time`);
    },
    settled(session, { call_id, result, output }) {
      if (!result.success) return;
      const shown = excerptOf(output);
      const honest = of(session, call_id).some(({ succeeded, token }) => succeeded === true && shown.startsWith(token));
      judge.check(
        honest,
        'honest reports',
        () => `${call_id} is reported as succeeded but did not succeed: "${shown}"`,
      );
    },
  };
}

interface Owed extends Pick<StoredSession, 'events'> {
  readonly call: CallEntry;
}

/** The durable events owe the attempt, and its time is reached. A late run of an earlier attempt is allowed. */
function checkAttempt({ call_id, attempt }: Execution, { call, events }: Owed, judge: Judge): void {
  const ofNow = attempt ?? call.attempt;
  judge.check(ofNow <= call.attempt, 'durable first', () => `${call_id} runs as attempt ${ofNow}, which is not owed`);
  const earlyMs = call.notBeforeMs - (events.at(-1)?.at_ms ?? 0);
  const early = ofNow === call.attempt && earlyMs > 0;
  judge.check(!early, 'retried when due', () => `${call_id} runs again ${earlyMs} ms before its time`);
}

interface Attempted extends Pick<Run, 'resume'> {
  readonly call: CallEntry;
  /** The executions of the call before. */
  readonly earlier: readonly Execution[];
}

/**
 * One execution is one beginning. An attempt that gets what another one left goes on with it: exactly that, and each attempt
 * once.
 */
function checkOnce({ call_id, attempt }: Execution, { call, resume, earlier }: Attempted, judge: Judge): void {
  const ofNow = attempt ?? call.attempt;
  const again = resume === undefined ? earlier.length > 0 : earlier.some((other) => other.attempt === ofNow);
  const once = call.planned?.repeatable === true || !again;
  judge.check(once, 'runs at most once', () => `${call_id} must not run twice but does`);
  const { handle, state, answer } = call.left.given.get(ofNow) ?? {};
  const gets = (): string => `attempt ${ofNow} of ${call_id} gets ${JSON.stringify(resume)}`;
  judge.check(handle === resume?.handle, 'noted work is awaited', () => `${gets()}, but ${handle} is noted`);
  const isAnswered =
    isStateOf(state, resume?.state) && canonicalText(answer ?? {}) === canonicalText(resume?.answer ?? {});
  judge.check(isAnswered, 'answers are delivered once', () => `${gets()}, but the answer is ${JSON.stringify(answer)}`);
}

interface Entered {
  readonly stored: StoredSession;
  readonly args: JsonObject;
}

const isOpen = (call: CallEntry | undefined): boolean =>
  call !== undefined && call.planned !== null && call.settled === null && !call.ended;

/** The first characters of a text, inline or in a blob. */
export const excerptOf = (content: Content): string => (isInline(content) ? content.text : content.head).slice(0, 128);
