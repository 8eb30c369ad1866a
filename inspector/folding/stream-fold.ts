// Reads one source to its end and folds it, in slices, then goes on with what comes. Two checks run beside each other: the
// chain values, and the fold to the recorded state digests; where one of them stops the other goes on. Of the fold it keeps
// a state for every 256 events, a byte for each event, and where the turns are.
import type { SessionState } from '../../schemas/state.ts';
import type { DeltaFrame } from '../../schemas/wire.ts';
import type { Divergence, FoldedEvent } from '../../src/core/index.ts';
import type { Progress } from '../protocol.ts';
import { type RecordSource, SourceFault } from '../records/record-source.ts';
import { foldRange } from './fold-range.ts';
import { Refused } from './refused.ts';
import { Stopped, newSlices } from './slices.ts';
import { type StreamChecks, newStreamChecks } from './stream-checks.ts';
import { type Waiters, newWaiters } from './waiters.ts';

/** What was found in the records so far, and how to get at the rest. */
export interface StreamFold extends Omit<StreamChecks, 'add' | 'breakAt' | 'close'> {
  readonly source: RecordSource;
  /** Reads and folds all there is, then follows; resolves when the source is at its end, or {@link stop} was called. */
  run(): Promise<void>;
  stop(): void;
  progress(): Progress;
  /** Why the source cannot be read any further; null while it can. */
  unreadable(): SourceFault | null;
  /** Resolves when so many events are folded; throws {@link Refused} when the fold ends before. */
  reached(at: number): Promise<void>;
  /** Resolves when everything that the source has was read, or cannot be, however far the fold came. */
  settled(): Promise<void>;
  /** The state after so many events. */
  stateAt(at: number): Promise<SessionState>;
  /** Folds the events from one position to before another one again, in slices. */
  foldAgain(from: number, to: number, visit: (folded: FoldedEvent) => void, signal?: AbortSignal): Promise<void>;
}

export interface FoldListener {
  /** Something was read; called once a slice. */
  readonly read?: () => void;
  readonly delta?: (frame: DeltaFrame) => void;
  /** New commits came after the stored ones, from this position on. */
  readonly grown?: (from: number) => void;
}

export function newStreamFold(source: RecordSource, listener: FoldListener = {}): StreamFold {
  const checks = newStreamChecks();
  const reading = newReading(source, checks, listener);
  const { progress, waiters } = reading;
  return {
    ...checks,
    source,
    run: reading.run,
    stop: reading.stop,
    progress,
    unreadable: reading.unreadable,
    reached: (at) => waiters.wait(at),
    settled: reading.settled,
    ...newSeeking(source, checks, (at) => waiters.wait(at)),
  };
}

const foldedBy = (checks: StreamChecks): number => checks.now()?.state.version ?? 0;

function newPromise(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let settle = (): void => undefined;
  const promise = new Promise<void>((resolve) => (settle = resolve));
  return { promise, resolve: () => settle() };
}

const waitersOf = (checks: StreamChecks, isAtEnd: () => boolean): Waiters =>
  newWaiters({
    isAt: (at) => checks.now() !== null && foldedBy(checks) >= at,
    hasEnded: () => isAtEnd() || checks.fault() !== null,
    why: (at) => notFolded(at, foldedBy(checks), checks.fault()),
  });

function progressOf(checks: StreamChecks, total: number | null, done: boolean): Progress {
  const read = checks.read();
  // A source says how many events it has before they are read. One that has more of them said what is not so.
  return { read, folded: foldedBy(checks), total: total === null || total < read ? null : total, done };
}

/** Reads a source and has its records checked. */
function newReading(source: RecordSource, checks: StreamChecks, listener: FoldListener) {
  const stopping = new AbortController();
  const slices = newSlices(stopping.signal);
  let total: number | null = null;
  let [done, hasEnded] = [false, false];
  let unreadable: SourceFault | null = null;
  const { promise: settled, resolve: settle } = newPromise();

  const waiters = waitersOf(checks, () => hasEnded);

  function tell(): void {
    waiters.look();
    listener.read?.();
  }

  function end(): void {
    hasEnded = true;
    tell();
    settle();
  }

  async function readStored(): Promise<void> {
    for await (const records of source.records()) {
      for (const record of records) {
        checks.add(record);
        if (!slices.isOver()) continue;
        tell();
        await slices.breathe();
      }
    }
  }

  async function follow(): Promise<void> {
    if (source.follow === undefined) return;
    for await (const item of source.follow(checks.read(), stopping.signal)) {
      if (item.kind === 'delta') {
        listener.delta?.(item);
        continue;
      }
      const from = checks.read();
      checks.add(item);
      total = Math.max(total ?? 0, checks.read());
      tell();
      listener.grown?.(from);
      await slices.breathe();
    }
  }

  async function run(): Promise<void> {
    try {
      total = await source.total().catch(() => null);
      listener.read?.();
      await readStored();
      total = checks.read();
      checks.close();
      done = true;
      end();
      await follow();
    } catch (error) {
      if (error instanceof Stopped) return;
      unreadable = faultOf(error);
      done = true;
      if (unreadable.inStream) checks.breakAt(unreadable);
    } finally {
      end();
    }
  }

  return {
    waiters,
    settled: () => settled,
    run,
    stop: () => stopping.abort(),
    unreadable: () => unreadable,
    progress: () => progressOf(checks, total, done),
  };
}

/** How many states that were folded again are remembered. */
const SEEKS_KEPT = 4;

/** Folds parts of a stream again that were folded before. */
function newSeeking(
  source: RecordSource,
  checks: StreamChecks,
  reached: (at: number) => Promise<void>,
): Pick<StreamFold, 'foldAgain' | 'stateAt'> {
  const sought = new Map<number, SessionState>();

  const foldAgain: StreamFold['foldAgain'] = async (from, to, visit, signal) => {
    await reached(to);
    const start = checks.kept.before(from);
    if (start === undefined || from >= to) return;
    const statesOnly = checks.chain().fault !== null;
    await foldRange(source, { start, from, to, statesOnly }, visit, newSlices(signal));
  };

  async function stateAt(at: number): Promise<SessionState> {
    await reached(at);
    const now = checks.now()?.state;
    if (now?.version === at) return now;
    let state = sought.get(at) ?? checks.kept.before(at)?.state;
    if (state === undefined) throw notFolded(at, foldedBy(checks), checks.fault());
    if (state.version === at) return state;
    await foldAgain(state.version, at, ({ after }) => (state = after));
    sought.set(at, state);
    for (const oldest of sought.keys()) if (sought.size > SEEKS_KEPT) sought.delete(oldest);
    return state;
  }

  return { foldAgain, stateAt };
}

const notFolded = (at: number, folded: number, fault: Divergence | null): Refused =>
  new Refused({
    code: 'not_folded',
    message:
      fault === null
        ? `there are only ${folded} events, so there is no state after ${at}`
        : `the stream does not fold as recorded after ${folded} events: ${fault.message}`,
    advice: '',
  });

const faultOf = (error: unknown): SourceFault =>
  error instanceof SourceFault
    ? error
    : new SourceFault({ code: 'internal', message: error instanceof Error ? error.message : String(error) }, false);
