// The two processes of a running system, started by path: the engine, and the bridge (which `src` never imports).
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { CommandFailure } from './output.ts';

const CLI = fileURLToPath(new URL('main.js', import.meta.url));
const BRIDGE = fileURLToPath(new URL('../../bridge/process/main.js', import.meta.url));

export interface Child {
  readonly process: ChildProcess;
  /** The first line it printed: it is ready. */
  readonly ready: Readonly<Record<string, unknown>>;
  /** Asks it to end, and waits until it has. */
  stop(): Promise<void>;
}

/** How often a process that ended by itself is started again, and how long to wait after a start that failed. */
const RESTARTS_MAX = 8;
const RESTART_WAIT_MS = 500;

/** A process that is started again when it ends by itself. */
export interface KeptChild extends Child {
  /** Rejects once it is not started again any more; otherwise it stays open. */
  readonly givenUp: Promise<never>;
}

/**
 * Keeps a process going: starts it again when it ends without having been asked to. Nothing is lost by that: the
 * engine has its log, and what a bridge owed is leased again.
 */
export async function keepGoing(
  startIt: (before: Child | null) => Promise<Child>,
  onRestart: (problem: string | null) => void,
): Promise<KeptChild> {
  let child = await startIt(null);
  let stopped = false;
  let restarting: Promise<void> = Promise.resolve();
  let restarts = 0;
  let giveUp: (why: CommandFailure) => void = () => undefined;
  const givenUp = new Promise<never>((_, fail) => {
    giveUp = fail;
  });
  givenUp.catch(() => undefined);
  const guard = (): void => {
    child.process.once('exit', () => {
      if (!stopped) restarting = restart();
    });
  };
  const restart = async (): Promise<void> => {
    restarts += 1;
    if (restarts > RESTARTS_MAX) {
      giveUp(new CommandFailure('child_failed', `a process ended ${restarts} times and is not started again`));
      return;
    }
    onRestart(null);
    try {
      child = await startIt(child);
      guard();
      if (stopped) await child.stop();
    } catch (error) {
      // Another command may have the data directory open for a moment.
      onRestart(`it did not start: ${error instanceof Error ? error.message : String(error)}`);
      await new Promise((resolve) => setTimeout(resolve, RESTART_WAIT_MS * restarts));
      if (!stopped) await restart();
    }
  };
  guard();
  return {
    get process() {
      return child.process;
    },
    ready: child.ready,
    givenUp,
    stop: async () => {
      stopped = true;
      await restarting;
      await child.stop();
    },
  };
}

export interface BridgeArguments {
  readonly url: string;
  readonly tokenFile: string;
  readonly workspace: string;
  /** Where bridges note what they have started, for those that come after them; absent for one that starts no calls. */
  readonly stateDir?: string;
  /** Further arguments of the bridge's own. */
  readonly args: readonly string[];
  /** Secrets, handed over on standard input so that they are in no environment. */
  readonly secrets?: Readonly<Record<string, string>>;
}

/** Starts an engine on a data directory and waits until it listens (port 0: anywhere). It ends with this process. */
export const startEngineProcess = (dataDir: string, port: number): Promise<Child> =>
  start([CLI, 'serve', '--data-dir', dataDir, '--port', String(port), '--json', '--exit-with-parent'], {
    env: withoutSecrets(),
    onLine: () => undefined,
  });

/** Starts a bridge and waits until it is ready; `onLine` gets what it prints afterwards. It ends with this process. */
export async function startBridgeProcess(
  { url, tokenFile, workspace, stateDir, args, secrets = {} }: BridgeArguments,
  onLine: (line: Readonly<Record<string, unknown>>) => void = () => undefined,
): Promise<Child> {
  const fixed = ['--url', url, '--token-file', tokenFile, '--workspace', workspace, '--json'];
  const own = ['--secrets-stdin', '--exit-with-parent', ...(stateDir === undefined ? [] : ['--state-dir', stateDir])];
  const argv = [BRIDGE, ...fixed, ...own, ...args];
  const options = { env: withoutSecrets(), onLine, stdin: `${JSON.stringify(secrets)}\n` };
  return await start(argv, options).catch((error: unknown) => {
    // What a disk or a file says of itself does not tell whom it stopped.
    throw error instanceof CommandFailure
      ? new CommandFailure(error.code, `the bridge cannot start: ${error.message}`)
      : error;
  });
}

interface StartOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly onLine: (line: Readonly<Record<string, unknown>>) => void;
  readonly stdin?: string;
}

async function start(argv: readonly string[], { env, onLine, stdin }: StartOptions): Promise<Child> {
  const child = spawn(process.execPath, [...argv], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  if (stdin !== undefined) child.stdin.write(stdin);
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints = (complaints + text).slice(-4_000);
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const lines = createInterface({ input: child.stdout });
  const ready = await new Promise<Readonly<Record<string, unknown>>>((resolve, fail) => {
    lines.once('line', (line) => {
      resolve(parseLine(line));
      lines.on('line', (later) => onLine(parseLine(later)));
    });
    child.once('error', fail);
    child.once('exit', (code) => {
      fail(new CommandFailure('child_failed', `${argv[1] ?? 'a process'} ended with ${code}: ${complaints.trim()}`));
    });
  });
  if (ready['event'] !== 'ready') {
    await exited;
    const { code = 'child_failed', message = complaints.trim() } = {
      ...ready,
      ...(ready['error'] as object | undefined),
    };
    throw new CommandFailure(String(code), String(message));
  }
  return {
    process: child,
    ready,
    stop: async () => {
      child.stdin.end();
      child.kill('SIGTERM');
      await exited;
    },
  };
}

const parseLine = (line: string): Readonly<Record<string, unknown>> => {
  try {
    return JSON.parse(line) as Readonly<Record<string, unknown>>;
  } catch {
    return { text: line };
  }
};

const SECRET = /(_API_KEY|_SECRET|_TOKEN|_PASSWORD|_CREDENTIAL)$/;

const withoutSecrets = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !SECRET.test(name)));

/** Runs `refold` again in a fresh process, its output going where ours goes; gives its exit code. */
export function runFresh(args: readonly string[], onStdout: (text: string) => void): Promise<number> {
  const child = spawn(process.execPath, [CLI, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  child.stdout.setEncoding('utf8').on('data', onStdout);
  return new Promise((resolve, fail) => {
    child.once('error', fail);
    child.once('close', (code) => resolve(code ?? 2));
  });
}
