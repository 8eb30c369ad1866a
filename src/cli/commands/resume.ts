// `refold resume`: continues a paused run. A fork begins paused, so this also starts a fork.
import type { Output } from '../output.ts';
import { type PhaseChange, changePhase } from '../people/change-phase.ts';

export const resumeCommand = (change: PhaseChange, output: Output): Promise<number> =>
  changePhase(
    change,
    { kind: 'RunResumed', next: 'a running bridge continues it. To start one: refold serve, refold bridge' },
    output,
  );
