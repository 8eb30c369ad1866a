// The commands that run now: bounds how many run at a time, and stops all of them.
import { COMMANDS_RUNNING_MAX } from '../../../schemas/limits.ts';
import { ToolFault } from '../outcome.ts';
import { type Keeper, openKeeper } from './keeper.ts';
import type { CommandEnd, CommandStopReason, RunningCommand } from './run-command.ts';

export interface RunningCommands {
  /** Starts a command and tracks it until it has ended. Throws `too_many_commands` at the limit. */
  track(start: (keeper: Keeper) => RunningCommand): RunningCommand;
  /** Stops every running command; resolves to their number after the last has ended. */
  stopAll(reason: CommandStopReason, graceMs: number): Promise<number>;
  /** Kills every running command, and ends the keeper. */
  close(): Promise<void>;
}

export function createRunningCommands(): RunningCommands {
  const running = new Set<RunningCommand>();
  const keeper = openKeeper();
  const stopAll = async (reason: CommandStopReason, graceMs: number): Promise<number> => {
    const all = [...running];
    for (const command of all) command.stop(reason, graceMs);
    const ends: readonly CommandEnd[] = await Promise.all(all.map((command) => command.ended));
    return ends.length;
  };
  return {
    track(start) {
      if (running.size >= COMMANDS_RUNNING_MAX) {
        throw new ToolFault(
          'too_many_commands',
          `${running.size} commands are already running; wait for one of them to end`,
        );
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
