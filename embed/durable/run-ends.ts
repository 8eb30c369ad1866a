// The ends that a loop gives its run: completed, or cancelled by the application or by an abort.
import type { Ingress, SessionState } from '../../schemas/index.ts';
import { must } from '../../src/client/index.ts';
import type { LoopSession } from './loop-session.ts';
import type { RunLog } from './run-log.ts';

export interface RunEnds {
  /** Does nothing when the run is over. */
  readonly complete: () => Promise<void>;
  /** Does nothing when the run is over. */
  readonly cancel: (reason?: string) => Promise<void>;
  /** An abort during the work cancels the run: what was begun ends as cancelled, and is not taken up again. */
  readonly cancelledBy: <A>(signal: AbortSignal | undefined, work: () => Promise<A>) => Promise<A>;
  /** An abort from now on, until the run is over or another signal comes, cancels the run: between two turns of it, too. */
  readonly attach: (signal: AbortSignal | undefined) => void;
  /** Resolves when every abort so far has cancelled its run, or could not. */
  readonly settled: () => Promise<void>;
}

export function newRunEnds({ client, session, log }: Pick<LoopSession, 'client' | 'session' | 'log'>): RunEnds {
  const aborts = new Set<Promise<void>>();
  let detach = (): void => undefined;

  /** The run that is followed; null when the session has none by now, or another one. */
  async function runNow(): Promise<SessionState['run']> {
    if (!(await log.read())) return null;
    const { state } = await must(client.session(session));
    return state.run !== null && log.run()?.run_id === state.run.run_id ? state.run : null;
  }

  async function end(event: Ingress): Promise<void> {
    await must(client.submit(session, { events: [event] }));
    await untilOver(log);
  }

  async function cancel(reason = 'cancelled by the application'): Promise<void> {
    const run = await runNow();
    if (run === null || run.phase === 'cancelling') return;
    await end({ kind: 'RunCancelled', run_id: run.run_id, reason });
  }

  function onAbort(): void {
    const cancelling = cancel(ABORTED).catch(() => undefined);
    aborts.add(cancelling);
    void cancelling.finally(() => aborts.delete(cancelling));
  }

  /** A loop gives one signal to its turns and to its calls: each of them listens by itself. */
  function listen(signal: AbortSignal | undefined): () => void {
    const listener = (): void => onAbort();
    signal?.addEventListener('abort', listener, { once: true });
    return () => signal?.removeEventListener('abort', listener);
  }

  return {
    async complete() {
      const run = await runNow();
      if (run !== null) await end({ kind: 'RunCompleted', run_id: run.run_id });
    },
    cancel,
    async cancelledBy(signal, work) {
      const leave = listen(signal);
      try {
        return await work();
      } finally {
        leave();
      }
    },
    attach(signal) {
      detach();
      const leave = listen(signal);
      detach = leave;
      // A signal may live as long as the program.
      untilOver(log).then(leave, leave);
    },
    async settled() {
      await Promise.all(aborts);
    },
  };
}

/** The reason on record. */
export const ABORTED = 'aborted by the application';

/** Resolves when the run that is followed is over, or none is followed. */
export async function untilOver(log: RunLog): Promise<void> {
  await log.until(() => (log.run()?.ended === null ? undefined : true));
}
