// One run of a session as the record has it, kept up to date while the stream grows: its turns, the results of its calls,
// and how it ended.
import type { EventId, EventOfKind, RunEnd, SessionId, SessionState } from '../../schemas/index.ts';
import type { EngineClient } from '../../src/client/index.ts';
import { type CallResult, type FoldedEvent, type RunResults, newRunResults } from '../../src/core/index.ts';
import { wholeText } from '../runs/contents.ts';
import { foldStream } from '../runs/fold-stream.ts';
import { type LoggedTurn, readTurn } from './read-turn.ts';

/** The run that the loop is in. */
export interface LoggedRun {
  readonly run_id: string;
  readonly input: string;
  readonly turns: readonly LoggedTurn[];
  readonly ended: RunEnd | null;
  /** Every call so far, in call order. */
  readonly calls: () => readonly CallResult[];
}

export interface RunLog {
  /** The run that is followed; null before there is one. */
  readonly run: () => LoggedRun | null;
  /** The state of the session by now; null before the session is read. */
  readonly state: () => SessionState | null;
  /** Forgets a run that is over: the next one that begins is followed. */
  readonly leave: () => void;
  /** Begins to read the stream; resolves when it has been read up to this version. Once. */
  readonly read: (session: SessionId, version: number) => Promise<void>;
  /** Resolves once `found` gives a value other than undefined. Rejects when reading fails, the log is closed, or the signal aborts. */
  readonly until: <A>(found: () => A | undefined, signal?: AbortSignal) => Promise<A>;
  /** Looks again at what is waited for: something else than the record has changed. */
  readonly look: () => void;
  /** Ends every wait with this error. */
  readonly fail: (error: unknown) => void;
  readonly close: () => Promise<void>;
}

interface Followed {
  readonly run_id: string;
  readonly input: string;
  readonly turns: LoggedTurn[];
  readonly results: RunResults;
  ended: RunEnd | null;
}

/** With `key`, the run that the event of this id began is followed; otherwise the unfinished run, or the next one. */
export function newRunLog(client: EngineClient, key: EventId | null): RunLog {
  const waits = new Set<() => void>();
  const closing = new AbortController();
  let followed: Followed | null = null;
  let state: SessionState | null = null;
  let caughtUp = false;
  let fault: { readonly error: unknown } | null = null;
  let reading: Promise<void> = Promise.resolve();

  const look = (): void => {
    for (const wait of waits) wait();
  };

  const fail = (error: unknown): void => {
    fault ??= { error };
    look();
  };

  async function add(folded: FoldedEvent): Promise<void> {
    const { event, before, after } = folded;
    state = after;
    const began = after.run !== null && after.run.run_id !== before.run?.run_id ? after.run.run_id : null;
    const isOurs = key === null ? followed === null : event.event_id === key;
    if (began !== null && isOurs) {
      const input = event.kind === 'RunRequested' ? await wholeText(client, event.input) : '';
      followed = { run_id: began, input, turns: [], results: newRunResults(after.run?.run_id), ended: null };
    }
    if (followed === null) return;
    followed.results.add(folded);
    if (event.kind === 'ToolCallsObserved' && event.run_id === followed.run_id) await addTurn(followed, event);
    followed.ended ??= event.ends?.find(({ run_id }) => run_id === followed?.run_id) ?? null;
    // Without a key, a run that was over before this process looked is never shown again.
    if (followed.ended !== null && key === null && !caughtUp) followed = null;
  }

  async function addTurn({ turns }: Followed, event: EventOfKind<'ToolCallsObserved'>): Promise<void> {
    turns.push(await readTurn(client, event, turns.at(-1)?.prompt ?? []));
  }

  async function readAll(session: SessionId, version: number, onCaughtUp: () => void): Promise<void> {
    for await (const item of foldStream(client, session, null, closing.signal)) {
      if ('kind' in item) continue;
      await add(item);
      if (!caughtUp && item.after.version >= version) {
        caughtUp = true;
        onCaughtUp();
      }
      look();
    }
  }

  function until<A>(found: () => A | undefined, signal?: AbortSignal): Promise<A> {
    return new Promise<A>((resolve, reject) => {
      const leave = (): void => {
        waits.delete(wait);
        signal?.removeEventListener('abort', wait);
      };
      const wait = (): void => {
        const value = signal?.aborted === true ? undefined : found();
        if (value !== undefined) resolve(value);
        else if (signal?.aborted === true) reject(signal.reason as Error);
        else if (fault !== null) reject(fault.error);
        else return;
        leave();
      };
      waits.add(wait);
      signal?.addEventListener('abort', wait, { once: true });
      wait();
    });
  }

  return {
    run: () => (followed === null ? null : shownRun(followed)),
    state: () => state,
    leave() {
      followed = null;
    },
    async read(session, version) {
      await new Promise<void>((resolve, reject) => {
        if (version === 0) {
          caughtUp = true;
          resolve();
        }
        reading = readAll(session, version, resolve).catch((error: unknown) => {
          reject(error);
          if (!closing.signal.aborted) fail(error);
        });
      });
    },
    until,
    look,
    fail,
    async close() {
      closing.abort();
      await reading;
    },
  };
}

const shownRun = ({ run_id, input, turns, ended, results }: Followed): LoggedRun => ({
  run_id,
  input,
  turns,
  ended,
  calls: () => results.result(),
});
