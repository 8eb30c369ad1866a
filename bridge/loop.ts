// The bridge loop: leases the effects that sessions owe, runs them, and reports the outcomes. The bridge decides nothing.
// While the engine is away, reports wait here.
//
// The way of one effect: `leaseUntilAborted`, or the answer to a report, brings a grant; `admitGrants` drops it if its
// leases may have expired; `beginEffect` holds the lease and begins the work (a tool call waits in the schedule until it may
// start); the work reports through the outbox and ends the lease.
import { setMaxListeners } from 'node:events';
import { OwnerId, type SessionId } from '../schemas/ids.ts';
import { CONCURRENCY_MAX, STOP_GRACE_MS } from '../schemas/limits.ts';
import { unreachable } from '../schemas/rejection.ts';
import type { LeaseGrant } from '../schemas/wire.ts';
import type { EngineClient } from '../src/client/client.ts';
import { mustBe } from '../src/client/must.ts';
import { type BridgeClock, sleep } from '../src/clock.ts';
import { batchEndsOf, batchSettled } from './calls/batch-end.ts';
import { newCallRunner, newNonce } from './calls/call-runner.ts';
import { newCallSchedule } from './calls/call-schedule.ts';
import { type LeasedCalls, newLeasedCalls } from './calls/leased-calls.ts';
import { newPlanCheck } from './calls/plan-check.ts';
import { type PreviewRunner, newPreviewRunner } from './calls/preview-runner.ts';
import { newOtherBridgesWatch } from './calls/watch-other-bridges.ts';
import { type ReceivedGrant, admitGrants } from './engine-link/admit-grants.ts';
import { newBlobReader } from './engine-link/blob-reader.ts';
import { type HeldLeases, type Leased, newHeldLeases } from './engine-link/held-leases.ts';
import { leaseUntilAborted } from './engine-link/lease-loop.ts';
import { type Link, newLink } from './engine-link/link.ts';
import { type Outbox, newOutbox } from './engine-link/outbox.ts';
import { newSubmitGrants } from './engine-link/submit-grants.ts';
import type { PutBlob } from './engine-link/text-content.ts';
import type { Executors } from './executors/executors.ts';
import { type HostEffects, newHostEffects } from './executors/host-effects.ts';
import { leaseRequest, wantedBy } from './executors/lease-request.ts';
import { type RunningWork, newRunningWork } from './executors/running-work.ts';
import { type StoppableWork, newStoppableWork } from './executors/stoppable-work.ts';
import { type CompactRunner, newCompactRunner } from './generate/compact-runner.ts';
import type { KeepResponses } from './generate/exchange.ts';
import { type GenerateRunner, newGenerateRunner } from './generate/generate-runner.ts';
import { type BridgeLedger, noBridgeLedger } from './ledger/bridge-ledger.ts';
import { recover } from './ledger/recover.ts';
import type { BridgeLogLine, Log } from './log.ts';
import type { Provider } from './providers/provider.ts';
import { type Redactor, createRedactor } from './secrets/redactor.ts';
import { type ToolsetReporter, newToolsetReporter } from './toolsets/toolset-reporter.ts';
import type { ToolsetSource } from './toolsets/toolset-source.ts';

export interface BridgeOptions {
  /** The engine, in this process or over HTTP; a token of the scope `bridge` is enough. */
  readonly client: EngineClient;
  /** Names this process; no other live bridge may use the same name. */
  readonly owner: OwnerId;
  /** What runs the calls; `combineExecutors` makes one of several. */
  readonly executors: Executors;
  /** What answers for the model. */
  readonly provider: Provider;
  /** Maximum of concurrent calls over all sessions, at least 1; 256 by default. Each session also has a maximum. */
  readonly concurrency?: number;
  /** Where the bridge notes what it starts. Without one, a crash loses the outcome of calls in progress. */
  readonly ledger?: BridgeLedger;
  /** Reads the time and sets timers; `systemClock` outside of tests. */
  readonly clock: BridgeClock;
  /** A number from 0 to below 1, for the jitter of retries. */
  readonly random: () => number;
  /** Takes each log line, with secrets replaced. */
  readonly log: (line: BridgeLogLine) => void;
  /** When it aborts, the bridge stops leasing, stops what runs, gives its leases back, and ends. */
  readonly signal: AbortSignal;
  /** Serves these sessions only. */
  readonly sessions?: readonly SessionId[];
  /** Values that must not leave the bridge: each that has at least 16 characters is replaced by `‹secret›`. */
  readonly secrets?: readonly string[];
  /** Which responses of models are kept as evidence: `all` by default, `off`, or those of the last N turns of a session. */
  readonly keepResponses?: KeepResponses;
  /** Asks no model: `provider` is not used, and generates and compactions are left to other bridges. */
  readonly toolsOnly?: boolean;
  /** Who has further tools: before the model of a session is asked, the session gets them as toolsets. */
  readonly toolsets?: readonly ToolsetSource[];
  /** Only undoes calls (puts back the files they changed). */
  readonly undoOnly?: boolean;
}

