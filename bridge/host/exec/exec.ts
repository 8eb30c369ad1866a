// host.exec: runs one command and reports how it ended and what it wrote.
import { Buffer } from 'node:buffer';
import type { JsonObject } from '../../../schemas/json.ts';
import { invalidArgument, optionalCount, optionalObject, optionalText, requiredTexts } from '../arguments.ts';
import {
  ARGV_BYTES_MAX,
  ARGV_MAX,
  EXEC_TIMEOUT_MS_MAX,
  PROGRESS_EVERY_MS,
  TERM_GRACE_MS,
} from '../../../schemas/limits.ts';
import type { GitEntry } from '../git/git-entries.ts';
import { type HostOutcome, ToolFault } from '../outcome.ts';
import { refuseMarksInCommand } from '../secret-mark.ts';
import type { HostCallContext, HostParts } from '../tool.ts';
import { withDirectory } from '../workspace/directory.ts';
import { type WorkspacePath, showPath } from '../workspace/path-name.ts';
import { type ChildEnvironment, childEnvironment } from './child-environment.ts';
import { reportCommand } from './command-report.ts';
import type { Keeper } from './keeper.ts';
import { type Capture, openCapture } from './output-capture.ts';
import { isProgram, programDirectories } from './find-program.ts';
import { type CommandEnd, type RunningCommand, startCommand } from './run-command.ts';

/** A command to run, with its limits. */
export interface ExecCall {
  readonly argv: readonly string[];
  /** Where in the workspace it runs; not used with {@link folder}. */
  readonly cwd: WorkspacePath;
  /** The directory outside the workspace that it runs in, which it sees and cannot write in a sandbox. */
  readonly folder?: string;
  readonly environment: ChildEnvironment;
  readonly stdin: string | undefined;
  readonly timeoutMs: number;
}

export const execTool = async (args: JsonObject, host: HostParts, context: HostCallContext): Promise<HostOutcome> =>
  await runCall(readCall(args, host, context), host, context);

/** Runs a command to its end, guarded and supervised as every command is. */
export async function runCall(call: ExecCall, host: HostParts, context: HostCallContext): Promise<HostOutcome> {
  const stdout = openCapture(host.scratch.newSpillPath(), host.redactor);
  const stderr = openCapture(host.scratch.newSpillPath(), host.redactor);
  try {
    // Before the search for git directories, which takes time: what stops the session stops this command too.
    const place = host.commands.enter(context.sessionId);
    const guarded = host.gitGuard.around(async (readOnly) => {
      const startedMs = host.now();
      const begin = (keeper: Keeper): RunningCommand =>
        start(call, host, { keeper, readOnly, streams: [stdout, stderr] });
      const command = place.start(begin);
      const ended = await supervise(command, call, context, [stdout, stderr]);
      return { end: ended, durationMs: Math.max(0, Math.round(host.now() - startedMs)) };
    });
    const [{ end, durationMs }, git] = await guarded.finally(() => place.leave());
    if (end.spawnFault !== null) throw new ToolFault('spawn_failed', spawnAdvice(call, end.spawnFault));
    return reportCommand(
      { end, stdout, stderr, durationMs, timeoutMs: call.timeoutMs, dropped: call.environment.dropped, git },
      { outputBytesMax: context.outputBytesMax, spillPath: host.scratch.newSpillPath() },
    );
  } finally {
    stdout.close();
    stderr.close();
  }
}

function readCall(args: JsonObject, { workspace }: HostParts, context: HostCallContext): ExecCall {
  const argv = requiredTexts(args, 'argv');
  const [program] = argv;
  if (program === undefined || program === '') {
    throw new ToolFault(
      'argv_empty',
      "'argv' is empty or has an empty program name; give the program first, then its arguments",
    );
  }
  const bytes = argv.reduce((sum, argument) => sum + Buffer.byteLength(argument) + 1, 0);
  if (argv.length > ARGV_MAX || bytes > ARGV_BYTES_MAX || argv.some((argument) => argument.includes('\0'))) {
    throw invalidArgument('argv', `at most ${ARGV_MAX} strings without NUL, of ${ARGV_BYTES_MAX} bytes in all`);
  }
  const added = optionalObject(args, 'env') ?? {};
  const stdin = optionalText(args, 'stdin');
  refuseMarksInCommand([...argv, stdin ?? '', JSON.stringify(added)]);
  const limitMs = Math.min(Math.max(1, Math.floor(context.timeoutMs)), EXEC_TIMEOUT_MS_MAX);
  const call: ExecCall = {
    argv,
    cwd: workspace.parse(optionalText(args, 'cwd') ?? '.'),
    environment: childEnvironment(added),
    stdin,
    timeoutMs: optionalCount(args, 'timeout_ms', 1, limitMs) ?? limitMs,
  };
  // Checked before anything starts: a sandbox would only report that its innermost program failed to run.
  if (!program.includes('/') && !Object.hasOwn(added, 'PATH') && !isProgram(program)) {
    throw new ToolFault('spawn_failed', spawnAdvice(call, 'ENOENT'));
  }
  return call;
}

interface StartPorts {
  readonly keeper: Keeper;
  readonly readOnly: readonly GitEntry[];
  readonly streams: readonly [stdout: Capture, stderr: Capture];
}

function start(
  call: ExecCall,
  { workspace, sandbox }: HostParts,
  { keeper, readOnly, streams: [stdout, stderr] }: StartPorts,
): RunningCommand {
  const { argv, cwd, folder, environment, stdin } = call;
  const { variables } = environment;
  if (folder !== undefined) {
    const launch = sandbox.launch({ argv, directory: folder, variables, readOnly, folder });
    const place = sandbox.level === 'bwrap' ? '/' : folder;
    return startCommand(launch, { cwd: place, identity: sandbox.identity, stdin, stdout, stderr }, keeper);
  }
  return withDirectory(workspace.root, cwd.names, (directory) => {
    const path = [workspace.path, ...cwd.names].join('/');
    const launch = sandbox.launch({ argv, directory: path, variables, readOnly });
    // bwrap changes to the directory inside its own mounts. Without it, the command starts in the open directory handle.
    const place = sandbox.level === 'bwrap' ? '/' : directory.location;
    return startCommand(launch, { cwd: place, identity: sandbox.identity, stdin, stdout, stderr }, keeper);
  });
}

async function supervise(
  command: RunningCommand,
  { timeoutMs }: ExecCall,
  { signal, onProgress }: HostCallContext,
  streams: readonly Capture[],
): Promise<CommandEnd> {
  const cancel = (): void => command.stop('cancelled', TERM_GRACE_MS);
  const timer = setTimeout(() => command.stop('timeout', TERM_GRACE_MS), timeoutMs);
  const progress = setInterval(() => {
    for (const text of streams.map((stream) => stream.takeNew())) if (text !== '') onProgress?.(text);
  }, PROGRESS_EVERY_MS);
  signal.addEventListener('abort', cancel);
  if (signal.aborted) cancel();
  try {
    return await command.ended;
  } finally {
    clearTimeout(timer);
    clearInterval(progress);
    signal.removeEventListener('abort', cancel);
  }
}

function spawnAdvice({ argv }: ExecCall, reason: string): string {
  const program = showPath(argv[0] ?? '');
  if (reason !== 'ENOENT') return `${program} could not be started (${reason})`;
  return `program ${program} not found in ${programDirectories().join(', ')}; give its path, or use another program`;
}
