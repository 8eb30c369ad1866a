// What a bridge has noted of its calls outlives it: a call whose end is in the files of a bridge that died is settled with
// that end by the bridge that comes next, and not given up, wherever that one came before the lease could run out, found
// the engine there, and nothing went wrong for anybody from the death on.
//
// The files are the bridge's own affair. A note is taken for the end of a call when a line of it holds, from its first
// brace on, JSON with the `session_id` and, as `event`, the settlement.
import { isLeft } from 'fp-ts/lib/Either.js';
import { callStateOf } from '../../../reducers/batch-index.ts';
import { canonicalText } from '../../../schemas/canonical.ts';
import type { EventOfKind } from '../../../schemas/event.ts';
import type { EffectId, SessionId } from '../../../schemas/ids.ts';
import { parseJson } from '../../../schemas/json.ts';
import { effectOfCall } from '../../engine/reports.ts';
import type { Book } from './book.ts';
import type { Judge } from './judge.ts';

type Settled = EventOfKind<'ToolCallSettled'>;
type Noted = Pick<Settled, 'batch_id' | 'call_id' | 'attempt' | 'result' | 'output'>;

/** The end of a call that a dead bridge has noted, and that is not on record. */
interface Owing {
  readonly session: SessionId;
  readonly noted: Noted;
  /** Before this time its lease does not run out by itself, in milliseconds since the beginning. */
  readonly heldUntilMs: number;
  /** Somebody has come in time to say it. */
  due: boolean;
}

export interface LedgerLaw {
  /** Somebody began a call on record, or was told by the engine that it is theirs still. */
  kept(session: SessionId, effect: EffectId, atMs: number): void;
  /** A bridge has died, and left these files. */
  died(files: readonly Uint8Array[]): void;
  /** A bridge has begun, and the engine is there. */
  came(atMs: number): void;
  /** Something went wrong, for anybody. */
  disturbed(): void;
  /** This has become durable. */
  recorded(session: SessionId, event: Settled | EventOfKind<'LeaseExpired'>): void;
}

interface LedgerLawOptions {
  readonly judge: Judge;
  readonly bookOf: (session: SessionId) => Book | undefined;
  readonly ttlMs: number;
}

/** How long whoever comes may take to say it, in milliseconds: a message or two. */
const SAYING_MS = 200;

export function newLedgerLaw({ judge, bookOf, ttlMs }: LedgerLawOptions): LedgerLaw {
  /** When the engine last took somebody for the one who has an effect. */
  const keptMs = new Map<string, number>();
  const owing = new Map<string, Owing>();

  function owe({ session, noted }: Pick<Owing, 'session' | 'noted'>): void {
    const name = `${session} ${effectOfCall(noted)}`;
    const since = keptMs.get(name);
    const batch = bookOf(session)?.state().active_tool_batch;
    if (since === undefined || batch?.batch_id !== noted.batch_id) return;
    const call = callStateOf(batch, noted.call_id);
    if (call?.status !== 'running' || call.attempt !== noted.attempt) return;
    owing.set(name, { session, noted, heldUntilMs: since + ttlMs, due: false });
  }

  return {
    kept(session, effect, atMs) {
      keptMs.set(`${session} ${effect}`, atMs);
    },
    died(files) {
      for (const bytes of files) for (const end of endsIn(bytes)) owe(end);
    },
    came(atMs) {
      for (const end of owing.values()) end.due ||= atMs + SAYING_MS <= end.heldUntilMs;
    },
    disturbed: () => owing.clear(),
    recorded(session, event) {
      const name = `${session} ${effectOfCall(event)}`;
      const end = owing.get(name);
      if (end === undefined) return;
      owing.delete(name);
      const said = event.kind === 'ToolCallSettled' && sameEnd(event, end.noted);
      judge.hold(said || !end.due, 'nothing is lost', () => `${event.call_id}: its end was noted, and is not told`);
    },
  };
}

const sameEnd = (a: Noted, b: Noted): boolean =>
  canonicalText(a.result) === canonicalText(b.result) && canonicalText(a.output) === canonicalText(b.output);

/** The ends of calls that are noted in a file; of several for one call the last one counts. */
function endsIn(bytes: Uint8Array): readonly Pick<Owing, 'session' | 'noted'>[] {
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
