// Submits `RunPaused` or `RunResumed` to the active run of a session.
import type { SessionId } from '../../../schemas/ids.ts';
import { withEngine } from '../with-engine.ts';
import { must } from '../../client/must.ts';
import { CommandFailure, type Output } from '../output.ts';

export interface PhaseChange {
  readonly dataDir: string;
  readonly id: SessionId;
}

/** `next` tells the operator what to do after the change. */
export async function changePhase(
  { dataDir, id }: PhaseChange,
  { kind, next }: { readonly kind: 'RunPaused' | 'RunResumed'; readonly next: string },
  output: Output,
): Promise<number> {
  return await withEngine(dataDir, async (client) => {
    const { run } = (await must(client.session(id))).state;
    if (run === null) throw new CommandFailure('run_not_active', `${id} has no active run. Start one: refold run`);
    const { run_id } = run;
    const event = { kind, run_id };
    const receipt = await must(client.submit(id, { events: [event] }));
    const { state } = await must(client.session(id));
    output.object({ event, receipt, phase: state.run?.phase ?? 'idle' });
    output.line(`${run_id} of ${id} is ${state.run?.phase ?? 'over'}; ${next}`);
    return 0;
  });
}
