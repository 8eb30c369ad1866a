// All laws of one simulated world. The world reports everything that happens to this object.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { IngressEvent } from '../../../schemas/event.ts';
import type { EffectId, OwnerId, SessionId } from '../../../schemas/ids.ts';
import type { Heartbeat, HeartbeatReply, LeaseKey, LeaseRequest } from '../../../schemas/wire.ts';
import { effectOfCall } from '../../engine/leases/reports.ts';
import type { JournalCommit } from '../../journal/journal.ts';
import type { ToolAnswer } from '../bridge-world.ts';
import { type Scenario, ofTheEngine } from '../scenario.ts';
import type { Exchange } from '../sim-network.ts';
import type { KnownHolder } from '../sim-stranger.ts';
import type { SimTime } from '../sim-time.ts';
import type { Execution } from '../sim-tools.ts';
import { type StoredOrigin, StoredSession } from './stored-session.ts';
import { newBudgetLaw } from './budget-law.ts';
import { newCompactionLaw } from './compaction-law.ts';
import { checkCopies } from './copy-law.ts';
import { newEngineAnswerLaws } from './engine-answer-laws.ts';
import { type ExecutionLaws, newExecutionLaws } from './execution-laws.ts';
import type { Judge } from './judge.ts';
import { type LedgerLaw, newLedgerLaw } from './ledger-law.ts';
import { type OwnLaws, checkOwn } from './own-laws.ts';
import { newLiveBridgeLaw } from './live-bridge-law.ts';
import { checkNoDelta } from './delta-law.ts';
import { type DeliveryLaw, newDeliveryLaw } from './delivery-law.ts';
import { checkQuestions } from './question-law.ts';
import { checkEvent } from './stream-laws.ts';
import { newRepeatLaw } from './repeat-law.ts';
import { newUndoLaws } from './undo-laws.ts';
import { newWaitLaw } from './wait-law.ts';
import { checkWindow } from './window-law.ts';

export interface WorldLaws {
  readonly storedSessions: ReadonlyMap<SessionId, StoredSession>;
  readonly executions: ExecutionLaws;
  /** Who holds an effect by the grants of the current engine. */
  readonly holderOf: (key: LeaseKey) => KnownHolder | null;
  /** Whether a bridge has leased undos. */
  canUndo(): boolean;
  created(id: SessionId, origin: StoredOrigin): void;
  /** Called when commits have become durable. Returns their events. */
  appended(id: SessionId, commits: readonly JournalCommit[]): readonly IngressEvent[];
  answered(exchange: Exchange): void;
  /** A fault happens to this process; null: to more than one. */
  disturbed(process: string | null): void;
  /** The disk has failed a write. */
  diskFailed(): void;
  /** The engine has started, with what is stored. */
  engineStarted(): void;
  /** The engine has stopped and its leases are void. */
  engineStopped(): void;
  /** A bridge starts; `reachable`: the engine is running. */
  bridgeStarted(reachable: boolean): void;
  /** A bridge has died and left these files. */
  bridgeDied(files: readonly Uint8Array[]): void;
  clockSet(owner: OwnerId): void;
  /** The simulation is over. */
  ended(): void;
  readonly deliveries: DeliveryLaw;
  /** A bridge is about to restore the files of a call. Returns a callback for the result. */
  restoring(writer: Execution | null, owner: OwnerId): (answer: ToolAnswer) => void;
}

interface WorldLawsOptions {
  readonly judge: Judge;
  readonly time: SimTime;
  readonly scenario: Scenario;
  /** How long a lease lasts without a heartbeat, in milliseconds. */
  readonly ttlMs: number;
  readonly isAlive: (owner: string) => boolean;
  /** Whether the server knows the work of a handle. */
  readonly knows: (handle: string) => boolean;
  readonly own: OwnLaws;
}

