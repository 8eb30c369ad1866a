// The bridge loop: lease what the engine's sessions owe, do it, report it. The bridge decides nothing, and survives
// the engine being away: what was done waits here until it is on record.
import { setMaxListeners } from 'node:events';
import { isLeft } from 'fp-ts/lib/Either.js';
import type { EngineClient } from '../src/client/client.ts';
import type { EffectOfKind } from '../schemas/effect.ts';
import { OwnerId, type SessionId } from '../schemas/ids.ts';
import { BACKOFF_MS_BASE, CONCURRENCY_MAX, LEASE_EFFECTS_MAX, STOP_GRACE_MS } from '../schemas/limits.ts';
import type { ToolBatchPlan } from '../schemas/plan.ts';
import { unreachable } from '../schemas/rejection.ts';
import type { LeaseGrant, LeaseKey } from '../schemas/wire.ts';
import { batchSettled, closingOf } from './calls/batch-close.ts';
import { type BlobReader, newBlobReader } from './engine-link/blob-reader.ts';
import { type CallSchedule, newCallSchedule } from './calls/call-schedule.ts';
import { type CallRunner, newCallRunner, newNonce } from './calls/call-runner.ts';
import type { PutBlob } from './engine-link/text-content.ts';
import { type BridgeClock, sleep } from '../src/clock.ts';
import type { Executors } from './executors/executors.ts';
import { undoCall } from './executors/undo-call.ts';
import { type GenerateRunner, newGenerateRunner } from './generate/generate-runner.ts';
import { OPEN_TOOL, openHostSession } from './executors/open-host-session.ts';
import { leaseRequest, wantedBy } from './executors/lease-request.ts';
import { type Leased, type HeldLeases, newHeldLeases } from './engine-link/held-leases.ts';
import { type BridgeLedger, noBridgeLedger } from './ledger/bridge-ledger.ts';
import { type Link, newLink } from './engine-link/link.ts';
import type { BridgeLogLine } from './log.ts';
import { type Outbox, newOutbox } from './engine-link/outbox.ts';
import { newPlanCheck } from './calls/plan-check.ts';
import type { Provider } from './providers/provider.ts';
import { recover } from './ledger/recover.ts';
import { type Arrived, newSubmitGrants } from './engine-link/submit-grants.ts';
import { StopSwitch } from './executors/stop-switch.ts';
import { type OtherBridgesWatch, newOtherBridgesWatch } from './calls/watch-other-bridges.ts';
import { mustBe } from '../src/client/must.ts';

export interface BridgeOptions {
  readonly client: EngineClient;
  /** Names this process; no other bridge that is alive may have it. */
  readonly owner: OwnerId;
  readonly executors: Executors;
  readonly provider: Provider;
  /** Calls that run at a time, over all sessions, at least 1; 256 by default. Each session has its own maximum besides. */
  readonly concurrency?: number;
  /** Where it notes what it has started; without one, what it had in hand is lost with it. */
  readonly ledger?: BridgeLedger;
  readonly clock: BridgeClock;
  readonly random: () => number;
  readonly log: (line: BridgeLogLine) => void;
  /** Stops leasing, stops what runs, gives the leases back, and ends. */
  readonly signal: AbortSignal;
  /** Serves these sessions only. */
  readonly sessions?: readonly SessionId[];
  /** Puts files back and does nothing else. */
  readonly undoOnly?: boolean;
}

