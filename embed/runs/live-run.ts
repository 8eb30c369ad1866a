// A run as a program holds it: iterate over it to see what it does, or wait for its result.
import type { SessionId } from '../../schemas/index.ts';
import { must } from '../../src/client/index.ts';
import type { RunStart } from './begin-run.ts';
import type { Local } from './open-local.ts';
import { newPartQueue } from './part-queue.ts';
import { readRun } from './read-run.ts';
import type { RunPart, RunResult } from './run-parts.ts';

/** Iterating gives what the run does, once, from its beginning; the run goes on when no one iterates. */
export interface Run extends AsyncIterable<RunPart> {
  /** Its session; `run()` with it gives the run again. */
  readonly session: string;
  /** Resolves when the run has ended, however it ended; rejects when it could not begin, or was left unfinished. */
  readonly result: () => Promise<RunResult>;
  /** Ends the run: running calls are cancelled, and it ends as `cancelled`. Does nothing when it has ended. */
  readonly cancel: (reason?: string) => Promise<void>;
}

/** The process closed its engine before the run was over. It goes on when the same data directory is opened again. */
export class RunUnfinished extends Error {
  override readonly name = 'RunUnfinished';
  /** The session whose run is not over. */
  readonly session: string;

  constructor(session: string, cause: unknown) {
    super(`the run of session ${session} is not over: open the same dataDir and run() this session to go on`, {
      cause,
    });
    this.session = session;
  }
}

export interface LiveRun {
  readonly session: SessionId;
  readonly begin: () => Promise<RunStart>;
  /** Cancels the run when it aborts. */
  readonly signal?: AbortSignal;
  readonly onEnd: () => void;
}

/** Begins a run and reads it until it ends, whether or not the caller does. */
export function holdRun({ client, failed, closing }: Local, { session, begin, signal, onEnd }: LiveRun): Run {
  const queue = newPartQueue();
  const over = new AbortController();
  // One that is cancelled before it begins records nothing.
  const started = signal?.aborted === true ? Promise.reject<RunStart>(signal.reason as Error) : begin();

  async function cancel(reason = 'cancelled by the application'): Promise<void> {
    await started;
    if (over.signal.aborted) return;
    const { run } = (await must(client.session(session))).state;
    if (run === null || run.phase === 'cancelling') return;
    await must(client.submit(session, { events: [{ kind: 'RunCancelled', run_id: run.run_id, reason }] }));
  }

  async function readAll(): Promise<RunResult> {
    const parts = readRun(client, await started, over.signal);
    for (;;) {
      const next = await parts.next();
      if (next.done === true) return next.value;
      queue.push(next.value);
    }
  }

  async function untilEnd(): Promise<RunResult> {
    // What cannot be cancelled has ended, or the engine is closed: the result says so.
    const onAbort = (): void => void cancel('aborted by the application').catch(() => undefined);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      const result = await Promise.race([readAll(), failed]);
      queue.end();
      return result;
    } catch (error) {
      const fault = closing.aborted ? new RunUnfinished(session, error) : error;
      queue.end(fault);
      throw fault;
    } finally {
      signal?.removeEventListener('abort', onAbort);
      over.abort();
      onEnd();
    }
  }

  started.catch(() => undefined);
  const result = untilEnd();
  // A program that only iterates is told there.
  result.catch(() => undefined);
  return { session, result: () => result, cancel, [Symbol.asyncIterator]: () => queue.read() };
}
