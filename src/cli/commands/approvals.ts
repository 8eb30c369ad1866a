// `refold approvals`: lists the calls that wait for a person, and what calls ask.
import { questionDigest } from '../../core/status.ts';
import { withEngine } from '../with-engine.ts';
import type { Output } from '../output.ts';
import { actionLines } from '../people/describe-action.ts';
import { questionLines } from '../people/describe-question.ts';
import { waitingCalls } from '../people/waiting-calls.ts';
import { readSeen } from '../people/seen-action.ts';

export async function approvalsCommand(dataDir: string, output: Output): Promise<number> {
  return await withEngine(dataDir, async (client) => {
    const waiting = await waitingCalls(client);
    for (const action of waiting) {
      output.object({ ...action, digest: questionDigest(action) });
      if (output.json) continue;
      const lines =
        action.kind === 'agent.elicitation'
          ? questionLines(action)
          : actionLines(action, await readSeen(client, action));
      for (const line of lines) output.line(line);
    }
    if (waiting.length === 0) output.line('no call waits for a person');
    return 0;
  });
}
