// One simulated world: the real engine, the bridges under test and people, each a process with a separate clock, connected by
// an unreliable network and a slow disk. It is single-threaded and deterministic for each scenario.
import { isLeft } from 'fp-ts/lib/Either.js';
import { type OwnerId, type SessionId, brand } from '../../schemas/ids.ts';
import { RETRY_MS, SIM_PATIENCE_MS, SIM_TIMERS_MAX } from '../../schemas/limits.ts';
import type { EnginePorts } from '../engine/engine.ts';
import { newMemoryEpochs } from '../engine/leases/epochs.ts';
import { newSchemaCheck } from '../engine/edge/schema-check.ts';
import { neverPause } from '../turns.ts';
import type { JournalCommit } from '../journal/journal.ts';
import { beginBridge } from './begin-bridge.ts';
import type { BridgeWorld } from './bridge-world.ts';
import { checkIdle, checkNothingLost, checkOnRecord, checkReplay, isIdle } from './laws/ending-laws.ts';
import { type Judge, newJudge } from './laws/judge.ts';
import { type WorldLaws, newWorldLaws } from './laws/world-laws.ts';
import { randomFrom } from './random.ts';
import { FAULTS_END_MS, type ProcessFault, type Scenario, loadsFromSnapshots, ofTheEngine } from './scenario.ts';
import { type BridgeActions, newBridgeActions } from './sim-bridge-actions.ts';
import { type SimDisk, newSimDisk } from './sim-disk.ts';
import { newSimServer } from './outside/sim-server.ts';
import { newSimFiles } from './sim-files.ts';
import { type SimModels, newSimModels } from './sim-model.ts';
import type { SimWorldOptions } from './sim-options.ts';
import { type SimEngine, newSimNetwork } from './sim-network.ts';
import { newPerson } from './sim-person.ts';
import { reportAgain } from './sim-previews.ts';
import { intrude } from './sim-stranger.ts';
import { type ProcessClock, SimTime } from './sim-time.ts';
import { SIM_TOOLS } from './sim-tools.ts';
import { TOOLSET_TOOLS } from './toolset-script.ts';

/** How long a lease lasts without a heartbeat, in milliseconds. */
const TTL_MS = 3_000;

/** A session gets a snapshot after this many events, when the scenario has snapshots. */
const SNAPSHOT_EVERY_EVENTS = 8;

/** How long a bridge is down that has died as a script says, in milliseconds. */
const DOWN_MS = 1_500;

const ENDLESS = `${SIM_TIMERS_MAX} timers fired and the simulation did not end: a bridge asks again without waiting`;

/** Changes the seed of the delays of deltas, which are drawn apart: nothing else depends on them. */
const DELTA_SEED = 0x5eed;

/** One in this many scenarios replays its whole streams at the end; the seed decides. */
const REPLAYED_EVERY = 32;

interface BridgeProcess {
  readonly owner: OwnerId;
  readonly clock: ProcessClock;
  readonly stop: AbortController;
  /** Its promise has settled. */
  ended: boolean;
  /** It dies when its next ledger entry is durable and restarts after so many milliseconds; null: it does not die. */
  diesNotingMs: number | null;
}

// Shared, because compiling a schema costs more than a whole simulation and all of them use the same tools.
const checkSchema = newSchemaCheck();

export class SimWorld {
  readonly time = new SimTime();
  readonly judge: Judge = newJudge(this.time);
  readonly laws: WorldLaws;
  readonly #options: SimWorldOptions;
  readonly #random;
  readonly #disk: SimDisk;
  readonly #actions: BridgeActions;
  readonly #models: SimModels;
  readonly #network;
  readonly #files = newSimFiles((process) => this.#onSync(process));
  readonly #server = newSimServer(this.time, (order, count) => this.laws.executions.began(order, count));
  /** Outlives the engines, as the disk does. */
  readonly #epochs = newMemoryEpochs();
  readonly #bridges = new Map<number, BridgeProcess>();
  /** Also those that have ended. */
  readonly #everyBridge = new Map<string, BridgeProcess>();
  readonly #people: { pending(): number }[] = [];
  readonly #confirmed: { readonly id: SessionId; readonly event_id: string }[] = [];
  #engine: (SimEngine & { readonly end: () => void }) | null = null;
  #engineClock: ProcessClock = this.time.process();
  /** The time after the last act of any person, in milliseconds since the beginning. */
  readonly #lastActMs: number;
  #ids = 0;
  #lives = 0;