/** Serves until the signal aborts. Throws when the engine refuses to lease to this bridge, or an option is invalid. */
export async function runBridge(options: BridgeOptions): Promise<void> {
  checkOptions(options);
  const { signal, clock, log } = options;
  const ended = new AbortController();
  // Each pending wait adds listeners to these signals: a large number of them is not a leak.
  setMaxListeners(0, ended.signal, signal);
  const work = newRunningWork();
  const parts = assemble(options, work, ended.signal);
  void parts.leases.heartbeat(ended.signal);
  try {
    // A fault of the bridge itself ends the loop; the leases expire, and another bridge takes over.
    await Promise.race([serve(options, parts), work.failed]);
    log({ event: 'stopping', running: work.count() });
    stopAll(parts);
    await Promise.race([work.ended(), sleep(clock, STOP_GRACE_MS, ended.signal)]);
    await parts.leases.release();
  } finally {
    stopAll(parts);
    ended.abort();
  }
}

function checkOptions({ concurrency = CONCURRENCY_MAX, owner, keepResponses = 'all' }: BridgeOptions): void {
  if (typeof keepResponses === 'number' && !(Number.isSafeInteger(keepResponses) && keepResponses >= 1)) {
    throw new RangeError(`keepResponses must be all, off, or an integer of at least 1, not ${keepResponses}`);
  }
  if (!Number.isSafeInteger(concurrency) || concurrency < 1) {
    throw new RangeError(`concurrency must be an integer of at least 1, not ${concurrency}`);
  }
  if (!OwnerId.is(owner))
    throw new TypeError(`owner must be 1 to 128 printable ASCII characters without spaces, not "${owner as string}"`);
}

/** The parts of a bridge that its loop uses. */
interface Parts {
  readonly link: Link;
  readonly outbox: Outbox;
  readonly leases: HeldLeases;
  readonly calls: LeasedCalls;
  readonly generates: GenerateRunner;
  readonly compactions: CompactRunner;
  readonly hostEffects: HostEffects;
  readonly previews: PreviewRunner;
  readonly toolsets: ToolsetReporter;
  /** The work on all effects but tool calls. */
  readonly stoppableWork: StoppableWork;
  /** Returns how many of the effects were new. */
  readonly admit: (received: readonly ReceivedGrant[]) => number;
}

/** `ended` aborts when the bridge has ended: then every wait ends. */
function assemble(options: BridgeOptions, work: RunningWork, ended: AbortSignal): Parts {
  const { client, owner, executors, clock, random, signal, ledger = noBridgeLedger } = options;
  const redactor = createRedactor(options.secrets ?? []);
  const log: Log = (line) => options.log(redactor.value(line));
  const link = newLink({ clock, random, log, signal: ended });
  const schedule = newCallSchedule(options.concurrency ?? CONCURRENCY_MAX);
  const leases = newHeldLeases({ client, owner, clock, log });
  const submitGrants = newSubmitGrants({
    clock,
    leases,
    signal,
    wanted: (max) => wantedBy(options, max),
    onGrants: (received) => admit(received),
  });
  const outbox = newOutbox({
    client,
    owner,
    link,
    clock,
    log,
    leases,
    companions: batchEndsOf(schedule),
    submitGrants,
  });
  const blobs = newBlobReader(client, link);
  const putBlob = newPutBlob(client, link, redactor);
  const startReady = (): void => calls.startReady();
  const shared = { client, owner, outbox, leases, putBlob, clock, log, redactor };
  const models = newModelRunners(options, { ...shared, blobs, link });
  const hostEffects = newHostEffects({ ...shared, executors, blobs });
  const nonce = newNonce(random);
  const previews = newPreviewRunner({ ...shared, executors, nonce, readBlob: (ref) => blobs.read(ref) });
  const runner = newCallRunner({
    ...shared,
    link,
    random,
    nonce,
    executors,
    ledger,
    schedule,
    readBlob: (ref) => blobs.read(ref),
    planCheck: newPlanCheck((ref) => blobs.read(ref)),
    startReady,
  });
  const toolsets = newToolsetReporter({ ...shared, link, sources: options.toolsets ?? [] });
  const otherBridges = newOtherBridgesWatch({ client, clock, link, schedule, startReady, signal });
  const calls = newLeasedCalls({ schedule, runner, leases, otherBridges, work, signal });
  const stoppableWork = newStoppableWork(leases, work);
  const admit: Parts['admit'] = (received) => {
    const begin = (leased: Leased, plans: LeaseGrant['plans']) => beginEffect(parts, leased, plans);
    const newEffects = admitGrants(received, { leases, clock, signal, begin });
    startReady();
    return newEffects;
  };
  const parts: Parts = {
    link,
    outbox,
    leases,
    calls,
    ...models,
    hostEffects,
    previews,
    toolsets,
    stoppableWork,
    admit,
  };
  return parts;
}

