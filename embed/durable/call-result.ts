// One call of the loop: its function is offered, and its result comes from the record.
import type { Digest, JsonObject } from '../../schemas/index.ts';
import type { CallResult } from '../../src/core/index.ts';
import { wholeText } from '../runs/contents.ts';
import { type BroughtCall, boundCall } from './bound-call.ts';
import { CallNotSucceeded } from './errors.ts';
import { hasEnded } from './left-calls.ts';
import type { LoopCallContext } from './loop-calls.ts';
import { allowUnasked, answerMadeCall } from './loop-questions.ts';
import { callKey } from './logged-run.ts';
import type { LoopSession } from './loop-session.ts';
import type { RunEnds } from './run-ends.ts';
import type { RunLog } from './run-log.ts';

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
  const offers: (() => void)[] = [];
  const offer = (call: CallResult, of: Digest): void => {
    const work = async (args: JsonObject, context: LoopCallContext): Promise<unknown> => run(await read(args), context);
    if (!hasEnded(call)) offers.push(calls.offer(call.call.call_id, { tool, digest: of, run: work }));
  };
  offer(made, digest);
  try {
    if (allowedBy !== null && !hasEnded(made)) await answerMadeCall(loop, made, { allow: true, by: allowedBy });
    if (asks !== undefined && recorded !== null && !hasEnded(made)) {
      void allowUnasked(loop, made, async () => await asks(await read(recorded))).catch(log.fail);
    }
    const ended = await ends.cancelledBy(signal, () => endOf(log, made, offer, signal));
    const text = ended.output === null ? '' : await wholeText(client, ended.output);
    if (ended.status === 'succeeded') return text;
    const status = hasEnded(ended) ? ended.status : 'cancelled';
    throw new CallNotSucceeded(id, status, ended.code, text === '' ? `the call ended as ${status}` : text);
  } finally {
    for (const withdraw of offers) withdraw();
  }
}

/**
 * The call when it is over. One that a person gave in its place, with other arguments, runs when the others of the turn are
 * over; the loop brings the function for it, and gets its result.
 */
async function endOf(
  log: RunLog,
  made: CallResult,
  offer: (call: CallResult, digest: Digest) => void,
  signal: AbortSignal | undefined,
): Promise<CallResult> {
  const isRunOver = (): boolean => log.run() === null || log.run()?.ended !== null;
  const ended = await log.until(
    () => {
      const now = log.run()?.call(made);
      return now === undefined || hasEnded(now) || isRunOver() ? (now ?? made) : undefined;
    },
    signal,
    callKey(made),
  );
  const next = log.run()?.replacement(made) ?? null;
  if (next === null) return ended;
  const begun = await log.until(() => log.run()?.call(next) ?? (isRunOver() ? null : undefined), signal, callKey(next));
  if (begun?.arguments_digest === undefined || begun.arguments_digest === null) return begun ?? ended;
  offer(begun, begun.arguments_digest);
  return await endOf(log, begun, offer, signal);
}
