// The run of a session that its loop is in, kept up to date while the stream grows.
import type { EventId, SessionId, SessionState } from '../../schemas/index.ts';
import { type EngineClient, RejectedError } from '../../src/client/index.ts';
import type { FoldedEvent } from '../../src/core/index.ts';
import { foldStream } from '../runs/fold-stream.ts';
import { newProviderIdIndex } from './call-ids.ts';
import { type GrowingRun, type LoggedRun, begunRun, callKey, newGrowingRun } from './logged-run.ts';
import { type Waits, newWaits } from './waits.ts';

/** Its waits also end when reading fails. */
export interface RunLog extends Waits {
  /** The run that is followed; null before there is one. */
  readonly run: () => LoggedRun | null;
  /** The state of the session by now; null before the session is read. */
  readonly state: () => SessionState | null;
  /** The provider's own id of a call that the loop knows by another; else the same id. */
  readonly providerId: (id: string) => string;
  /** Forgets a run that is over: the next one that begins is followed. */
  readonly leave: () => void;
  /**
   * Begins to follow the session, once, and resolves when what it had by then has been read. Resolves with false when there is
   * no such session yet. Throws a RejectedError when it cannot be read.
   */
  readonly read: () => Promise<boolean>;
  readonly close: () => Promise<void>;
}

export interface RunLogOptions {
  readonly client: EngineClient;
  readonly session: SessionId;
  /** The run that the event of this id began is followed; when null, the unfinished run, or the next one. */
  readonly key: EventId | null;
  /** Is told every event of the session. */
  readonly onEvent?: (folded: FoldedEvent) => void;
}

export function newRunLog({ client, session, key, onEvent }: RunLogOptions): RunLog {
  const { until, look, fail } = newWaits();
  const closing = new AbortController();
  let followed: GrowingRun | null = null;
  let state: SessionState | null = null;
  let caughtUp = false;
  let reading: Promise<void> = Promise.resolve();
  let firstRead: Promise<void> | null = null;
  const ids = newProviderIdIndex();

  /** Resolves with the keys of the calls that have changed; undefined when more has. */
  async function add(folded: FoldedEvent): Promise<readonly string[] | undefined> {
    const begun = begunRun(folded);
    onEvent?.(folded);
    state = folded.after;
    const isOurs = key === null ? followed === null : folded.event.event_id === key;
    if (begun !== null && isOurs) followed = await newGrowingRun(folded, { client, run_id: begun, onCalls: ids.add });
    if (followed === null) return undefined;
    const changed = await followed.add(folded);
    // Without a key, a run that was over before this process looked is never shown again.
    if (followed.shown().ended !== null && key === null && !caughtUp) followed = null;
    return begun === null && folded.event.ends === undefined ? changed.map(callKey) : undefined;
  }

  async function readAll(version: number, onCaughtUp: () => void): Promise<void> {
    for await (const item of foldStream(client, session, { from: null, version }, closing.signal)) {
      if ('kind' in item) continue;
      const changed = await add(item);
      if (!caughtUp && item.after.version >= version) {
        caughtUp = true;
        onCaughtUp();
      }
      look(changed);
    }
  }

  const readUpTo = (version: number): Promise<void> =>
    new Promise<void>((resolve, reject) => {
      caughtUp = version === 0;
      if (caughtUp) resolve();
      reading = readAll(version, resolve).then(resolve, (error: unknown) => {
        reject(error);
        if (!closing.signal.aborted) fail(error);
      });
    });

  async function read(): Promise<boolean> {
    if (firstRead === null) {
      const found = await client.session(session)();
      if (found._tag === 'Left') {
        if (found.left.code === 'unknown_session') return false;
        throw new RejectedError(found.left);
      }
      firstRead ??= readUpTo(found.right.state.version);
    }
    await firstRead;
    return true;
  }

  return {
    run: () => followed?.shown() ?? null,
    state: () => state,
    providerId: ids.providerId,
    leave() {
      followed = null;
    },
    read,
    until,
    look,
    fail,
    async close() {
      closing.abort();
      await reading;
    },
  };
}
