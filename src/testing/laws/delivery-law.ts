// Law 26, answers are delivered once, and law 25, of notes: what a running call is told of its notes and of the answers to its
// questions is what is on record.
import { canonicalText } from '../../../schemas/canonical.ts';
import type { ElicitationAnswer } from '../../../schemas/elicitation.ts';
import { QUESTIONS_PER_CALL_MAX } from '../../../schemas/limits.ts';
import type { SessionId } from '../../../schemas/ids.ts';
import type { Execution } from '../sim-tools.ts';
import type { CallAsked } from './call-left.ts';
import type { Judge } from './judge.ts';
import type { CallEntry, StoredSession } from './stored-session.ts';

export interface DeliveryLaw {
  /** A call is told that its note is recorded. */
  noted(execution: Execution, handle: string): void;
  /** A call asks, and keeps running. Returns a callback for the answer. */
  asking(execution: Execution, signal: AbortSignal | null): { got(answer: ElicitationAnswer): void };
}

export function newDeliveryLaw(judge: Judge, storedOf: (session: SessionId) => StoredSession | undefined): DeliveryLaw {
  /** How many questions an execution has asked that keeps running. */
  const asked = new Map<Execution, number>();

  return {
    noted({ session_id, call_id }, handle) {
      const isNoted = storedOf(session_id)?.events.some(
        (event) => event.kind === 'ToolCallNoted' && event.call_id === call_id && event.handle === handle,
      );
      judge.check(isNoted === true, 'noted work is awaited', () => `${call_id} is told that ${handle} is noted`);
    },
    asking(execution, signal) {
      const nth = asked.get(execution) ?? 0;
      asked.set(execution, nth + 1);
      return {
        got(answer) {
          const stored = storedOf(execution.session_id);
          const call = stored?.call(execution.call_id);
          if (stored === undefined || call === undefined) return;
          const fault = findFault({ stored, call, execution, nth, answer, isStopped: signal?.aborted !== false });
          if (fault !== null) judge.fail(...fault);
        },
      };
    },
  };
}

interface Got {
  readonly stored: StoredSession;
  readonly call: CallEntry;
  readonly execution: Execution;
  /** The place of the question among those that the execution asked. */
  readonly nth: number;
  readonly answer: ElicitationAnswer;
  /** The call is to stop, or does not listen. */
  readonly isStopped: boolean;
}

function findFault(got: Got): Parameters<Judge['fail']> | null {
  const { stored, call, execution, nth, answer, isStopped } = got;
  const { call_id, attempt } = execution;
  const ofAttempt = attempt ?? call.attempt;
  const question = call.left.questions.filter((one) => one.attempt === ofAttempt && one.state === null)[nth];
  const read = `${call_id} reads ${canonicalText(answer)}`;
  if (answer.action === 'cancel' && (isStopped || isOver(question, call, ofAttempt))) return null;
  if (question === undefined) {
    const canAsk = stored.state().run?.ending === null && call.left.questions.length < QUESTIONS_PER_CALL_MAX;
    return answer.action === 'cancel' && !canAsk
      ? null
      : ['no question is lost', `${read}, but its question is not on record`];
  }
  const due = question.answer;
  if (due !== null && canonicalText(due) === canonicalText(answer)) return null;
  const recorded = due === null ? 'none' : canonicalText(due);
  return ['answers are delivered once', `${read}, but the answer on record is ${recorded}`];
}

/** The question ended without an answer, or the attempt that asks is over. */
const isOver = (question: CallAsked | undefined, call: CallEntry, attempt: number): boolean =>
  call.attempt !== attempt ||
  call.settled !== null ||
  call.ended ||
  (question !== undefined && !question.open && question.answer === null);