export function newWorldLaws(options: WorldLawsOptions): WorldLaws {
  const { judge, time, scenario, ttlMs, isAlive } = options;
  const storedSessions = new Map<SessionId, StoredSession>();
  const shared = { judge, ttlMs, storedOf: (id: SessionId) => storedSessions.get(id) };
  const executions = newExecutionLaws(judge, shared.storedOf);
  const engineAnswers = newEngineAnswerLaws({ ...shared, isAlive });
  const repeats = newRepeatLaw(judge);
  const undos = newUndoLaws({ ...shared, hasLost: (owner, key) => engineAnswers.hasLost(owner, key) });
  const liveBridges = newLiveBridgeLaw(judge, ttlMs);
  const ledgers = newLedgerLaw(shared);
  const waits = newWaitLaw(judge, time);
  const engineTime = engineTimeOf(scenario);
  let canUndo = false;

  const checks = { executions, ledgers, liveBridges, repeats, undos };

  return {
    storedSessions,
    executions,
    deliveries: newDeliveryLaw(judge, shared.storedOf),
    holderOf: (key) => engineAnswers.holderOf(key),
    canUndo: () => canUndo,
    created(id, origin) {
      const watch = newWatch(id, options, engineTime);
      storedSessions.set(id, new StoredSession(origin, judge, watch));
    },
    appended(id, commits) {
      const stored = storedSessions.get(id);
      if (stored === undefined) return [];
      const from = stored.events.length;
      checkNoDelta(id, commits, judge);
      stored.add(commits);
      const events = stored.events.slice(from);
      for (const event of events) checkRecorded(checks, { id, stored, event, atMs: time.passedMs() });
      checkCopies(id, stored, events, judge);
      waits.reached(id, stored.state());
      return events;
    },
    answered(exchange) {
      const { method, request } = exchange;
      engineAnswers.answered(exchange, time.passedMs());
      repeats.answered(exchange);
      if (method === 'lease') canUndo ||= (request[0] as LeaseRequest).kinds.includes('call.undo');
      if (method === 'heartbeat' && scenario.files) noteHeldLeases(ledgers, exchange);
    },
    disturbed(process) {
      liveBridges.disturbed(process, time.passedMs());
      ledgers.disturbed();
    },
    diskFailed: () => ledgers.disturbed(),
    engineStarted() {
      waits.engineStarted(new Map([...storedSessions].map(([id, stored]) => [id, stored.state()])));
    },
    engineStopped() {
      engineAnswers.forget();
      waits.engineStopped();
    },
    ended: () => waits.finish(),
    bridgeStarted(reachable) {
      if (reachable) ledgers.bridgeStarted(time.passedMs());
    },
    bridgeDied: (files) => ledgers.bridgeDied(files),
    clockSet: (owner) => undos.clockSet(owner),
    restoring: (writer, owner) => undos.restoring(writer, owner),
  };
}

/** Checks each event of a session as it becomes durable. */
function newWatch(
  session_id: SessionId,
  { judge, knows, own }: Pick<WorldLawsOptions, 'judge' | 'knows' | 'own'>,
  engineTime: ReturnType<typeof engineTimeOf>,
): ConstructorParameters<typeof StoredSession>[2] {
  const budget = newBudgetLaw(judge, engineTime);
  const compaction = newCompactionLaw(judge);
  return (stored, folded) => {
    checkEvent(stored, folded, judge);
    checkQuestions(stored, folded, { judge, knows });
    budget(stored, folded);
    checkWindow(stored, folded, judge);
    compaction(stored, folded);
    checkOwn(own, { session_id, ...folded }, judge);
  };
}

interface EventLaws extends Pick<WorldLaws, 'executions'> {
  readonly ledgers: LedgerLaw;
  readonly liveBridges: ReturnType<typeof newLiveBridgeLaw>;
  readonly repeats: ReturnType<typeof newRepeatLaw>;
  readonly undos: ReturnType<typeof newUndoLaws>;
}

interface Recorded {
  readonly id: SessionId;
  readonly stored: StoredSession;
  readonly event: IngressEvent;
  readonly atMs: number;
}

/** Tells an event to the laws that are about what happens outside its stream too. */
function checkRecorded(laws: EventLaws, { id, stored, event, atMs }: Recorded): void {
  laws.repeats.recorded(id, event.event_id, atMs);
  if (event.kind === 'ToolCallStarted') laws.ledgers.leaseHeld(id, effectOfCall(event), atMs);
  else if (event.kind === 'UndoSettled') laws.undos.settled(id, event);
  else if (event.kind === 'ToolCallSettled') {
    laws.executions.settled(id, event);
    laws.ledgers.recorded(id, event);
  } else if (event.kind === 'LeaseExpired') {
    const owner = stored.call(event.call_id)?.starters.at(-1);
    if (owner !== undefined) laws.liveBridges.lost(owner, event.call_id, atMs);
    laws.ledgers.recorded(id, event);
  }
}
const engineTimeOf = ({ disk, processes }: Scenario) => ({
  punctual: disk.length === 0 && !processes.some(ofTheEngine),
  steady: !processes.some(({ what }) => what === 'jump_engine'),
});

function noteHeldLeases(ledgers: LedgerLaw, { request, answer, deliveredMs }: Exchange): void {
  if (isLeft(answer)) return;
  const { lost } = answer.right as HeartbeatReply;
  const isLost = (effect: EffectId): boolean => lost.some(({ effect_id }) => effect_id === effect);
  for (const { session_id, effect_id } of (request[0] as Heartbeat).leases) {
    if (!isLost(effect_id)) ledgers.leaseHeld(session_id, effect_id, deliveredMs);
  }
}
