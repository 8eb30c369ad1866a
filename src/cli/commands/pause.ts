// `refold pause`: the run starts nothing new until it is resumed. What already runs continues and is recorded.
import type { Output } from '../output.ts';
import { type PhaseChange, changePhase } from '../people/change-phase.ts';

export const pauseCommand = (change: PhaseChange, output: Output): Promise<number> =>
  changePhase(change, { kind: 'RunPaused', next: `to continue: refold resume ${change.id}` }, output);