/** Serves until the signal aborts. Throws when the engine refuses to be asked at all, or an option can be none. */
export async function runBridge(options: BridgeOptions): Promise<void> {
  checkOptions(options);
  const gone = new AbortController();
  // Everything that waits, waits for these as well; that is no leak.
  setMaxListeners(0, gone.signal, options.signal);
  const crew = newCrew(options, gone.signal);
  const { signal, clock, log } = options;
  // A fault of ours ends the loop; the leases run out, and another bridge takes over.
  const failed = new Promise<never>((_, reject) => {
    crew.onFault = reject;
  });
  failed.catch(() => undefined);
  void crew.leases.beat(gone.signal);
  try {
    await Promise.race([serve(crew, signal), failed]);
    log({ event: 'stopping', running: crew.work.size });
    stopAll(crew);
    const settled = Promise.allSettled(crew.work);
    await Promise.race([settled, sleep(clock, STOP_GRACE_MS, gone.signal)]);
    await crew.leases.release();
  } finally {
    stopAll(crew);
    gone.abort();
  }
}

function checkOptions({ concurrency = CONCURRENCY_MAX, owner }: BridgeOptions): void {
  if (!Number.isSafeInteger(concurrency) || concurrency < 1) {
    throw new RangeError(`concurrency must be a whole number of calls, at least 1; it is ${concurrency}`);
  }
  if (!OwnerId.is(owner)) throw new TypeError(`owner must be ${OwnerId.name}, and of this process alone`);
}

/** Speaks for those that died, then works; ends when the signal aborts. */
async function serve(crew: Crew, signal: AbortSignal): Promise<void> {
  const { client, ledger = noBridgeLedger, clock, log } = crew.options;
  const told = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await Promise.race([recover({ client, ledger, link: crew.link, clock, log }), told]);
  await leaseLoop(crew, signal);
}

/** Everything the loop works with. */
interface Crew {
  readonly options: BridgeOptions;
  readonly link: Link;
  readonly outbox: Outbox;
  readonly leases: HeldLeases;
  readonly schedule: CallSchedule;
  readonly calls: CallRunner;
  readonly generates: GenerateRunner;
  readonly blobs: BlobReader;
  readonly putBlob: PutBlob;
  readonly otherBridges: OtherBridgesWatch;
  /** What is under way, and how to stop what is no call. */
  readonly work: Set<Promise<void>>;
  readonly stops: Set<StopSwitch>;
  onFault: (error: unknown) => void;
}

function newCrew(options: BridgeOptions, gone: AbortSignal): Crew {
  const { client, owner, clock, random, log } = options;
  const link = newLink({ clock, random, log, signal: gone });
  const schedule = newCallSchedule(options.concurrency ?? CONCURRENCY_MAX);
  const leases = newHeldLeases({ client, owner, clock, log });
  const epochOf = (key: LeaseKey): number | undefined => leases.epochOf(key);
  const submitGrants = newSubmitGrants({
    clock,
    leases,
    wanted: (max) => wantedBy(options, max),
    signal: options.signal,
    take: (arrived) => takeGrants(crew, arrived),
  });
  const confirm: HeldLeases['confirm'] = (key, sentAtMs) => leases.confirm(key, sentAtMs);
  const outbox = newOutbox({
    client,
    owner,
    link,
    clock,
    log,
    epochOf,
    confirm,
    companions: closingOf(schedule),
    submitGrants,
  });
  const blobs = newBlobReader(client, link);
  const putBlob: PutBlob = async (bytes) => {
    return mustBe(await link.ask('put_blob', () => client.putBlob(bytes)));
  };
  const shared = { outbox, leases, putBlob, clock, log };
  const moved = (): void => startCalls(crew);
  const generates = newGenerateRunner({ ...shared, provider: options.provider, blobs });
  const calls = newCallRunner({
    ...shared,
    owner,
    nonce: newNonce(random),
    executors: options.executors,
    ledger: options.ledger ?? noBridgeLedger,
    schedule,
    planCheck: newPlanCheck((ref) => blobs.read(ref)),
    moved,
  });
  const otherBridges = newOtherBridgesWatch({ client, clock, link, schedule, moved, signal: options.signal });
  const base = { options, link, outbox, leases, schedule, calls, generates, blobs, putBlob, otherBridges };
  const crew: Crew = { ...base, work: new Set(), stops: new Set(), onFault: () => undefined };
  return crew;
}

