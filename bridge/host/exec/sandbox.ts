// Chooses the sandbox that commands run in (docs/design.md, "Safety"). It is probed once, by running a command in it with
// the flags that are used later: an installed bwrap does not mean that the kernel allows it.
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { PROBE_MS_MAX } from '../../../schemas/limits.ts';
import type { SandboxLevel } from '../../../schemas/tool-set.ts';
import { ToolFault } from '../outcome.ts';
import { type Owner, type Workspace, refuseReplaced } from '../workspace/workspace.ts';
import { type SandboxMounts, bwrapArguments, systemMounts } from './bwrap-arguments.ts';
import { checkMounts, isSetUp } from './check-mounts.ts';
import { childEnvironment } from './child-environment.ts';
import type { Command } from './command.ts';
import { commandIdentity, describeUid } from './command-identity.ts';
import { startGate } from './keeper.ts';
import { limitPrefix } from './kernel-limits.ts';
import { keyringFilter, withDescriptor } from './keyring-filter.ts';
import { findHelper } from '../../../src/files/helper-programs.ts';
import { type Shield, shieldsIn } from './shielded-paths.ts';

/** The process to start for a command. */
export interface Launch {
  readonly argv: readonly string[];
  /** The environment of that process. bwrap sets the command's variables itself. */
  readonly env: Readonly<Record<string, string>>;
  /** True when the process waits for a line on descriptor 3 (see `startGate`). */
  readonly gated: boolean;
  /** Null for a process that starts the command itself. */
  readonly sandbox: LaunchedSandbox | null;
}

/** A process that is no longer gated writes `{"child-pid": n}` to descriptor 4, and its command waits for a second line. */
export interface LaunchedSandbox {
  /** When everything is mounted, it waits for a line on descriptor 5 before anything of the command runs. */
  readonly waits: boolean;
  /** What it reads from descriptor 6; null for no filter. */
  readonly filter: Uint8Array | null;
  /** Whether everything is mounted in the sandbox of this process. Throws when it has ended. */
  isSetUp(pid: number): boolean;
  /** Throws when the sandbox of this process shows something else than was asked. */
  check(pid: number): void;
}

export interface Sandbox {
  readonly level: SandboxLevel;
  readonly note: string;
  /** True when nothing keeps commands from what the host's own user can read. */
  readonly sharesUser: boolean;
  /** The user that the process runs as; null for the host's own user. */
  readonly identity: Owner | null;
  launch(command: Command): Launch;
}

export interface SandboxOptions {
  readonly wanted: 'auto' | SandboxLevel;
  readonly sandboxUid: number | undefined;
  /** False for a host that only puts files back: then nothing is to be kept from commands. */
  readonly runsCommands?: boolean;
}

/** Commands could reach the host's own files, and the operator has not accepted that. */
export class SandboxRefused extends Error {
  override readonly name = 'SandboxRefused';
}

/**
 * Throws when `wanted` is `bwrap` and bwrap does not work, and a {@link SandboxRefused} when commands could change the host's
 * own files, or when they could read them and it is not `none` that was wanted.
 */
export function openSandbox(workspace: Workspace, options: SandboxOptions): Sandbox {
  const { wanted, sandboxUid, runsCommands = true } = options;
  const identity = commandIdentity(workspace.owner, sandboxUid);
  const limits = limitPrefix(identity);
  const who = `${describeUid(identity)}${limits.length === 0 ? ', no limits (prlimit does not work)' : ''}${accessNote(workspace, identity)}`;
  if (!runsCommands)
    return unconfined(workspace, { identity, limits }, { note: 'none: it runs no commands', shares: false });
  const shares = identity === null || workspace.places.ownedBy(identity.uid);
  const own = shares ? ", the engine's own user: they can read its tokens" : '';
  const bare = (why: string): Sandbox => {
    refuseUnhidden(workspace, why);
    return unconfined(workspace, { identity, limits }, { note: `none: ${why}; commands run as ${who}${own}`, shares });
  };
  if (wanted === 'none') return bare('chosen by the operator');
  const bwrap = process.platform === 'linux' ? findHelper('bwrap') : null;
  let fault = 'bwrap is not installed';
  if (bwrap !== null) {
    const faults: string[] = [];
    for (const { withNode, usernsFlags, filter } of variantsOf(bwrap)) {
      const note = `bwrap as ${who}, no network${withNode ? '' : ', no node'}${filter === null ? ', kernel keyrings not kept from it' : ''}`;
      const confinement = { bwrap, mounts: systemMounts(withNode), usernsFlags, limits, filter };
      const sandbox = confined(workspace, identity, confinement, note);
      const why = probe(sandbox, workspace);
      if (why === null) return sandbox;
      faults.push(why);
    }
    fault = `bwrap does not work here (${faults.at(-1)})`;
  }
  if (wanted === 'bwrap')
    throw new Error(
      `the sandbox bwrap cannot be used: ${fault}; make bwrap work, or choose the sandbox none: commands would then run as ${who}`,
    );
  if (!shares) return bare(fault);
  throw new SandboxRefused(
    `${fault}, so commands would run as ${who}${own}. Install bubblewrap, or run the bridge as root, which takes another user for commands; to accept it: --sandbox none`,
  );
}

