// The ledger of a bridge outlives it. When a bridge dies after it wrote the end of a call to its files, the next bridge
// must settle the call with that end, provided that it starts before the lease expires, reaches the engine, and no fault
// happens after the death (law 15, nothing is lost).
//
// The format of the files is up to the bridge. A line counts as the end of a call when it holds, from its first brace on,
// JSON with the `session_id` and, as `event`, the settlement.
import { isLeft } from 'fp-ts/lib/Either.js';
import { callStateOf } from '../../../reducers/batch-index.ts';
import { canonicalText } from '../../../schemas/canonical.ts';
import type { EventOfKind } from '../../../schemas/event.ts';
import type { EffectId, SessionId } from '../../../schemas/ids.ts';
import { parseJson } from '../../../schemas/json.ts';
import { effectOfCall } from '../../engine/leases/reports.ts';
import type { StoredSession } from './stored-session.ts';
import type { Judge } from './judge.ts';

type Settled = EventOfKind<'ToolCallSettled'>;
type Noted = Pick<Settled, 'batch_id' | 'call_id' | 'attempt' | 'result' | 'output'>;

/** The end of a call that a dead bridge wrote to its ledger and that is not recorded. */
interface UnreportedEnd {
  readonly session: SessionId;
  readonly noted: Noted;
  /** Its lease does not expire before this time, in milliseconds since the simulation began. */
  readonly heldUntilMs: number;
  /** A bridge started early enough to report it. */
  due: boolean;
}

export interface LedgerLaw {
  /** A bridge recorded the start of a call, or the engine confirmed its lease. */
  leaseHeld(session: SessionId, effect: EffectId, atMs: number): void;
  /** A bridge has died and left these files. */
  bridgeDied(files: readonly Uint8Array[]): void;
  /** A bridge has started and the engine is running. */
  bridgeStarted(atMs: number): void;
  /** A fault happened to any process. */
  disturbed(): void;
  /** The end of a call has become durable. */
  recorded(session: SessionId, event: Settled | EventOfKind<'LeaseExpired'>): void;
}

interface LedgerLawOptions {
  readonly judge: Judge;
  readonly storedOf: (session: SessionId) => StoredSession | undefined;
  readonly ttlMs: number;
}

/** How long the next bridge may take to report it, in milliseconds: a message or two. */
const REPORT_MS = 200;

export function newLedgerLaw({ judge, storedOf, ttlMs }: LedgerLawOptions): LedgerLaw {
  /** When the engine last confirmed the holder of an effect. */
  const heldMs = new Map<string, number>();
  const unreported = new Map<string, UnreportedEnd>();

  function expectReport({ session, noted }: Pick<UnreportedEnd, 'session' | 'noted'>): void {
    const name = `${session} ${effectOfCall(noted)}`;
    const since = heldMs.get(name);
    const batch = storedOf(session)?.state().active_tool_batch;
    if (since === undefined || batch?.batch_id !== noted.batch_id) return;
    const call = callStateOf(batch, noted.call_id);
    if (call?.status !== 'running' || call.attempt !== noted.attempt) return;
    unreported.set(name, { session, noted, heldUntilMs: since + ttlMs, due: false });
  }

  return {
    leaseHeld(session, effect, atMs) {
      heldMs.set(`${session} ${effect}`, atMs);
    },
    bridgeDied(files) {
      for (const bytes of files) for (const end of endsIn(bytes)) expectReport(end);
    },
    bridgeStarted(atMs) {
      for (const end of unreported.values()) end.due ||= atMs + REPORT_MS <= end.heldUntilMs;
    },
    disturbed: () => unreported.clear(),
    recorded(session, event) {
      const name = `${session} ${effectOfCall(event)}`;
      const end = unreported.get(name);
      if (end === undefined) return;
      unreported.delete(name);
      const reported = event.kind === 'ToolCallSettled' && sameEnd(event, end.noted);
      judge.check(
        reported || !end.due,
        'nothing is lost',
        () => `${event.call_id}: its end is in a ledger but was not reported`,
      );
    },
  };
}

const sameEnd = (a: Noted, b: Noted): boolean =>
  canonicalText(a.result) === canonicalText(b.result) && canonicalText(a.output) === canonicalText(b.output);

/** The ends of calls that a file holds; the last one of each call counts. */
function endsIn(bytes: Uint8Array): readonly Pick<UnreportedEnd, 'session' | 'noted'>[] {
  return new TextDecoder()
    .decode(bytes)
    .split('\n')
    .flatMap((line) => {
      if (!line.includes('"ToolCallSettled"')) return [];
      const parsed = parseJson(line.slice(line.indexOf('{')), line.length);
      const note = isLeft(parsed) ? null : (parsed.right as { session_id?: SessionId; event?: Settled });
      return note?.session_id === undefined || note.event?.kind !== 'ToolCallSettled'
        ? []
        : [{ session: note.session_id, noted: note.event }];
    });
}
