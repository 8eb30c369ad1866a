// Laws of the moment in which a tool runs, held against what is durable at that moment.
import { digestJson } from '../../../schemas/canonical.ts';
import { type Content, isInline } from '../../../schemas/content.ts';
import type { EventOfKind } from '../../../schemas/event.ts';
import type { CallId, SessionId } from '../../../schemas/ids.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { conflictBetween } from '../../../reducers/conflict.ts';
import type { Execution } from '../sim-tools.ts';
import type { Book, CallEntry } from './book.ts';
import type { Judge } from './judge.ts';

export interface ExecutionLaws {
  /** A tool is about to run. */
  entered(execution: Execution, book: Book, args: JsonObject): void;
  /** A result has become durable. */
  settled(session: SessionId, event: EventOfKind<'ToolCallSettled'>): void;
  readonly executions: readonly Execution[];
  /** Those of one call. */
  of(session: SessionId, call: CallId): readonly Execution[];
}

export function newExecutionLaws(judge: Judge): ExecutionLaws {
  const executions: Execution[] = [];

  const of = (session: SessionId, call: CallId): readonly Execution[] =>
    executions.filter(({ session_id, call_id }) => session_id === session && call_id === call);

  function checkCall({ call_id, owner }: Execution, call: CallEntry, { book, args }: Entered): void {
    const { planned, plan, starters } = call;
    if (planned === null) {
      judge.fail('only the plan runs', `${call_id} was rejected, and runs`);
      return;
    }
    judge.hold(
      planned.executor.kind !== 'custom',
      'approvals bound',
      () => `${call_id} is for a person to do, and runs`,
    );
    const allowed = planned.consent?.ask !== 'person' || call.allowed;
    judge.hold(allowed, 'approvals bound', () => `${call_id} runs before a person has allowed it`);
    const bound = digestJson(args) === planned.arguments_digest;
    judge.hold(bound, 'only the plan runs', () => `${call_id} runs with other arguments than were planned`);
    if (!planned.repeatable) {
      judge.hold(starters.includes(owner), 'durable first', () => `${call_id} runs before its start is on record`);
      const again = of(book.genesis.session_id, call_id).length > 0;
      judge.hold(!again, 'runs at most once', () => `${call_id} may not run twice, and does`);
    }
    const open = (plan?.execution_plan.after[call_id] ?? []).find((id) => isOpen(book.call(id)));
    judge.hold(open === undefined, 'no conflicting calls overlap', () => `${call_id} does not wait for ${open}`);
  }

  /** Nobody whose call is still open runs in conflict with this one. */
  function checkBeside({ call_id, session_id }: Execution, call: CallEntry, book: Book): void {
    for (const other of executions) {
      if (other.succeeded !== null || other.session_id !== session_id || other.process.isDead()) continue;
      const entry = book.call(other.call_id);
      if (entry?.batch_id !== call.batch_id || other.call_id === call_id || !isOpen(entry)) continue;
      if (entry.planned === null || call.planned === null) continue;
      const beside = conflictBetween(entry.planned, call.planned) === null;
      judge.hold(beside, 'no conflicting calls overlap', () => `${call_id} runs beside ${other.call_id}`);
    }
  }

  /** It is an attempt that the durable events speak of, and its time has come. A late one of before is whatever it is. */
  function checkAttempt({ call_id, attempt }: Execution, call: CallEntry, { events }: Book): void {
    const ofNow = attempt ?? call.attempt;
    judge.hold(ofNow <= call.attempt, 'durable first', () => `${call_id} runs as attempt ${ofNow}, which is not owed`);
    const earlyMs = call.notBeforeMs - (events.at(-1)?.at_ms ?? 0);
    const early = ofNow === call.attempt && earlyMs > 0;
    judge.hold(!early, 'tried again when due', () => `${call_id} runs again ${earlyMs} ms before its time`);
  }

  return {
    executions,
    of,
    entered(execution, book, args) {
      const call = book.call(execution.call_id);
      if (call === undefined) judge.fail('durable first', `${execution.call_id} runs and is not on record`);
      else {
        checkCall(execution, call, { book, args });
        checkBeside(execution, call, book);
        checkAttempt(execution, call, book);
      }
      executions.push(execution);
    },
    settled(session, { call_id, result, output }) {
      if (!result.success) return;
      const shown = excerptOf(output);
      const honest = of(session, call_id).some(({ succeeded, token }) => succeeded === true && shown.startsWith(token));
      judge.hold(honest, 'honest reports', () => `${call_id} is reported as succeeded, and did not: "${shown}"`);
    },
  };
}

interface Entered {
  readonly book: Book;
  readonly args: JsonObject;
}

const isOpen = (call: CallEntry | undefined): boolean =>
  call !== undefined && call.planned !== null && call.settled === null && !call.ended;

/** The first characters of a text, wherever it is kept. */
export const excerptOf = (content: Content): string => (isInline(content) ? content.text : content.head).slice(0, 128);