/** Without a sandbox, commands could change the code and the data of refold that the workspace contains. */
function refuseUnhidden({ path, places, code: own }: Workspace, why: string): void {
  const code = own.shown().find((place) => existsSync(place));
  if (code !== undefined)
    throw new SandboxRefused(
      `the workspace ${path} contains ${code}, whose programs refold itself runs, and without a sandbox (${why}) commands ` +
        'could change them; install refold and node outside the workspace, or install bubblewrap',
    );
  const [hidden] = places.hiddenIn([path]);
  if (hidden === undefined) return;
  throw new SandboxRefused(
    `the workspace ${path} contains ${hidden.path}, where refold keeps its own data, and without a sandbox (${why}) ` +
      'commands could change it; choose a workspace or a data directory that does not overlap the other, or install bubblewrap',
  );
}

interface Variant {
  readonly withNode: boolean;
  readonly usernsFlags: readonly string[];
  readonly filter: Uint8Array | null;
}

/** Bwrap may be unable to mount node (in root's home, say): a sandbox without node is better than none. */
function variantsOf(bwrap: string): readonly Variant[] {
  const { stdout } = spawnSync(bwrap, ['--help'], { env: {}, timeout: PROBE_MS_MAX, encoding: 'utf8' });
  const known = (stdout ?? '').includes('--disable-userns') ? [['--disable-userns'], []] : [[]];
  const keyrings = keyringFilter();
  return (keyrings === null ? [null] : [keyrings, null]).flatMap((filter) =>
    known.flatMap((usernsFlags) => [true, false].map((withNode) => ({ withNode, usernsFlags, filter }))),
  );
}

function unconfined(
  workspace: Workspace,
  { identity, limits }: { readonly identity: Owner | null; readonly limits: readonly string[] },
  { note, shares }: { readonly note: string; readonly shares: boolean },
): Sandbox {
  const gate = startGate('close');
  return {
    level: 'none',
    note,
    sharesUser: shares,
    identity,
    launch: ({ argv, variables }) => {
      refuseAdded(workspace);
      return { argv: [...gate, ...limits, ...argv], env: variables, gated: gate.length > 0, sandbox: null };
    },
  };
}

/** An engine may have been opened in the workspace since the sandbox was. */
function refuseAdded({ path, places }: Workspace): void {
  const [hidden] = places.hiddenIn([path]);
  if (hidden === undefined) return;
  throw new ToolFault(
    'forbidden',
    `without a sandbox no command runs in a workspace that contains ${hidden.path}, where refold keeps its own data; a ` +
      'person must choose another workspace or data directory, or install bubblewrap',
  );
}

interface Confinement {
  readonly bwrap: string;
  readonly mounts: SandboxMounts;
  readonly usernsFlags: readonly string[];
  readonly limits: readonly string[];
  readonly filter: Uint8Array | null;
}

interface Confined extends Sandbox {
  readonly filter: Uint8Array | null;
  /**
   * A command line without gates, for the synchronous probe, which cannot open them. It mounts nothing in the workspace: there,
   * a command of another host may replace what is mounted.
   */
  readonly ungated: (command: Command) => readonly string[];
}

function confined(workspace: Workspace, identity: Owner | null, confinement: Confinement, note: string): Confined {
  const { bwrap, limits, mounts, usernsFlags, filter } = confinement;
  const outer = startGate('keep');
  const inner = startGate('close');
  const argvOf = (
    command: Command,
    shields: readonly Shield[] | null,
    before: readonly string[],
  ): readonly string[] => {
    const plan = { mounts, usernsFlags, filtered: filter !== null, waits: shields !== null, shields: shields ?? [] };
    return [bwrap, ...bwrapArguments(workspace, plan, command), '--', ...before, ...limits, ...command.argv];
  };
  return {
    level: 'bwrap',
    note,
    sharesUser: false,
    identity,
    filter,
    ungated: (command) => argvOf(command, null, []),
    launch: (command) => {
      // The workspace is mounted by its path.
      refuseReplaced(workspace);
      const shields = shieldsIn(workspace, command.readOnly, mounts.shown);
      const shown = command.folder === undefined ? mounts.shown : [...mounts.shown, command.folder];
      const asked = { workspace, shown, shields };
      return {
        argv: [...outer, ...argvOf(command, shields, inner)],
        env: {},
        gated: outer.length > 0,
        sandbox: { waits: true, filter, isSetUp, check: (pid) => checkMounts(pid, asked) },
      };
    },
  };
}

/** Null when a command runs in the sandbox, else the reason why it does not. */
function probe(sandbox: Confined, workspace: Workspace): string | null {
  const { variables } = childEnvironment({});
  const argv = sandbox.ungated({ argv: ['true'], directory: workspace.path, variables, readOnly: [] });
  const run = (filter: number | 'ignore'): SpawnSyncReturns<string> =>
    spawnSync(argv[0] as string, argv.slice(1), {
      ...sandbox.identity,
      cwd: '/',
      env: {},
      stdio: ['ignore', 'ignore', 'pipe', 'ignore', 'pipe', 'ignore', filter],
      timeout: PROBE_MS_MAX,
      encoding: 'utf8',
    });
  const { status, error, stderr } = sandbox.filter === null ? run('ignore') : withDescriptor(sandbox.filter, run);
  return status === 0 ? null : (stderr ?? '').trim().split('\n')[0] || (error?.message ?? `status ${status}`);
}

// Explains to an operator who runs the bridge as root on root's files why commands cannot use them.
function accessNote(workspace: Workspace, identity: Owner | null): string {
  if (identity === null) return '';
  const { mode, uid, gid } = statSync(workspace.path);
  const groupOrOthers = gid === identity.gid ? 3 : 0;
  const bits = (mode >> (uid === identity.uid ? 6 : groupOrOthers)) & 0o7;
  if ((bits & 0o5) !== 0o5) return ' (that user cannot read the workspace)';
  return (bits & 0o2) === 0 ? ' (that user cannot write the workspace)' : '';
}
