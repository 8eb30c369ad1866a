// `refold pause` and `refold resume`: a run that starts nothing new for a while. What runs goes on and is recorded; a
// fork begins paused, so that this is also how one sets out.
import type { SessionId } from '../../../schemas/ids.ts';
import { withEngine } from '../with-engine.ts';
import { must } from '../../client/must.ts';
import { CommandFailure, type Output } from '../output.ts';

export interface PauseCommand {
  readonly dataDir: string;
  readonly id: SessionId;
  readonly to: 'pause' | 'resume';
}

export async function pauseCommand({ dataDir, id, to }: PauseCommand, output: Output): Promise<number> {
  return await withEngine(dataDir, async (client) => {
    const { run } = (await must(client.session(id))).state;
    if (run === null) throw new CommandFailure('run_not_active', `no run of ${id} is active; start one: refold run`);
    const { run_id } = run;
    const event = { kind: to === 'pause' ? 'RunPaused' : 'RunResumed', run_id } as const;
    const receipt = await must(client.submit(id, { events: [event] }));
    const { state } = await must(client.session(id));
    output.object({ event, receipt, phase: state.run?.phase ?? 'idle' });
    const next =
      to === 'pause' ? `go on: refold resume ${id}` : 'a bridge goes on with it: refold serve, refold bridge';
    output.line(`${run_id} of ${id} is ${state.run?.phase ?? 'over'}; ${next}`);
    return 0;
  });
}