const newPutBlob =
  (client: EngineClient, link: Link, redactor: Redactor): PutBlob =>
  async (bytes) => {
    if (redactor.has(bytes)) throw new Error('the bytes contain a secret; store them without it');
    return mustBe(await link.ask('put_blob', () => client.putBlob(bytes)));
  };

type ModelParts = Omit<Parameters<typeof newGenerateRunner>[0], 'provider' | 'keepResponses' | 'putEvidence'>;

/** What asks the model. */
function newModelRunners(
  { client, provider, keepResponses = 'all' }: BridgeOptions,
  { link, ...shared }: ModelParts & { readonly link: Link },
): Pick<Parts, 'generates' | 'compactions'> {
  const models = {
    ...shared,
    provider,
    keepResponses,
    putEvidence: (bytes: Uint8Array) => () => link.ask('put_blob', () => client.putBlob(bytes, { durable: false })),
  };
  return { generates: newGenerateRunner(models), compactions: newCompactRunner(models) };
}

/** Recovers what dead bridges left, then leases effects; resolves when the signal aborts. */
async function serve(options: BridgeOptions, { link, leases, admit }: Parts): Promise<void> {
  const { client, ledger = noBridgeLedger, clock, log, signal } = options;
  const stopping = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await Promise.race([recover({ client, ledger, link, clock, log }), stopping]);
  const requestFor = (max: number, ttlMs: number | null) => leaseRequest(options, max, ttlMs);
  await leaseUntilAborted({ client, clock, link, leases, signal, requestFor, admit });
}

/** Holds the lease and begins the work; returns false when this starts nothing new. */
function beginEffect(
  { calls, generates, compactions, hostEffects, previews, toolsets, stoppableWork, outbox, leases }: Parts,
  leased: Leased,
  plans: LeaseGrant['plans'],
): boolean {
  const { effect, epoch, askedAtMs } = leased;
  switch (effect.kind) {
    case 'tool.call':
      return calls.add({ effect, epoch, askedAtMs }, plans);
    case 'tool.cancel':
      return calls.cancel(effect);
    case 'tool.answer':
      return calls.answer(effect);
    case 'llm.generate':
      return stoppableWork.begin(leased, async (stop) => generates.run(await toolsets.inStep(effect), stop));
    case 'llm.compact':
      return stoppableWork.begin(leased, (stop) => compactions.run(effect, stop));
    case 'host_session.open':
      return stoppableWork.begin(leased, (stop) => hostEffects.openSession(effect, stop));
    case 'call.undo':
      return stoppableWork.begin(leased, (stop) => hostEffects.undo(effect, stop));
    case 'call.preview':
      return stoppableWork.begin(leased, (stop) => previews.run(effect, stop));
    case 'batch.settle':
      return stoppableWork.begin(leased, async () => {
        const { session_id, effect_id, batch_id, plan_hash } = effect;
        await outbox.report(session_id, batchSettled(batch_id, plan_hash), effect_id);
        leases.end(effect);
      });
    case 'wake':
    case 'agent.tool_use':
    case 'agent.custom_tool_use':
    case 'agent.elicitation':
      // A bridge does not request these.
      return false;
  }
  return unreachable(effect);
}

function stopAll({ calls, stoppableWork }: Parts): void {
  calls.stopAll();
  stoppableWork.stopAll();
}
