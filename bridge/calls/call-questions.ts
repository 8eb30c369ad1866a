// What a running call tells the engine before it ends: what its work outside is called, and what it asks a person. Both are
// durable before the executor goes on (docs/bridge.md, "Calls that outlive a bridge, and calls that ask").
import { type Either, isRight } from 'fp-ts/lib/Either.js';
import { CallHandle, CallQuestion, type ElicitationAnswer, WITHDRAWN } from '../../schemas/elicitation.ts';
import type { Ingress } from '../../schemas/event.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { eventIdOf } from '../engine-link/event-id.ts';
import type { Outbox } from '../engine-link/outbox.ts';
import { type PutBlob, contentOf } from '../engine-link/text-content.ts';
import type { CallAsk } from '../executors/call-ask.ts';
import type { CallEnd, RunTime } from '../executors/bounded-run.ts';
import { failedReport } from '../executors/call-report.ts';
import type { CallContext } from '../executors/executors.ts';
import { type Log, messageOf } from '../log.ts';
import type { Redactor } from '../secrets/redactor.ts';
import type { HeldCall } from './held-call.ts';

interface CallQuestionsOptions {
  readonly nonce: string;
  readonly outbox: Outbox;
  readonly putBlob: PutBlob;
  readonly redactor: Redactor;
  readonly log: Log;
  /** Records the start of a call that need not be on record to run: only a running call asks. */
  readonly recordStart: (call: HeldCall) => Promise<boolean>;
}

export interface CallQuestions {
  /** What the executor of a call may tell while it runs. `time` stops while a person is asked. */
  toolsFor(call: HeldCall, time: RunTime): Pick<CallContext, 'note' | 'ask'>;
  /** Puts the question with which an attempt ended: `left`, or how the call ends because it cannot be put. */
  leave(call: HeldCall, asked: CallAsk): Promise<'left' | Pick<CallEnd, 'outcome' | 'report'>>;
}

export function newCallQuestions(options: CallQuestionsOptions): CallQuestions {
  const { nonce, outbox, putBlob, redactor, log, recordStart } = options;
  let told = 0;

  async function tell(
    { effect }: HeldCall,
    what: 'asked' | 'noted',
    event: Omit<Told<'ToolCallAsked'>, Address> | Omit<Told<'ToolCallNoted'>, Address>,
  ): Promise<Either<Rejection, void>> {
    const { batch_id, call_id, attempt, effect_id, session_id } = effect;
    told += 1;
    const event_id = eventIdOf(effect_id, `${what}/${nonce}/${told}`);
    return await outbox.report(session_id, { ...event, batch_id, call_id, attempt, event_id }, effect_id);
  }

  async function note(call: HeldCall, handle: string): Promise<boolean> {
    // A handle with a secret in it is not written down, and one that is altered names nothing.
    if (!CallHandle.is(handle) || redactor.value(handle) !== handle || !(await isOnRecord(call))) return false;
    const answer = await tell(call, 'noted', { kind: 'ToolCallNoted', handle });
    if (isRight(answer)) call.noted = true;
    return isRight(answer);
  }

  async function ask(call: HeldCall, time: RunTime, question: CallQuestion): Promise<ElicitationAnswer> {
    if (!CallQuestion.is(question)) throw new TypeError('the question has not the shape of a CallQuestion');
    if (call.stop.why !== null || !(await isOnRecord(call))) return WITHDRAWN;
    const goOn = time.pause();
    const answered = call.answers.next(call.stop.signal);
    const answer = await tell(call, 'asked', { kind: 'ToolCallAsked', question: redactor.value(question) });
    if (isRight(answer)) logAsked(call, false);
    else answered.giveUp();
    return await answered.answer.finally(goOn);
  }

  const isOnRecord = async (call: HeldCall): Promise<boolean> => call.started || (await recordStart(call));

  /** Why the question was not recorded; null when it was. */
  async function leaveWith(call: HeldCall, { ask: question, state }: CallAsk): Promise<Rejection | null> {
    if (redactor.value(state) !== state) return STATE_HAS_SECRET;
    if (!(await isOnRecord(call))) return NOT_STARTED;
    try {
      const resume = await contentOf(state, putBlob);
      const answer = await tell(call, 'asked', { kind: 'ToolCallAsked', question: redactor.value(question), resume });
      return isRight(answer) ? null : answer.left;
    } catch (error) {
      return reject('internal', '', messageOf(error));
    }
  }

  function logAsked({ effect: { session_id, batch_id, call_id, tool_id } }: HeldCall, ends: boolean): void {
    log({ event: 'call_asked', session_id, batch_id, call_id, tool_id, ends });
  }

  return {
    toolsFor(call, time) {
      // One question is open at a time: a second one waits until the first has its answer.
      let last: Promise<unknown> = Promise.resolve();
      return {
        note: (handle) => note(call, handle),
        ask(question) {
          const answer = last.then(() => ask(call, time, question));
          last = answer.catch(() => undefined);
          return answer;
        },
      };
    },
    async leave(call, asked) {
      const fault = await leaveWith(call, asked);
      if (fault === null) {
        logAsked(call, true);
        return 'left';
      }
      return call.stop.why !== null || ENDING.has(fault.code)
        ? { outcome: 'cancelled', report: failedReport('cancelled', NOT_ASKED) }
        : { outcome: 'failed', report: failedReport('question_refused', `${fault.code}: ${fault.message}`) };
    },
  };
}

const NOT_ASKED = 'stopped because the run was ended; its question was not put to a person';

const STATE_HAS_SECRET = reject('invalid_value', '/resume', 'the state of the call contains a secret');

/** The run ends, so nobody is asked any more. */
const ENDING: ReadonlySet<Rejection['code']> = new Set<Rejection['code']>(['call_not_running', 'wrong_phase']);

const NOT_STARTED = reject('call_not_running', '/call_id', 'the start of the call was not recorded');

type Told<K extends Ingress['kind']> = Extract<Ingress, { readonly kind: K }>;
type Address = 'attempt' | 'batch_id' | 'call_id' | 'event_id';
