// All laws of one simulated world, and the books they are held against: whatever happens there is told here.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { IngressEvent } from '../../../schemas/event.ts';
import type { EffectId, OwnerId, SessionId } from '../../../schemas/ids.ts';
import type { Heartbeat, HeartbeatReply, LeaseRequest } from '../../../schemas/wire.ts';
import { effectOfCall } from '../../engine/reports.ts';
import type { JournalRecord } from '../../journal/journal.ts';
import type { ToolAnswer } from '../bridge-world.ts';
import { type Scenario, ofTheEngine } from '../scenario.ts';
import type { Exchange } from '../sim-network.ts';
import type { SimTime } from '../sim-time.ts';
import type { Execution } from '../sim-tools.ts';
import { Book } from './book.ts';
import { newBudgetLaw } from './budget-law.ts';
import { newExchangeLaws } from './exchange-laws.ts';
import { type ExecutionLaws, newExecutionLaws } from './execution-laws.ts';
import type { Judge } from './judge.ts';
import { type LedgerLaw, newLedgerLaw } from './ledger-law.ts';
import { type OwnLaws, checkOwn } from './own-laws.ts';
import { newPatienceLaw } from './patience-law.ts';
import { checkEvent } from './stream-laws.ts';
import { newUndoLaws } from './undo-laws.ts';

export interface WorldLaws {
  readonly books: ReadonlyMap<SessionId, Book>;
  readonly executions: ExecutionLaws;
  /** Whether some bridge has asked for undos. */
  canUndo(): boolean;
  created(id: SessionId, genesis: string): void;
  /** Records have become durable: their events. */
  durable(id: SessionId, records: readonly JournalRecord[]): readonly IngressEvent[];
  answered(exchange: Exchange): void;
  /** Something goes wrong for this process; null: for more than one. */
  disturbed(process: string | null): void;
  /** The disk is at fault. */
  diskFailed(): void;
  /** The engine is gone, and with it what it knew of leases. */
  engineGone(): void;
  /** A bridge begins; `reachable`: the engine is there. */
  bridgeCame(reachable: boolean): void;
  /** A bridge has died, and left these files. */
  bridgeDied(files: readonly Uint8Array[]): void;
  clockSet(owner: OwnerId): void;
  /** A bridge is about to put back the files of a call. Called with what comes of it. */
  restoring(writer: Execution | null, owner: OwnerId): (answer: ToolAnswer) => void;
}

interface WorldLawsOptions {
  readonly judge: Judge;
  readonly time: SimTime;
  readonly scenario: Scenario;
  /** How long a lease lasts without a heartbeat, in milliseconds. */
  readonly ttlMs: number;
  readonly isAlive: (owner: string) => boolean;
  readonly own: OwnLaws;
}

export function newWorldLaws({ judge, time, scenario, ttlMs, isAlive, own }: WorldLawsOptions): WorldLaws {
  const books = new Map<SessionId, Book>();
  const shared = { judge, ttlMs, bookOf: (id: SessionId) => books.get(id) };
  const executions = newExecutionLaws(judge);
  const exchanges = newExchangeLaws({ ...shared, isAlive });
  const undos = newUndoLaws({ ...shared, hasLost: (owner, key) => exchanges.hasLost(owner, key) });
  const patience = newPatienceLaw(judge, ttlMs);
  const ledgers = newLedgerLaw(shared);
  const engineTime = {
    punctual: scenario.disk.length === 0 && !scenario.processes.some(ofTheEngine),
    steady: !scenario.processes.some(({ what }) => what === 'jump_engine'),
  };
  let canUndo = false;

  function check(id: SessionId, book: Book, event: IngressEvent): void {
    if (event.kind === 'ToolCallStarted') ledgers.kept(id, effectOfCall(event), time.passedMs());
    else if (event.kind === 'UndoSettled') undos.settled(id, event);
    else if (event.kind === 'ToolCallSettled') {
      executions.settled(id, event);
      ledgers.recorded(id, event);
    } else if (event.kind === 'LeaseExpired') {
      const owner = book.call(event.call_id)?.starters.at(-1);
      if (owner !== undefined) patience.lost(owner, event.call_id, time.passedMs());
      ledgers.recorded(id, event);
    }
  }

  return {
    books,
    executions,
    canUndo: () => canUndo,
    created(id, genesis) {
      const budget = newBudgetLaw(judge, engineTime);
      const watch: ConstructorParameters<typeof Book>[2] = (book, taken) => {
        checkEvent(book, taken, judge);
        budget(book, taken);
        checkOwn(own, { session_id: id, ...taken }, judge);
      };
      books.set(id, new Book(genesis, judge, watch));
    },
    durable(id, records) {
      const book = books.get(id);
      if (book === undefined) return [];
      const from = book.events.length;
      book.add(records);
      const events = book.events.slice(from);
      for (const event of events) check(id, book, event);
      return events;
    },
    answered(exchange) {
      const { method, request } = exchange;
      exchanges.answered(exchange, time.passedMs());
      if (method === 'lease') canUndo ||= (request[0] as LeaseRequest).kinds.includes('call.undo');
      if (method === 'heartbeat' && scenario.files) noteKept(ledgers, exchange);
    },
    disturbed(process) {
      patience.disturbed(process, time.passedMs());
      ledgers.disturbed();
    },
    diskFailed: () => ledgers.disturbed(),
    engineGone: () => exchanges.forget(),
    bridgeCame(reachable) {
      if (reachable) ledgers.came(time.passedMs());
    },
    bridgeDied: (files) => ledgers.died(files),
    clockSet: (owner) => undos.clockSet(owner),
    restoring: (writer, owner) => undos.restoring(writer, owner),
  };
}

function noteKept(ledgers: LedgerLaw, { request, answer, deliveredMs }: Exchange): void {
  if (isLeft(answer)) return;
  const { lost } = answer.right as HeartbeatReply;
  const isLost = (effect: EffectId): boolean => lost.some(({ effect_id }) => effect_id === effect);
  for (const { session_id, effect_id } of (request[0] as Heartbeat).leases) {
    if (!isLost(effect_id)) ledgers.kept(session_id, effect_id, deliveredMs);
  }
}
