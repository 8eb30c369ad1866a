// `refold approvals`: lists the calls that wait for a person.
import pc from 'picocolors';
import { withEngine } from '../with-engine.ts';
import type { Output } from '../output.ts';
import { actionLine } from '../people/describe-action.ts';
import { waitingCalls } from '../people/waiting-calls.ts';

export async function approvalsCommand(dataDir: string, output: Output): Promise<number> {
  const waiting = await withEngine(dataDir, (client) => waitingCalls(client));
  for (const action of waiting) {
    output.object({ action });
    output.line(actionLine(action.session_id, action));
  }
  if (waiting.length === 0) output.line('no call waits for a person');
  else
    output.line(
      pc.dim('to answer: refold approve CALL, refold deny CALL --message "…", refold answer CALL --text "…"'),
    );
  return 0;
}
