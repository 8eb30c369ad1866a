// Real processes for crash tests: one engine, bridges that share a state directory, a model server, and a client that
// records what was acknowledged.
import { type ChildProcess, spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { isRight } from 'fp-ts/lib/Either.js';
import type { ConsentPolicy } from '../../../schemas/consent.ts';
import type { Ingress } from '../../../schemas/event.ts';
import { type Position, type SessionId, brand } from '../../../schemas/ids.ts';
import { type EngineClient, connect } from '../../../src/client/index.ts';
import { readToken, tokenFile } from '../../../src/client/token-file.ts';
import { CONSENT_PRESETS } from '../../../src/toolsets/consent-presets.ts';
import { type CallsOf, type CrashModel, MARK_VARIABLE, markCalls, openCrashModel } from './crash-model.ts';
import { ancestorsOf, processesWith } from '../processes.ts';
import { must } from '../../../src/client/must.ts';
import { ROOT, freshDirectory } from './refold.ts';

export type LogLine = Readonly<Record<string, unknown>>;

export interface Acked {
  readonly session: SessionId;
  readonly event_id: string;
  readonly position: Position;
}

interface Running {
  readonly child: ChildProcess;
  readonly ready: LogLine;
  readonly exited: Promise<void>;
}

export interface CrashOptions {
  /** How long every second command runs. */
  readonly seconds?: number;
  /** What the model calls in the workspace; commands that leave marks unless it is given. */
  readonly callsOf?: (workspace: string, ...call: Parameters<CallsOf>) => ReturnType<CallsOf>;
  /** MCP servers of the bridges, as `mcpServers` of a configuration; their processes are among the commands of the world. */
  readonly servers?: (world: CrashWorld) => Readonly<Record<string, object>>;
}

const LEASE_TTL_MS = 1_500;

export class CrashWorld {
  readonly name = `world-${process.pid}-${performance.now()}`;
  readonly acked: Acked[] = [];
  /** Every line that bridges have printed. */
  readonly lines: LogLine[] = [];
  readonly #bridges = new Map<string, Running>();
  #engine: Running | null = null;
  #port = 0;
  #home = '';
  #onLine: (() => void)[] = [];
  /** Callbacks that wait for a running engine; null while one runs. */
  #absent: (() => void)[] | null = [];
  #more: readonly string[] = [];
  workspace = '';
  model!: CrashModel;
  client!: EngineClient;

  static async open({ seconds = 0.1, callsOf, servers }: CrashOptions = {}): Promise<CrashWorld> {
    const world = new CrashWorld();
    world.#home = await freshDirectory();
    world.workspace = await freshDirectory(true);
    world.model = await openCrashModel((run, turn) =>
      callsOf === undefined
        ? markCalls(run, turn, { world: world.name, seconds })
        : callsOf(world.workspace, run, turn),
    );
    if (servers !== undefined) await world.#configure(servers(world));
    await world.startEngine();
    world.client = connect(world.url(), await readToken(tokenFile(join(world.#home, 'data'), 'operator')));
    return world;
  }

  async #configure(servers: Readonly<Record<string, object>>): Promise<void> {
    const env = { [MARK_VARIABLE]: this.name };
    const marked = Object.entries(servers).map(([name, settings]) => [name, { ...settings, env }]);
    const file = join(this.#home, 'mcp.json');
    await writeFile(file, JSON.stringify({ mcpServers: Object.fromEntries(marked) as object }));
    this.#more = ['--mcp-config', file];
  }

  dataDir(): string {
    return join(this.#home, 'data');
  }

  url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async startEngine(): Promise<void> {
    const args = ['serve', '--data-dir', join(this.#home, 'data'), '--port', String(this.#port)];
    this.#engine = await startScript('dist/src/cli/main.js', [...args, '--lease-ttl', String(LEASE_TTL_MS)]);
    this.#port = Number(new URL(String(this.#engine.ready['url'])).port);
    for (const wake of this.#absent ?? []) wake();
    this.#absent = null;
  }

  #engineRuns(): Promise<void> {
    const absent = this.#absent;
    return absent === null ? Promise.resolve() : new Promise((resolve) => absent.push(resolve));
  }

  async startBridge(name: string): Promise<void> {
    const data = join(this.#home, 'data');
    const places = ['--workspace', this.workspace, '--state-dir', join(data, 'bridges')];
    const server = ['--url', this.url(), '--token-file', join(data, 'tokens', 'bridge')];
    const model = ['--provider', 'api', '--base-url', this.model.url, '--model', 'test'];
    const how = ['--sandbox', 'none', '--concurrency', '8'];
    const note = (line: LogLine): void => {
      this.lines.push({ ...line, bridge: name });
      for (const wake of this.#onLine.splice(0)) wake();
    };
    this.#bridges.set(
      name,
      await startScript('dist/bridge/process/main.js', [...server, ...places, ...model, ...how, ...this.#more], note),
    );
  }

  /** Kills processes at the same moment and waits until none of their commands is left. */
  async kill(...names: readonly string[]): Promise<void> {
    const victims = names.map((name) => (name === 'engine' ? this.#engine : this.#bridges.get(name)));
    if (names.includes('engine')) this.#absent ??= [];
    for (const victim of victims) victim?.child.kill('SIGKILL');
    for (const victim of victims) await victim?.exited;
    for (const name of names) this.#bridges.delete(name);
    await eventually('no command outlives its bridge', () => this.orphans().length === 0);
  }

  /** Kills the commands of this world, MCP servers among them; their bridges live on. */
  killCommands(): void {
    for (const pid of processesWith(MARK_VARIABLE, this.name)) killNow(pid);
  }

  signal(bridge: string, signal: NodeJS.Signals): void {
    this.#bridges.get(bridge)?.child.kill(signal);
  }

  /** Commands of this world without a running bridge. */
  orphans(): readonly number[] {
    const bridges = new Set([...this.#bridges.values()].map(({ child }) => child.pid));
    const belongs = (pid: number): boolean => ancestorsOf(pid).some((above) => bridges.has(above));
    const stray = processesWith(MARK_VARIABLE, this.name).filter((pid) => !belongs(pid));
    // A command that ended between the two scans is not an orphan.
    const still = new Set(processesWith(MARK_VARIABLE, this.name));
    return stray.filter((pid) => still.has(pid) && !belongs(pid));
  }

  /** Waits for a bridge line that fits, printed already or later. */
  async untilPrinted(what: string, fits: (line: LogLine) => boolean, limitMs = 20_000): Promise<LogLine> {
    const end = performance.now() + limitMs;
    for (let from = 0; ;) {
      const line = this.lines.slice(from).find(fits);
      from = this.lines.length;
      if (line !== undefined) return line;
      if (performance.now() > end) throw new Error(`no bridge printed: ${what}`);
      await this.#nextLine(end);
    }
  }

  /** Waits until bridges have printed this many more lines. */
  async untilMoreLines(count: number): Promise<void> {
    const goal = this.lines.length + count;
    await this.untilPrinted(`${count} lines`, () => this.lines.length >= goal);
  }

  /** Submits an event, repeatedly until the engine answers, and records the acknowledgement. */
  async submit(session: SessionId, event: Ingress & { readonly event_id: string }): Promise<void> {
    const isAnswered = async (): Promise<boolean> => {
      await this.#engineRuns();
      const answer = await this.client.submit(session, { events: [event] })();
      if (!isRight(answer)) return !AWAY.has(answer.left.code);
      const [at] = answer.right.events;
      if (at !== undefined) this.acked.push({ session, event_id: event.event_id, position: at.position });
      return true;
    };
    await eventually('the engine answers a submit', isAnswered, 120_000);
  }

  async createSession(id: string, consent: ConsentPolicy = CONSENT_PRESETS.allow_all): Promise<SessionId> {
    const config = { provider: 'openai', model: 'test', host_session_open: true };
    const session_id = brand<'SessionId'>(id);
    return (await must(this.client.createSession({ session_id, config, consent }))).session_id;
  }

  /** Waits until a session has neither a run nor queued follow-ups. */
  async idle(id: SessionId): Promise<void> {
    for (;;) {
      const { state } = await must(this.client.session(id));
      if (state.run === null && state.follow_ups.length === 0) return;
      const over = new AbortController();
      const late = setTimeout(() => over.abort(), 30_000);
      let more = 0;
      for await (const _ of this.client.follow(id, {
        from: state.version,
        signal: over.signal,
      })) {
        more += 1;
        break;
      }
      clearTimeout(late);
      over.abort();
      if (more === 0) throw new Error(`session ${id} makes no progress: ${state.run?.phase ?? 'no run'}`);
    }
  }

  async marks(): Promise<readonly string[]> {
    const text = await readFile(join(this.workspace, 'marks.txt'), 'utf8').catch(() => '');
    return text.split('\n').filter((line) => line !== '');
  }

  async close(): Promise<void> {
    for (const { child } of this.#bridges.values()) child.kill('SIGCONT');
    await this.kill('engine', ...this.#bridges.keys());
    await this.client.close();
    await this.model.close();
  }

  #nextLine(end: number): Promise<void> {
    return new Promise((resolve) => {
      const late = setTimeout(resolve, Math.max(0, end - performance.now()));
      this.#onLine.push(() => {
        clearTimeout(late);
        resolve();
      });
    });
  }
}

function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}

const AWAY: ReadonlySet<string> = new Set(['closing', 'internal', 'storage_failed', 'storage_unknown', 'queue_full']);

/**
 * Checks a condition repeatedly until it holds. Only for what no process prints and no stream tells: which commands the kernel
 * still lists, and whether an engine that may be killed at any moment answers again.
 */
export async function eventually(
  what: string,
  holds: () => boolean | Promise<boolean>,
  limitMs = 5_000,
): Promise<void> {
  const end = performance.now() + limitMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`timed out: ${what}`);
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
}

async function startScript(
  script: string,
  args: readonly string[],
  onLine: (line: LogLine) => void = () => undefined,
): Promise<Running> {
  const child = spawn(process.execPath, [join(ROOT, script), ...args, '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const ready = await new Promise<LogLine>((resolve, fail) => {
    let first = true;
    createInterface({ input: child.stdout }).on('line', (text) => {
      const line = parse(text);
      if (line === null) return;
      if (first) resolve(line);
      else onLine(line);
      first = false;
    });
    child.once('exit', (code) => fail(new Error(`${script} ended with ${code}`)));
  });
  return { child, ready, exited };
}

// The last line of a killed process may be incomplete.
function parse(text: string): LogLine | null {
  try {
    return JSON.parse(text) as LogLine;
  } catch {
    return null;
  }
}
