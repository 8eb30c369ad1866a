// `refold interrupt`: stops the queued calls of the active run. The run continues with a new instruction, or ends.
import type { SessionId } from '../../../schemas/ids.ts';
import { readAttachments, storeAttachments } from '../attachments.ts';
import { withEngine } from '../with-engine.ts';
import { must } from '../../client/must.ts';
import { CommandFailure, type Output } from '../output.ts';
import { userName } from '../people/user-name.ts';
import { storeContent } from '../../client/store-content.ts';

interface Interruption {
  readonly id: SessionId;
  /** The instruction the run continues with; without it, the run ends. */
  readonly say?: string;
  /** Files that the model gets with the instruction. */
  readonly attach?: readonly string[];
}

export async function interruptCommand(
  dataDir: string,
  { id, say, attach = [] }: Interruption,
  output: Output,
): Promise<number> {
  if (say === undefined && attach.length > 0) {
    throw new CommandFailure('invalid_shape', 'files go with an instruction. Give --say "…" with --attach');
  }
  const files = await readAttachments(attach);
  return await withEngine(dataDir, async (client) => {
    const { state } = await must(client.session(id));
    if (state.run === null)
      throw new CommandFailure('run_not_active', `${id} has no active run. Start one: refold run`);
    const input = say === undefined ? {} : { input: await must(storeContent(client, say)) };
    const attached = await storeAttachments(client, files);
    const event = { kind: 'user.interrupt' as const, run_id: state.run.run_id, by: userName(), ...input, ...attached };
    const receipt = await must(client.submit(id, { events: [event] }));
    output.object({ event, receipt });
    output.line(
      `${state.run.run_id} of ${id} is interrupted${say === undefined ? ' and ends' : ' and continues with your instruction'}`,
    );
    return 0;
  });
}