async function leaseLoop(crew: Crew, signal: AbortSignal): Promise<void> {
  const { client, clock } = crew.options;
  while (!signal.aborted) {
    const room = crew.leases.room();
    if (room <= 0) {
      await crew.leases.roomMade(signal);
      continue;
    }
    const request = leaseRequest(crew.options, Math.min(room, LEASE_EFFECTS_MAX), crew.leases.ttlMs());
    let askedAt = clock.now();
    const ask = () => {
      askedAt = clock.now();
      return client.lease(request, signal);
    };
    crew.leases.reserve(request.max);
    const grant = await crew.link.ask('lease', ask, signal);
    crew.leases.unreserve(request.max);
    if (signal.aborted) return;
    if (isLeft(grant)) throw new Error(`the engine refuses the bridge: ${grant.left.code}: ${grant.left.message}`);
    const fresh = takeGrants(crew, [{ grant: grant.right, askedAtMs: askedAt }]);
    // An engine that keeps answering at once with nothing new is not asked in a tight circle.
    if (fresh === 0 && request.wait_ms > 0 && clock.now() - askedAt < BACKOFF_MS_BASE)
      await sleep(clock, BACKOFF_MS_BASE, signal);
  }
}

/** How many of the effects were new here. */
function takeGrants(crew: Crew, arrived: readonly Arrived[]): number {
  let fresh = 0;
  for (const { grant, askedAtMs } of arrived) {
    const { effects: granted, epochs, plans, ttl_ms } = grant;
    crew.leases.setTtl(ttl_ms);
    // What took as long as a lease lasts is somebody else's by now.
    if (crew.options.clock.now() - askedAtMs >= ttl_ms) continue;
    for (const [index, effect] of granted.entries()) {
      const leased = { effect, epoch: epochs[index] ?? 1, askedAtMs };
      // What arrives while the bridge stops is not begun, and given back with all the rest.
      if (crew.options.signal.aborted) crew.leases.hold(leased, () => undefined);
      else if (takeEffect(crew, leased, plans)) fresh += 1;
    }
  }
  startCalls(crew);
  return fresh;
}

function takeEffect(crew: Crew, leased: Leased, plans: LeaseGrant['plans']): boolean {
  const { effect, epoch, askedAtMs } = leased;
  switch (effect.kind) {
    case 'tool.call':
      return takeCall(crew, { effect, epoch, askedAtMs }, plans);
    case 'tool.cancel':
      return cancelCall(crew, effect);
    case 'llm.generate':
      return begin(crew, leased, (stop) => crew.generates.run(effect, stop));
    case 'host_session.open':
      return begin(crew, leased, (stop) => openSession(crew, effect, stop));
    case 'call.undo':
      return begin(crew, leased, (stop) => undo(crew, effect, stop));
    case 'batch.settle':
      return begin(crew, leased, async () => {
        const { session_id, effect_id, batch_id, plan_hash } = effect;
        await crew.outbox.report(session_id, batchSettled(batch_id, plan_hash), effect_id);
        crew.leases.end(effect);
      });
    case 'wake':
    case 'agent.tool_use':
    case 'agent.custom_tool_use':
      return false;
  }
  return unreachable(effect);
}

function takeCall(crew: Crew, granted: Leased<EffectOfKind<'tool.call'>>, plans: LeaseGrant['plans']): boolean {
  const { effect } = granted;
  const call = crew.schedule.add(effect, () => planOf(effect, plans));
  if (call === null) {
    // Granted again, after the engine forgot who held it: the lease is kept for the work that goes on.
    const here = crew.schedule.find(effect.session_id, effect.batch_id, effect.call_id);
    if (here !== null) crew.leases.hold(granted, () => crew.calls.stop(here, 'lost'));
    return false;
  }
  crew.leases.hold(granted, () => crew.calls.stop(call, 'lost'));
  return true;
}

