// Starts the engine and the bridge as processes, by path: `src` never imports the bridge.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { isSecretName, secretVariables } from '../files/secret-variables.ts';
import { CommandFailure } from './output.ts';
import { visible } from '../shown/visible.ts';

const CLI = fileURLToPath(new URL('main.js', import.meta.url));
const BRIDGE = fileURLToPath(new URL('../../bridge/process/main.js', import.meta.url));
const REBUILD = fileURLToPath(new URL('../../bridge/process/request.js', import.meta.url));

export interface Child {
  readonly process: ChildProcess;
  /** The first line it printed, which says that it is ready. */
  readonly ready: Readonly<Record<string, unknown>>;
  /** Asks it to end and waits until it has ended. */
  stop(): Promise<void>;
}

export interface BridgeArguments {
  readonly url: string;
  readonly tokenFile: string;
  readonly workspace: string;
  /** Where bridges record the calls they start, for their successors; absent for a bridge that starts no calls. */
  readonly stateDir?: string;
  /** Directories that no tool may read or write; they are made where they are missing in the workspace. */
  readonly protect: readonly string[];
  /** Further arguments of the bridge. */
  readonly args: readonly string[];
  /** Further secrets than those of the environment; all are passed on standard input, so that no environment holds them. */
  readonly secrets?: Readonly<Record<string, string>>;
}

/** Starts an engine on a data directory and waits until it listens (port 0: any free port). It ends with this process. */
export const startEngineProcess = (dataDir: string, port: number): Promise<Child> =>
  start([CLI, 'serve', '--data-dir', dataDir, '--port', String(port), '--json', '--exit-with-parent'], {
    env: withoutSecrets(),
    onLine: () => undefined,
  });

/** Starts a bridge and waits until it is ready; `onLine` gets each later line it prints. It ends with this process. */
export async function startBridgeProcess(
  { url, tokenFile, workspace, stateDir, protect, args, secrets = {} }: BridgeArguments,
  onLine: (line: Readonly<Record<string, unknown>>) => void = () => undefined,
): Promise<Child> {
  const fixed = ['--url', url, '--token-file', tokenFile, '--workspace', workspace, '--json'];
  const own = ['--secrets-stdin', '--exit-with-parent', ...(stateDir === undefined ? [] : ['--state-dir', stateDir])];
  makeMissing(protect, workspace);
  tellNotes(runnerNotes(workspace));
  const kept = protect.flatMap((path) => ['--protect', path]);
  const argv = [BRIDGE, ...fixed, ...own, ...kept, ...args];
  const options = {
    env: withoutSecrets(),
    onLine,
    stdin: `${JSON.stringify({ ...secretVariables(process.env), ...secrets })}\n`,
  };
  const bridge = await start(argv, options).catch((error: unknown) => {
    // The message of a disk or file error does not say which process it stopped.
    throw error instanceof CommandFailure
      ? new CommandFailure(error.code, `the bridge cannot start: ${error.message}`)
      : error;
  });
  const { shares_user, sandbox_note, notes } = bridge.ready;
  if (shares_user === true && !args.includes('--undo-only')) {
    process.stderr.write(`refold: sandbox ${visible(String(sandbox_note))}\n`);
  }
  tellNotes(notes);
  return bridge;
}

/**
 * Makes the protected directories that do not exist yet and would lie in the workspace, such as `~/.refold` while another
 * data directory is used: else a command could make one, with a token of its own choice for the next engine.
 */
function makeMissing(directories: readonly string[], workspace: string): void {
  for (const directory of directories) {
    const [above, within] = [dirname(directory), realOrNull(workspace)];
    const real = realOrNull(above);
    if (existsSync(directory) || real === null || within === null) continue;
    if (real === within || real.startsWith(`${within}/`)) mkdirSync(directory, { mode: 0o700 });
  }
}

function realOrNull(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}

/** For a command that a package manager began in the workspace: what it read there before refold may be a model's next time. */
export function runnerNotes(workspace: string, env: NodeJS.ProcessEnv = process.env): readonly string[] {
  const [at, within] = [realOrNull(process.cwd()), realOrNull(workspace)];
  if (env['npm_config_user_agent'] === undefined || at === null || within === null) return [];
  if (at !== within && !at.startsWith(`${within}/`)) return [];
  return [
    'a package manager such as npx started this command in the workspace, and it reads files there that a model may write; ' +
      'start refold from a directory outside, with --workspace, or install it for your user: npm install --global refold',
  ];
}

/** What the bridge found at its start, such as a secret that is too short to be replaced. Each is told once. */
function tellNotes(notes: unknown): void {
  for (const note of Array.isArray(notes) ? notes.map(String) : []) {
    if (!toldNotes.has(note)) process.stderr.write(`refold: ${visible(note)}\n`);
    toldNotes.add(note);
  }
}

const toldNotes = new Set<string>();

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

const withoutSecrets = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !isSecretName(name)));

/** Writes the request of a recorded answer again, in a process of the bridge, which has the dialects. */
export async function rebuildInBridge(
  { url, tokenFile }: Pick<BridgeArguments, 'url' | 'tokenFile'>,
  answer: object,
): Promise<Readonly<Record<string, unknown>>> {
  const argv = [REBUILD, '--url', url, '--token-file', tokenFile];
  const child = spawn(process.execPath, argv, { env: withoutSecrets(), stdio: ['pipe', 'pipe', 'pipe'] });
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text;
    });
  }
  // A process that fails at its start reads nothing; its exit says so.
  child.stdin.on('error', () => undefined);
  child.stdin.end(JSON.stringify(answer));
  const code = await new Promise<number | null>((resolve, fail) => {
    child.once('error', fail);
    child.once('close', resolve);
  });
  const said = parseLine(texts.stdout);
  if (code === 0) return said;
  const why = typeof said['failed'] === 'string' ? said['failed'] : texts.stderr.trim();
  throw new CommandFailure('child_failed', `the request cannot be rebuilt: ${visible(why)}`);
}

/** Runs `refold` in a fresh process and returns its exit code; `onStdout` gets what it prints. */
export function runFresh(args: readonly string[], onStdout: (text: string) => void): Promise<number> {
  const child = spawn(process.execPath, [CLI, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  child.stdout.setEncoding('utf8').on('data', onStdout);
  return new Promise((resolve, fail) => {
    child.once('error', fail);
    child.once('close', (code) => resolve(code ?? 2));
  });
}
