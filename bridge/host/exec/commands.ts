// The commands that run now: how many may, and ending all of them.
import { COMMANDS_RUNNING_MAX } from '../../../schemas/limits.ts';
import { ToolFault } from '../outcome.ts';
import { type Keeper, openKeeper } from './keeper.ts';
import type { CommandEnd, RunningCommand, StopReason } from './run-command.ts';

export interface Commands {
  /** Throws `too_many_commands`; otherwise starts the command and keeps it until it has ended. */
  track(start: (keeper: Keeper) => RunningCommand): RunningCommand;
  /** Ends every running command; returns how many there were, after the last has ended. */
  stopAll(reason: StopReason, graceMs: number): Promise<number>;
  /** Ends them by force, and what would have ended them with this process. */
  close(): Promise<void>;
}

export function createCommands(): Commands {
  const running = new Set<RunningCommand>();
  const keeper = openKeeper();
  const stopAll = async (reason: StopReason, graceMs: number): Promise<number> => {
    const all = [...running];
    for (const command of all) command.stop(reason, graceMs);
    const ends: readonly CommandEnd[] = await Promise.all(all.map((command) => command.ended));
    return ends.length;
  };
  return {
    track(start) {
      if (running.size >= COMMANDS_RUNNING_MAX) {
        throw new ToolFault('too_many_commands', `${running.size} commands run already; wait for one of them to end`);
      }
      const command = start(keeper);
      running.add(command);
      void command.ended.then((): boolean => running.delete(command));
      return command;
    },
    stopAll,
    async close() {
      await stopAll('closed', 0);
      keeper.close();
    },
  };
}
