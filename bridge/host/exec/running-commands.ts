// The commands that run now, or are about to: bounds how many there are at a time, and stops all of them.
import { COMMANDS_RUNNING_MAX } from '../../../schemas/limits.ts';
import { ToolFault } from '../outcome.ts';
import { type Keeper, openKeeper } from './keeper.ts';
import type { CommandEnd, CommandStopReason, RunningCommand } from './run-command.ts';

/** The place of one command, from before it is prepared until it has ended. */
export interface CommandPlace {
  /** Starts the command. Throws `cancelled` when it was stopped before. */
  start(begin: (keeper: Keeper) => RunningCommand): RunningCommand;
  /** Gives the place up when no command was started in it. */
  leave(): void;
}

export interface RunningCommands {
  /** Takes a place for a command of a session. Throws `too_many_commands` at the limit. */
  enter(sessionId: string): CommandPlace;
  /** Stops the commands of a session, also those that have not started; resolves to their number after the last has ended. */
  stopOf(sessionId: string, reason: CommandStopReason, graceMs: number): Promise<number>;
  /** Kills every running command, lets no other one start, and ends the keeper. */
  close(): Promise<void>;
}

export function createRunningCommands(): RunningCommands {
  /** Each with its session. */
  const running = new Map<RunningCommand, string>();
  const waiting = new Map<CommandPlace, string>();
  let closed = false;
  const keeper = openKeeper();
  const stopWhere = async (
    isMeant: (session: string) => boolean,
    reason: CommandStopReason,
    graceMs: number,
  ): Promise<number> => {
    const unstarted = [...waiting].filter(([, session]) => isMeant(session));
    for (const [place] of unstarted) waiting.delete(place);
    const commands = [...running].filter(([, session]) => isMeant(session)).map(([command]) => command);
    for (const command of commands) command.stop(reason, graceMs);
    const ends: readonly CommandEnd[] = await Promise.all(commands.map((command) => command.ended));
    return ends.length + unstarted.length;
  };
  return {
    enter(sessionId) {
      const count = running.size + waiting.size;
      if (count >= COMMANDS_RUNNING_MAX) {
        throw new ToolFault('too_many_commands', `${count} commands are already running; wait for one of them to end`);
      }
      const place: CommandPlace = {
        start(begin) {
          if (!waiting.delete(place)) throw new ToolFault('cancelled', 'the command was stopped before it started');
          const command = begin(keeper);
          running.set(command, sessionId);
          void command.ended.then((): boolean => running.delete(command));
          return command;
        },
        leave: () => void waiting.delete(place),
      };
      if (!closed) waiting.set(place, sessionId);
      return place;
    },
    stopOf: (sessionId, reason, graceMs) => stopWhere((session) => session === sessionId, reason, graceMs),
    async close() {
      closed = true;
      await stopWhere(() => true, 'closed', 0);
      keeper.close();
    },
  };
}
