// Where the bridge, which may run a call, meets the loop of the framework, which brings the function. The bridge has checked
// plan, consent and lease by then, and recorded the start of a call that must not be repeated. What runs is bound to what it has
// checked: the function of the same tool, with the arguments on record.
import { type CallReport, type Executor, failedReport } from '../../bridge/index.ts';
import { type Digest, type JsonObject, digestJson } from '../../schemas/index.ts';
import { OWN_TOOLS } from './loop-tools.ts';
import { textOfResult } from './result-text.ts';
import type { LoopResult } from './turn.ts';

/** What a function is told about its call. */
export interface LoopCallContext {
  /** Aborts when the call is cancelled, its time is over, or this process must stop. */
  readonly signal: AbortSignal;
}

/** What the loop offers to run. */
export interface OfferedCall {
  readonly tool: string;
  /** Of the arguments that the function may run with. */
  readonly digest: Digest;
  /** Does the work of one call; what it returns, any JSON value, becomes its result. */
  readonly run: (args: JsonObject, context: LoopCallContext) => unknown;
}

export interface LoopCalls {
  readonly executor: Executor;
  /** The loop runs this call, once the bridge may; `withdraw` takes the offer back. */
  readonly offer: (call: string, offered: OfferedCall) => () => void;
  /** Whether the loop has offered to run the call. */
  readonly isOffered: (call: string) => boolean;
  /** The loop will not run this call: it ends with the result that the loop made itself. */
  readonly refuse: (call: string, result: LoopResult) => void;
}

type Decision = { readonly offered: OfferedCall } | { readonly result: LoopResult };

export function newLoopCalls(): LoopCalls {
  const decided = new Map<string, Decision>();
  const waiting = new Map<string, (decision: Decision) => void>();

  function decide(call: string, decision: Decision): void {
    decided.set(call, decision);
    waiting.get(call)?.(decision);
  }

  const decisionOn = (call: string, signal: AbortSignal): Promise<Decision> =>
    new Promise((resolve, reject) => {
      const known = decided.get(call);
      if (known !== undefined) return resolve(known);
      const leave = (): void => {
        waiting.delete(call);
        reject(signal.reason as Error);
      };
      if (signal.aborted) return leave();
      signal.addEventListener('abort', leave, { once: true });
      waiting.set(call, (decision) => {
        signal.removeEventListener('abort', leave);
        waiting.delete(call);
        resolve(decision);
      });
    });

  return {
    executor: {
      tools: [`${OWN_TOOLS}*`],
      async run({ call_id, tool_id }, args, { signal }): Promise<CallReport> {
        const decision = await decisionOn(call_id, signal);
        if ('offered' in decision) {
          const { tool, digest, run } = decision.offered;
          if (tool_id !== `${OWN_TOOLS}${tool}` || digestJson(args) !== digest) {
            return failedReport(
              'not_run',
              `the program offered to run "${tool}" with other arguments than those on record`,
            );
          }
          return { success: true, text: textOfResult(await run(args, { signal })) };
        }
        decided.delete(call_id);
        const { success, text } = decision.result;
        return success ? { success, text } : { ...failedReport('not_run', text), text };
      },
    },
    offer(call, offered) {
      const decision = { offered };
      decide(call, decision);
      return () => void (decided.get(call) === decision && decided.delete(call));
    },
    isOffered: (call) => decided.has(call),
    refuse: (call, result) => decide(call, { result }),
  };
}
