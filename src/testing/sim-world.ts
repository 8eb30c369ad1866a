// One simulated world: the real engine, the bridges under test, and people, each a process with a clock of its own,
// joined by a network that loses things and a disk that is slow. Single threaded, and the same for the same scenario.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import { type CallId, type OwnerId, type SessionId, brand } from '../../schemas/ids.ts';
import { RETRY_MS, SIM_PATIENCE_MS } from '../../schemas/limits.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { Engine, EnginePorts } from '../engine/engine.ts';
import { newSchemaCheck } from '../engine/schema-check.ts';
import type { BridgeWorld, SimulatedBridge } from './bridge-world.ts';
import { Book, type Taken } from './laws/book.ts';
import { checkConversation } from './laws/conversation-laws.ts';
import { checkNothingLost, checkReplay, checkRest, isAtRest } from './laws/ending-laws.ts';
import { newExchangeLaws } from './laws/exchange-laws.ts';
import { newExecutionLaws } from './laws/execution-laws.ts';
import { type Judge, newJudge } from './laws/judge.ts';
import { newPatienceLaw } from './laws/patience-law.ts';
import { checkEvent } from './laws/stream-laws.ts';
import { randomFrom } from './random.ts';
import { FAULTS_END_MS, type ProcessFault, type Scenario } from './scenario.ts';
import { type SimDisk, newSimDisk } from './sim-disk.ts';
import { newSimFiles } from './sim-files.ts';
import { simReply } from './sim-model.ts';
import { type SimEngine, newSimNetwork } from './sim-network.ts';
import { newPerson } from './sim-person.ts';
import { type ProcessClock, SimTime } from './sim-time.ts';
import { SIM_TOOLS, runSimTool } from './sim-tools.ts';

/** How long a lease lasts in a simulation without a heartbeat, in milliseconds. */
const TTL_MS = 3_000;

/** After how many events a session gets its first snapshot, where there are any. */
const SNAPSHOT_EVERY_EVENTS = 8;

// Where nothing is ever loaded again they would be written for nobody.
const loadsFromSnapshots = ({ snapshots, processes, disk }: Scenario): boolean =>
  snapshots && (disk.length > 0 || processes.some(({ what }) => what === 'crash_engine'));

/** Of so many scenarios one has its streams replayed as a whole when it is over; its seed decides. */
const REPLAYED_EVERY = 32;

export type StartEngine = (ports: EnginePorts) => TaskEither<Rejection, Engine>;

export interface SimWorldOptions {
  readonly scenario: Scenario;
  readonly bridge: SimulatedBridge;
  readonly startEngine: StartEngine;
  readonly trace: (line: string) => void;
}

interface BridgeProcess {
  readonly owner: OwnerId;
  readonly clock: ProcessClock;
  readonly stop: AbortController;
  /** It has come to its own end. */
  ended: boolean;
}

// Compiling a schema costs more than a whole simulation; all of them have the same tools.
const checkSchema = newSchemaCheck();

export class SimWorld {
  readonly time = new SimTime();
  readonly judge: Judge = newJudge(this.time);
  readonly books = new Map<SessionId, Book>();
  readonly executions = newExecutionLaws(this.judge);
  readonly #options: SimWorldOptions;
  readonly #random;
  readonly #disk: SimDisk;
  readonly #network;
  readonly #exchanges;
  readonly #patience = newPatienceLaw(this.judge, TTL_MS);
  readonly #files = newSimFiles();
  readonly #bridges = new Map<number, BridgeProcess>();
  /** Those that are gone as well. */
  readonly #everyBridge = new Map<string, BridgeProcess>();
  readonly #people: { pending(): number }[] = [];
  readonly #confirmed: { readonly id: SessionId; readonly event_id: string }[] = [];
  #engine: (SimEngine & { readonly end: () => void }) | null = null;
  #engineClock: ProcessClock = this.time.process();
  /** When the last person has done the last thing, in milliseconds since the beginning. */
  readonly #lastActMs: number;
  #ids = 0;
  #lives = 0;

