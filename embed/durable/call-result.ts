// One call of the loop: its function is offered, and its result comes from the record.
import type { JsonObject } from '../../schemas/index.ts';
import { wholeText } from '../runs/contents.ts';
import { type BroughtCall, boundCall } from './bound-call.ts';
import { CallNotSucceeded } from './errors.ts';
import { hasEnded } from './left-calls.ts';
import type { LoopCallContext } from './loop-calls.ts';
import { allowUnasked, answerMadeCall } from './loop-questions.ts';
import { type LoopSession, sameCall } from './loop-session.ts';
import type { RunEnds } from './run-ends.ts';

export interface CallRequest extends BroughtCall {
  /** Does the work; `args` is what the record has, as `read` reads it. What it returns, any JSON value, becomes the result. */
  readonly run: (args: unknown, context: LoopCallContext) => unknown;
  /**
   * Whether a tool with `ask` really asks for a call with these arguments, as `read` reads them; when it says no, and no policy
   * asks, the call is allowed.
   */
  readonly asks?: (args: unknown) => boolean | Promise<boolean>;
  /** A person has allowed exactly this call in the framework: who is said to have answered. */
  readonly allowedBy?: string | null;
  /** Cancels the run when it aborts. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Resolves with the text of the result. Throws a {@link CallNotSucceeded} when the call ended in any other way, and a
 * `CallDiffers` when the loop brings another call than the one on record.
 */
export async function callResult(loop: LoopSession, ends: RunEnds, request: CallRequest): Promise<string> {
  const { client, log, calls } = loop;
  const { id, tool, run, asks, allowedBy = null, signal, read = (args: JsonObject): unknown => args } = request;
  const { made, digest, args: recorded } = await boundCall(loop, request);
  const { call_id } = made.call;
  const offered = {
    tool,
    digest,
    run: async (args: JsonObject, context: LoopCallContext) => run(await read(args), context),
  };
  const withdraw = hasEnded(made) ? () => undefined : calls.offer(call_id, offered);
  try {
    if (allowedBy !== null && !hasEnded(made)) await answerMadeCall(loop, made, { allow: true, by: allowedBy });
    if (asks !== undefined && recorded !== null && !hasEnded(made)) {
      void allowUnasked(loop, made, async () => await asks(await read(recorded))).catch(log.fail);
    }
    const ended = await ends.cancelledBy(signal, () =>
      log.until(() => {
        const now = log.run()?.calls().find(sameCall(made));
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
