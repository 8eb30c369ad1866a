// One call of the loop: its function is offered, and its result comes from the record.
import { wholeText } from '../runs/contents.ts';
import { CallNotSucceeded } from './errors.ts';
import { hasEnded } from './left-calls.ts';
import type { LoopFunction } from './loop-calls.ts';
import { allowUnasked } from './loop-questions.ts';
import { type LoopSession, madeCall } from './loop-session.ts';
import type { RunEnds } from './run-ends.ts';

export interface CallRequest {
  /** As the model named the call. */
  readonly id: string;
  readonly run: LoopFunction;
  /** Whether a tool with `ask` really asks for this call; when it says no, and no policy asks, the call is allowed. */
  readonly asks?: () => boolean | Promise<boolean>;
  /** Cancels the run when it aborts. */
  readonly signal?: AbortSignal | undefined;
}

/** Resolves with the text of the result. Throws a {@link CallNotSucceeded} when the call ended in any other way. */
export async function callResult(
  loop: LoopSession,
  ends: RunEnds,
  { id, run, asks, signal }: CallRequest,
): Promise<string> {
  const { client, session, log, calls } = loop;
  const made = madeCall(loop, id);
  if (made === undefined) throw new Error(`the model has made no call "${id}" in this run of session ${session}`);
  const { call_id } = made.call;
  const withdraw = hasEnded(made) ? () => undefined : calls.offer(call_id, run);
  if (asks !== undefined && !hasEnded(made)) void allowUnasked(loop, call_id, asks).catch(log.fail);
  try {
    const ended = await ends.cancelledBy(signal, () =>
      log.until(() => {
        const now = madeCall(loop, id);
        const isOver = now === undefined || hasEnded(now) || log.run()?.ended !== null;
        return isOver ? (now ?? made) : undefined;
      }, signal),
    );
    const text = ended.output === null ? '' : await wholeText(client, ended.output);
    if (ended.status === 'succeeded') return text;
    const status = hasEnded(ended) ? ended.status : 'cancelled';
    throw new CallNotSucceeded(id, status, ended.code, text === '' ? `the call ended as ${status}` : text);
  } finally {
    withdraw();
  }
}