  constructor(options: SimWorldOptions) {
    const { scenario } = options;
    const { time } = this;
    this.#options = options;
    this.#random = randomFrom(scenario.seed);
    this.#lastActMs = 1 + Math.max(0, ...scenario.sessions.flatMap(({ acts }) => acts.map(({ atMs }) => atMs)));
    this.#exchanges = newExchangeLaws({ judge: this.judge, bookOf: (id) => this.books.get(id), ttlMs: TTL_MS });
    const watch = (book: Book, taken: Taken): void => checkEvent(book, taken, this.judge);
    this.#disk = newSimDisk({
      time,
      faults: scenario.disk,
      onCreated: (id, genesis) => this.books.set(id, new Book(genesis, this.judge, watch)),
      onDurable: (id, records) => this.#durable(id, records),
    });
    this.#network = newSimNetwork({
      time,
      random: this.#random,
      faults: scenario.messages,
      engine: () => this.#engine,
      onAnswer: (exchange) => {
        const { from, method, answer } = exchange;
        this.#trace(`${from} ${method} ${isLeft(answer) ? answer.left.code : 'done'}`);
        this.#exchanges.answered(exchange, time.passedMs());
      },
      onFault: (from, { what }) => {
        this.#trace(`${from} ${what}`);
        this.#patience.disturbed(from, time.passedMs());
      },
    });
  }

  /** Runs the whole scenario. What was broken is in `judge`. */
  async run(): Promise<void> {
    const { scenario } = this.#options;
    await this.#openEngine();
    for (let slot = 0; slot < scenario.bridges; slot += 1) this.#startBridge(slot);
    for (const [index, script] of scenario.sessions.entries()) {
      const id = brand<'SessionId'>(`s-${index + 1}`);
      const clock = this.time.process();
      const client = this.#network.clientOf(`person-${index + 1}`, clock);
      const state = () => this.books.get(id)?.state() ?? null;
      const onConfirmed = (event_id: string) => this.#confirmed.push({ id, event_id });
      this.#people.push(newPerson({ client, clock, id, script, state, onConfirmed }));
    }
    for (const fault of scenario.processes) this.time.after(fault.atMs, () => this.#strike(fault));
    const broken = (): boolean => this.judge.violations.length > 0;
    const ended = await this.time.run(() => broken() || this.#isOver(), FAULTS_END_MS + SIM_PATIENCE_MS);
    if (!broken()) this.#checkEnd(ended);
    this.#end();
  }

  #checkEnd(ended: boolean): void {
    const { judge } = this;
    const now = this.#engineClock.now();
    for (const [id, book] of this.books) {
      if (!ended && !isAtRest(book, now)) checkRest(id, book, judge);
      checkNothingLost(id, book, judge);
      book.holdLast();
      if (this.#options.scenario.seed % REPLAYED_EVERY === 0) checkReplay(id, book, judge);
    }
    if (!ended && judge.violations.length === 0) judge.fail('every run ends', 'somebody is never answered');
    for (const { id, event_id } of this.#confirmed) {
      const times = this.books.get(id)?.events.filter((event) => event.event_id === event_id).length ?? 0;
      judge.hold(times === 1, 'nothing is lost', () => `${id}: ${event_id} was confirmed and is there ${times} times`);
    }
  }

  #isOver(): boolean {
    if (this.#people.some((person) => person.pending() > 0)) return false;
    if (this.time.passedMs() < this.#lastActMs) return false;
    const now = this.#engineClock.now();
    return this.books.size === this.#people.length && [...this.books.values()].every((book) => isAtRest(book, now));
  }

  #durable(id: SessionId, records: Parameters<Book['add']>[0]): void {
    const book = this.books.get(id);
    if (book === undefined) return;
    const from = book.events.length;
    book.add(records);
    for (const event of book.events.slice(from)) {
      this.#trace(`${id} ${event.kind} ${event.event_id} ${records.at(-1)?.chain.slice(-8) ?? ''}`);
      if (event.kind === 'ToolCallSettled') this.executions.settled(id, event);
      if (event.kind === 'LeaseExpired') this.#checkLost(book, event.call_id);
    }
  }

  #checkLost(book: Book, call: CallId): void {
    const owner = book.call(call)?.starters.at(-1);
    if (owner !== undefined) this.#patience.lost(owner, call, this.time.passedMs());
  }

  async #openEngine(): Promise<void> {
    const clock = this.time.process();
    this.#engineClock = clock;
    const ports: EnginePorts = {
      ...this.#disk.open(clock),
      clock,
      checkSchema,
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
  }

  #startBridge(slot: number): void {
    const clock = this.time.process();
    const stop = new AbortController();
    this.#lives += 1;
    const owner = brand<'OwnerId'>(`bridge-${slot + 1}-${this.#lives}`);
    const process: BridgeProcess = { owner, clock, stop, ended: false };
    this.#bridges.set(slot, process);
    this.#everyBridge.set(owner, process);
    const end = (): void => {
      process.ended = true;
    };
    this.#options.bridge(this.#worldOf(process)).then(end, (error: unknown) => {
      end();
      if (!clock.isDead()) this.judge.fail('every run ends', `${owner} gave up: ${String(error)}`);
    });
  }

  #worldOf({ owner, clock, stop }: BridgeProcess): BridgeWorld {
    return {
      client: this.#network.clientOf(owner, clock),
      owner,
      clock,
      random: () => this.#draw(),
      files: this.#options.scenario.files ? this.#files.of(clock) : null,
      isAlive: (name) => {
        const other = this.#everyBridge.get(name);
        return other !== undefined && !other.ended && !other.clock.isDead();
      },
      signal: stop.signal,
      tools: [SIM_TOOLS],
      model: {
        generate: async (request) => {
          const book = this.books.get(request.session_id);
          if (book === undefined) throw new Error(`there is no session ${request.session_id}`);
          this.#trace(`${owner} asks the model ${request.run_id} ${request.turn}`);
          checkConversation(request, book, this.judge);
          return simReply(request, this.#script(request.session_id));
        },
      },
      runTool: async ({ session_id, call_id }, args, { signal }) => {
        const book = this.books.get(session_id);
        if (book === undefined) throw new Error(`there is no session ${session_id}`);
        const token = `${session_id}/${call_id} by ${owner} #${this.executions.executions.length}`;
        const execution = { session_id, call_id, owner, process: clock, token, succeeded: null };
        this.#trace(`runs ${token}`);
        this.executions.entered(execution, book, args);
        return await runSimTool(execution, args, signal);
      },
    };
  }

  #draw(): number {
    return this.#random.below(2 ** 30) / 2 ** 30;
  }

  #script(id: SessionId): Scenario['sessions'][number] {
    return this.#options.scenario.sessions[Number(id.slice('s-'.length)) - 1] as Scenario['sessions'][number];
  }

  #strike({ what, bridge, ms }: ProcessFault): void {
    this.#trace(`${what} ${bridge} ${ms}`);
    const slot = bridge % this.#options.scenario.bridges;
    const process = this.#bridges.get(slot);
    // What befalls one bridge is no excuse for taking another one's calls away.
    const ofEngine = what === 'crash_engine' || what === 'jump_engine';
    if (ofEngine || process !== undefined) {
      this.#patience.disturbed(ofEngine ? null : (process?.owner ?? null), this.time.passedMs());
    }
    if (what === 'jump_engine') this.#engineClock.jump(ms);
    else if (what === 'crash_engine') this.#crashEngine(ms);
    else if (process === undefined) return;
    else if (what === 'jump_bridge') process.clock.jump(ms);
    else if (what === 'stall_bridge') process.clock.stall(ms);
    else {
      this.#bridges.delete(slot);
      if (what === 'stop_bridge') process.stop.abort();
      else process.clock.kill();
      this.time.after(ms, () => this.#startBridge(slot));
    }
  }

  #crashEngine(ms: number): void {
    this.#engineClock.kill();
    this.#engine?.end();
    this.#engine = null;
    this.#exchanges.forget();
    this.time.after(ms, () => {
      // One that crashed while it was opened comes back once.
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
