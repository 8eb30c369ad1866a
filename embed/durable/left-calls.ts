// Calls that the loop went on from without handing them to the core: calls of tools that the application runs elsewhere, and
// calls that the framework refused by itself. They end with what the loop told the model.
import type { EngineClient } from '../../src/client/index.ts';
import { type CallResult, personEffects } from '../../src/core/index.ts';
import { answerIfWaiting } from '../runs/questions.ts';
import { loopIdOf } from './call-ids.ts';
import type { LoopCalls } from './loop-calls.ts';
import type { LoggedRun } from './logged-run.ts';
import type { RunLog } from './run-log.ts';
import type { LoopResult } from './turn.ts';

interface LeftCallsOptions {
  readonly client: EngineClient;
  readonly log: RunLog;
  readonly calls: LoopCalls;
}

export const hasEnded = ({ status }: Pick<CallResult, 'status'>): boolean =>
  status !== 'waiting' && status !== 'queued' && status !== 'running';

/** Ends every call of the last turn that no function of the loop was offered for. */
export async function endLeftCalls(
  { client, log, calls }: LeftCallsOptions,
  run: LoggedRun,
  results: ReadonlyMap<string, LoopResult>,
): Promise<void> {
  for (const made of run.calls()) {
    const { call_id: call } = made.call;
    if (hasEnded(made) || calls.isOffered(call)) continue;
    const result = results.get(loopIdOf(made.call)) ?? NO_RESULT;
    const action = log.state() && personEffects(log.state() as never).find(({ call_id }) => call_id === call);
    if (action === undefined || action === null) calls.refuse(call, result);
    else if (action.kind === 'agent.elicitation') {
      calls.refuse(call, result);
      await answerIfWaiting(client, action, { action: 'cancel' });
    } else if (action.kind === 'agent.custom_tool_use') await answerIfWaiting(client, action, result);
    else if (!(await answerIfWaiting(client, action, { allow: false, message: result.text })))
      calls.refuse(call, result);
  }
}

const NO_RESULT: LoopResult = { success: false, text: 'The program went on without running this call.' };
