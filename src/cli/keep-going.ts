// Keeps the engine and the bridge of one command running: a process that ends unexpectedly is restarted, a bounded
// number of times.
import { CommandFailure } from './output.ts';
import type { Child } from './processes.ts';

/** How often a process is restarted, and how long to wait after a failed start, times the number of restarts. */
const RESTARTS_MAX = 8;
const RESTART_WAIT_MS = 500;

/** A process that is restarted when it ends unexpectedly. */
export interface KeptChild extends Child {
  /** Rejects when the process is no longer restarted; otherwise it stays pending. */
  readonly givenUp: Promise<never>;
}

/**
 * Restarts a process that ends without being asked to. A restart loses nothing: the engine has its log, and the effects
 * of a lost bridge are leased again.
 */
export async function keepGoing(
  startIt: (before: Child | null) => Promise<Child>,
  onRestart: (problem: string | null) => void,
): Promise<KeptChild> {
  let child = await startIt(null);
  let stopped = false;
  let restarting: Promise<void> = Promise.resolve();
  let restarts = 0;
  let giveUp: (why: CommandFailure) => void = () => undefined;
  const givenUp = new Promise<never>((_, fail) => {
    giveUp = fail;
  });
  givenUp.catch(() => undefined);
  const guard = (): void => {
    child.process.once('exit', () => {
      if (!stopped) restarting = restart();
    });
  };
  const restart = async (): Promise<void> => {
    restarts += 1;
    if (restarts > RESTARTS_MAX) {
      giveUp(new CommandFailure('child_failed', `a process ended ${restarts} times and is no longer restarted`));
      return;
    }
    onRestart(null);
    try {
      child = await startIt(child);
      guard();
      if (stopped) await child.stop();
    } catch (error) {
      // Another command may have the data directory open for a moment.
      onRestart(`it did not start: ${error instanceof Error ? error.message : String(error)}`);
      await new Promise((resolve) => setTimeout(resolve, RESTART_WAIT_MS * restarts));
      if (!stopped) await restart();
    }
  };
  guard();
  return {
    get process() {
      return child.process;
    },
    ready: child.ready,
    givenUp,
    stop: async () => {
      stopped = true;
      await restarting;
      await child.stop();
    },
  };
}