  constructor(options: SimWorldOptions) {
    const { scenario } = options;
    const { time } = this;
    this.#options = options;
    this.#random = randomFrom(scenario.seed);
    this.#lastActMs = 1 + Math.max(0, ...scenario.sessions.flatMap(({ acts }) => acts.map(({ atMs }) => atMs)));
    this.laws = newWorldLaws({
      judge: this.judge,
      time,
      scenario,
      ttlMs: TTL_MS,
      isAlive: (owner) => this.#isAlive(owner),
      knows: (handle) => this.#server.find(handle) !== null,
      own: options.laws,
    });
    const shared = {
      judge: this.judge,
      script: (id: SessionId) => this.#script(id),
      trace: (line: string) => this.#trace(line),
    };
    const previews = scenario.previews === true;
    this.#actions = newBridgeActions({ ...shared, laws: this.laws, time, server: this.#server, previews });
    this.#models = newSimModels({ ...shared, storedSessions: this.laws.storedSessions });
    this.#disk = newSimDisk({
      time,
      faults: scenario.disk,
      onFault: () => this.laws.diskFailed(),
      onCreated: (id, genesis) => this.laws.created(id, genesis),
      onDurable: (id, records) => this.#durable(id, records),
    });
    this.#network = newSimNetwork({
      time,
      random: this.#random,
      deltaRandom: randomFrom(scenario.seed ^ DELTA_SEED),
      faults: scenario.messages,
      engine: () => this.#engine,
      onAnswer: (exchange) => {
        const { from, method, answer } = exchange;
        this.#trace(`${from} ${method} ${isLeft(answer) ? answer.left.code : 'done'}`);
        this.laws.answered(exchange);
        reportAgain(exchange, this.laws.storedSessions, this.#network);
      },
      onFault: (from, { what }) => {
        this.#trace(`${from} ${what}`);
        this.laws.disturbed(from);
      },
    });
  }

  /** Runs the whole scenario. `judge` holds the violations. */
  async run(): Promise<void> {
    const { scenario } = this.#options;
    await this.#openEngine();
    for (let slot = 0; slot < scenario.bridges; slot += 1) this.#startBridge(slot);
    for (const [index, script] of scenario.sessions.entries()) {
      const id = brand<'SessionId'>(`s-${index + 1}`);
      const clock = this.time.process();
      const client = this.#network.clientOf(`person-${index + 1}`, clock);
      const stored = () => this.laws.storedSessions.get(id) ?? null;
      const onConfirmed = (event_id: string) => this.#confirmed.push({ id, event_id });
      const previews = scenario.previews === true;
      const canUndo = (): boolean => this.laws.canUndo();
      this.#people.push(newPerson({ client, clock, id, script, stored, previews, canUndo, onConfirmed }));
    }
    for (const fault of scenario.processes) this.time.after(fault.atMs, () => this.#applyFault(fault));
    for (const { atMs, claims } of scenario.strangers ?? [])
      this.time.after(atMs, () => intrude(claims, this.laws, this.#network));
    const broken = (): boolean => this.judge.violations.length > 0;
    const ended = await this.time.run(() => broken() || this.#isOver(), FAULTS_END_MS + SIM_PATIENCE_MS);
    if (!broken()) this.#checkEnd(ended);
    this.#end();
  }

  #checkEnd(ended: boolean): void {
    const { judge } = this;
    const now = this.#engineClock.now();
    if (this.time.isExhausted()) judge.fail('every run ends', ENDLESS);
    for (const [id, stored] of this.laws.storedSessions) {
      if (!ended && !isIdle(stored, now)) checkIdle(id, stored, judge);
      checkNothingLost(id, stored, judge);
      stored.checkLast();
      checkOnRecord(id, stored, judge);
      if (this.#options.scenario.seed % REPLAYED_EVERY === 0) checkReplay(id, stored, judge);
    }
    if (!ended && judge.violations.length === 0) judge.fail('every run ends', 'a request was never answered');
    for (const { id, event_id } of this.#confirmed) {
      const times = this.laws.storedSessions.get(id)?.events.filter((event) => event.event_id === event_id).length ?? 0;
      judge.check(
        times === 1,
        'nothing is lost',
        () => `${id}: ${event_id} was confirmed and is recorded ${times} times`,
      );
    }
    this.laws.ended();
  }

  #isOver(): boolean {
    if (this.#people.some((person) => person.pending() > 0)) return false;
    if (this.time.passedMs() < this.#lastActMs) return false;
    const now = this.#engineClock.now();
    return (
      this.laws.storedSessions.size === this.#people.length &&
      [...this.laws.storedSessions.values()].every((stored) => isIdle(stored, now))
    );
  }

  #durable(id: SessionId, commits: readonly JournalCommit[]): void {
    for (const event of this.laws.appended(id, commits)) {
      this.#trace(`${id} ${event.kind} ${event.event_id} ${commits.at(-1)?.chain.slice(-8) ?? ''}`);
    }
  }

  async #openEngine(): Promise<void> {
    const clock = this.time.process();
    this.#engineClock = clock;
    const ports: EnginePorts = {
      ...this.#disk.open(clock),
      clock,
      checkSchema,
      pause: neverPause,
      epochs: this.#epochs,
      leaseTtlMs: TTL_MS,
      random: () => this.#draw(),
      ...(loadsFromSnapshots(this.#options.scenario) ? { snapshotEveryEvents: SNAPSHOT_EVERY_EVENTS } : {}),
      newId: () => `id-${(this.#ids += 1)}`,
    };
    const opened = await this.#options.startEngine(ports)();
    if (clock.isDead()) return;
    if (isLeft(opened)) {
      this.time.after(RETRY_MS, () => void this.#openEngine());
      return;
    }
    let end = (): void => undefined;
    const gone = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#engine = { client: opened.right.client, clock, gone, end };
    this.laws.engineStarted();
  }

  #startBridge(slot: number): void {
    this.#lives += 1;
    const owner = brand<'OwnerId'>(`bridge-${slot + 1}-${this.#lives}`);
    const clock = this.time.process((error) => this.judge.processFailed(owner, error));
    const stop = new AbortController();
    const process: BridgeProcess = { owner, clock, stop, ended: false, diesNotingMs: null };
    this.#bridges.set(slot, process);
    this.#everyBridge.set(owner, process);
    this.laws.bridgeStarted(this.#engine !== null);
    beginBridge(this.#options.bridge, this.#worldOf(process), (failure) => {
      process.ended = true;
      if (failure !== null && !clock.isDead()) this.judge.processFailed(owner, failure.error);
    });
  }

  #worldOf(process: BridgeProcess): BridgeWorld {
    const { owner, clock, stop } = process;
    const die = (): boolean => this.#die(process);
    return {
      client: this.#network.clientOf(owner, clock),
      owner,
      clock,
      random: () => this.#draw(),
      files: this.#options.scenario.files ? this.#files.of(clock) : null,
      isAlive: (name) => this.#isAlive(name),
      signal: stop.signal,
      tools: [SIM_TOOLS, TOOLSET_TOOLS],
      model: this.#models({ owner, clock, die }),
      ...this.#actions({ owner, clock, die }),
    };
  }

  /** Ends a bridge as a crash does; false when no process may end now. */
  #die(process: BridgeProcess): boolean {
    const slot = [...this.#bridges].find(([, other]) => other === process)?.[0];
    if (slot === undefined || process.clock.isDead() || this.time.passedMs() >= FAULTS_END_MS) return false;
    this.#trace(`${process.owner} dies as its script says`);
    this.#crashBridge(process, slot, DOWN_MS);
    return true;
  }

  #isAlive(owner: string): boolean {
    const bridge = this.#everyBridge.get(owner);
    return bridge !== undefined && !bridge.ended && !bridge.clock.isDead();
  }

  #draw(): number {
    return this.#random.below(2 ** 30) / 2 ** 30;
  }

  #script(id: SessionId): Scenario['sessions'][number] {
    return this.#options.scenario.sessions[Number(id.slice('s-'.length)) - 1] as Scenario['sessions'][number];
  }

  #applyFault(fault: ProcessFault): void {
    const { what, bridge, ms } = fault;
    this.#trace(`${what} ${bridge} ${ms}`);
    const slot = bridge % this.#options.scenario.bridges;
    const process = this.#bridges.get(slot);
    // A fault of one bridge does not excuse taking calls from another one.
    const ofEngine = ofTheEngine(fault);
    if (ofEngine || process !== undefined) this.laws.disturbed(ofEngine ? null : (process?.owner ?? null));
    if (what === 'jump_engine') this.#engineClock.jump(ms);
    else if (what === 'crash_engine') this.#crashEngine(ms);
    else if (process === undefined) return;
    else if (what === 'jump_bridge') {
      process.clock.jump(ms);
      this.laws.clockSet(process.owner);
    } else if (what === 'stall_bridge') process.clock.stall(ms);
    else if (what === 'stop_bridge') {
      process.stop.abort();
      this.#replaceBridge(slot, ms);
    } else if (what === 'crash_noting' && this.#options.scenario.files) process.diesNotingMs = ms;
    else this.#crashBridge(process, slot, ms);
  }

  #crashBridge({ owner, clock }: BridgeProcess, slot: number, ms: number): void {
    this.laws.disturbed(owner);
    clock.kill();
    this.laws.bridgeDied(this.#files.left(clock));
    this.#replaceBridge(slot, ms);
  }

  #replaceBridge(slot: number, ms: number): void {
    this.#bridges.delete(slot);
    this.time.after(ms, () => this.#startBridge(slot));
  }

  #onSync(clock: ProcessClock): void {
    if (this.time.passedMs() >= FAULTS_END_MS) return;
    for (const [slot, process] of this.#bridges) {
      if (process.clock !== clock || process.diesNotingMs === null) continue;
      this.#trace(`${process.owner} writes to its ledger and dies`);
      this.#crashBridge(process, slot, process.diesNotingMs);
      return;
    }
  }

  #crashEngine(ms: number): void {
    this.#engineClock.kill();
    this.#engine?.end();
    this.#engine = null;
    this.laws.engineStopped();
    this.time.after(ms, () => {
      // An engine that crashed while it was opened restarts only once.
      if (this.#engineClock.isDead()) void this.#openEngine();
    });
  }

  #end(): void {
    this.#engineClock.kill();
    for (const { clock } of this.#bridges.values()) clock.kill();
  }

  #trace(line: string): void {
    this.#options.trace(`${this.time.passedMs()} ${line}`);
  }
}
