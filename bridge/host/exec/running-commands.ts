// The commands that run now: bounds how many run at a time, and stops all of them.
import { COMMANDS_RUNNING_MAX } from '../../../schemas/limits.ts';
import { ToolFault } from '../outcome.ts';
import { type Keeper, openKeeper } from './keeper.ts';
import type { CommandEnd, CommandStopReason, RunningCommand } from './run-command.ts';

export interface RunningCommands {
  /** Starts a command of a session and tracks it until it has ended. Throws `too_many_commands` at the limit. */
  track(sessionId: string, start: (keeper: Keeper) => RunningCommand): RunningCommand;
  /** Stops the running commands of a session; resolves to their number after the last has ended. */
  stopOf(sessionId: string, reason: CommandStopReason, graceMs: number): Promise<number>;
  /** Kills every running command, and ends the keeper. */
  close(): Promise<void>;
}

export function createRunningCommands(): RunningCommands {
  /** Each with its session. */
  const running = new Map<RunningCommand, string>();
  const keeper = openKeeper();
  const stopWhere = async (
    isMeant: (session: string) => boolean,
    reason: CommandStopReason,
    graceMs: number,
  ): Promise<number> => {
    const commands = [...running].filter(([, session]) => isMeant(session)).map(([command]) => command);
    for (const command of commands) command.stop(reason, graceMs);
    const ends: readonly CommandEnd[] = await Promise.all(commands.map((command) => command.ended));
    return ends.length;
  };
  return {
    track(sessionId, start) {
      if (running.size >= COMMANDS_RUNNING_MAX) {
        throw new ToolFault(
          'too_many_commands',
          `${running.size} commands are already running; wait for one of them to end`,
        );
      }
      const command = start(keeper);
      running.set(command, sessionId);
      void command.ended.then((): boolean => running.delete(command));
      return command;
    },
    stopOf: (sessionId, reason, graceMs) => stopWhere((session) => session === sessionId, reason, graceMs),
    async close() {
      await stopWhere(() => true, 'closed', 0);
      keeper.close();
    },
  };
}