const planOf = (effect: EffectOfKind<'tool.call'>, plans: LeaseGrant['plans']): ToolBatchPlan | null =>
  plans.find(({ session_id, batch_id }) => session_id === effect.session_id && batch_id === effect.batch_id)?.plan ??
  null;

/** The run is ending: this call stops, and what still waits in its batch does not start. */
function cancelCall(crew: Crew, { session_id, batch_id, call_id, attempt }: EffectOfKind<'tool.cancel'>): boolean {
  for (const call of crew.schedule.held()) {
    const { effect, phase } = call;
    if (effect.session_id !== session_id || effect.batch_id !== batch_id || phase !== 'waiting') continue;
    crew.calls.stop(call, 'cancelled');
  }
  const call = crew.schedule.find(session_id, batch_id, call_id);
  if (call === null || call.effect.attempt !== attempt) return false;
  crew.calls.stop(call, 'cancelled');
  return true;
}

function startCalls(crew: Crew): void {
  if (crew.options.signal.aborted) return;
  for (let call = crew.schedule.startNext(); call !== null; call = crew.schedule.startNext()) {
    track(crew, crew.calls.run(call));
  }
  crew.otherBridges.consider();
}

/** Does the work of an effect that is no call, unless it is under way already. */
function begin(crew: Crew, leased: Leased, work: (stop: StopSwitch) => Promise<void>): boolean {
  const stop = new StopSwitch();
  if (!crew.leases.hold(leased, () => stop.stop('lost'))) return false;
  crew.stops.add(stop);
  track(crew, work(stop), () => {
    crew.stops.delete(stop);
    if (stop.why === 'lost') crew.leases.forgetLost(leased.effect);
  });
  return true;
}

function track(crew: Crew, work: Promise<void>, over?: () => void): void {
  crew.work.add(work);
  void watch(crew, work, over);
}

async function watch(crew: Crew, work: Promise<void>, over?: () => void): Promise<void> {
  try {
    await work;
  } catch (error) {
    crew.onFault(error);
  }
  over?.();
  crew.work.delete(work);
}

async function openSession(crew: Crew, effect: EffectOfKind<'host_session.open'>, stop: StopSwitch): Promise<void> {
  const { executors, clock, log } = crew.options;
  const executor = executors.find(OPEN_TOOL);
  if (executor === null) return;
  const event = await openHostSession(effect, { executor, putBlob: crew.putBlob, clock, stop });
  if (isDropped(stop)) return;
  await crew.outbox.report(effect.session_id, event);
  crew.leases.end(effect);
  const detail = event.detail === undefined ? {} : { detail: event.detail };
  const status = event.host_session.host_session_status ?? 'error';
  log({ event: 'host_session', session_id: effect.session_id, status, ...detail });
}

async function undo(crew: Crew, effect: EffectOfKind<'call.undo'>, stop: StopSwitch): Promise<void> {
  const { executors, clock, log } = crew.options;
  const { restore } = executors;
  if (restore === null) return;
  const { leases } = crew;
  // One that is too old to be sure of is left to run out.
  const isFresh = (): boolean => {
    const fresh = leases.isFresh(effect);
    if (!fresh) leases.end(effect);
    return fresh;
  };
  const event = await undoCall(effect, { restore, blobs: crew.blobs, clock, stop, isFresh });
  if (isDropped(stop)) return;
  await crew.outbox.report(effect.session_id, event);
  leases.end(effect);
  const { session_id, call_id } = effect;
  log({ event: 'undone', session_id, call_id, success: event.success, message: event.message ?? '' });
}

/** Out of time is an answer; what was stopped for any other reason stays owed. */
const isDropped = ({ why }: StopSwitch): boolean => why !== null && why !== 'timeout';

function stopAll(crew: Crew): void {
  for (const call of crew.schedule.held()) crew.calls.stop(call, 'stopping');
  for (const stop of crew.stops) stop.stop('stopping');
}
