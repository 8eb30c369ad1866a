// The sandbox of a local MCP server: the system's programs, the package that its command names, what the configuration adds, a
// private /tmp, and no home. The network is shared unless the configuration says otherwise, because most servers are clients of
// something. Nothing of refold's own is shown. Where no sandbox works the server runs without one, and its state says so.
import { spawnSync } from 'node:child_process';
import { existsSync, realpathSync, statSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { COMMAND_TMP_BYTES_MAX, PROBE_MS_MAX } from '../../schemas/limits.ts';
import { findHelper } from '../../src/files/helper-programs.ts';
import { dataDirectoriesNear, isDataDirectory, ownPlaces } from '../../src/files/own-places.ts';
import type { StdioSettings } from '../../src/toolsets/mcp-config-transport.ts';
import { systemMounts } from '../host/exec/bwrap-arguments.ts';
import { commandIdentity } from '../host/exec/command-identity.ts';
import { programDirectories } from '../host/exec/find-program.ts';
import { startGate } from '../host/exec/keeper.ts';
import { keyringFilter, withDescriptor } from '../host/exec/keyring-filter.ts';
import type { Launch } from '../host/exec/sandbox.ts';
import { isWithin, pathsShowing, readMounts } from '../host/workspace/mounts.ts';
import type { Owner } from '../host/workspace/workspace.ts';

/** How a server is started. */
export interface ServerLaunch {
  readonly launch: Launch;
  readonly cwd: string;
  /** The user that it runs as; null for the bridge's own. */
  readonly identity: Owner | null;
  readonly level: 'bwrap' | 'none';
}

/** `hidden`: what no server may see, such as the data directory of the engine. */
export function launchOf(settings: StdioSettings, hidden: readonly string[]): ServerLaunch {
  const identity = commandIdentity(ownerOf(settings.cwd ?? settings.command), undefined);
  const bwrap = settings.sandbox.level === 'none' || process.platform !== 'linux' ? null : findHelper('bwrap');
  const filter = keyringFilter();
  if (bwrap !== null && works(bwrap, { network: settings.sandbox.network, identity, filter })) {
    const flags = flagsOf(settings, hidden, { identity, filtered: filter !== null });
    const argv = [
      ...startGate('keep'),
      bwrap,
      ...flags,
      '--',
      ...startGate('close'),
      settings.command,
      ...settings.args,
    ];
    const sandbox = { waits: false, filter, isSetUp: () => true, check: () => undefined };
    const env = { ...CLEAN, PATH: programDirectories().join(':'), ...settings.env };
    return { launch: { argv, env, gated: true, sandbox }, cwd: '/', identity, level: 'bwrap' };
  }
  const env = { ...inheritedVariables(), ...settings.env };
  const argv = [...startGate('close'), settings.command, ...settings.args];
  const gated = startGate('close').length > 0;
  return { launch: { argv, env, gated, sandbox: null }, cwd: settings.cwd ?? tmpdir(), identity, level: 'none' };
}

const CLEAN = { HOME: '/tmp', LANG: 'C.UTF-8', TERM: 'dumb', TMPDIR: '/tmp' } as const;

/** Without a sandbox a server is the operator's own program: it finds its home, and nothing else of the environment. */
const inheritedVariables = (): Readonly<Record<string, string>> =>
  Object.fromEntries(
    ['HOME', 'LANG', 'LOGNAME', 'PATH', 'SHELL', 'TMPDIR', 'USER'].flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );

function ownerOf(path: string): Owner {
  const stats = isAbsolute(path) ? statSync(path, { throwIfNoEntry: false }) : undefined;
  return { uid: stats?.uid ?? 0, gid: stats?.gid ?? 0 };
}

const isolation = (network: boolean, filtered: boolean): readonly string[] => [
  '--unshare-all',
  '--unshare-user',
  ...(network ? ['--share-net'] : []),
  '--cap-drop',
  'ALL',
  '--die-with-parent',
  '--new-session',
  '--info-fd',
  '4',
  '--hostname',
  'refold',
  ...(filtered ? ['--seccomp', '6'] : []),
];

function flagsOf(
  { command, args, cwd, sandbox }: StdioSettings,
  hidden: readonly string[],
  { identity, filtered }: { readonly identity: Owner | null; readonly filtered: boolean },
): string[] {
  const { network, read, write } = sandbox;
  const system = systemMounts(true);
  const paths = [command, ...args].filter((path) => isAbsolute(path) && existsSync(path));
  const named = paths.map(shownFor).filter((path) => path !== null);
  const isShown = (path: string): boolean => system.shown.some((at) => isWithin(path, at));
  const shown = [...named, ...read, ...(cwd === null ? [] : [cwd])].filter((path) => !isShown(path));
  // A program is often started by a link to it, which lies elsewhere.
  const links = paths.filter((path) => !isShown(path) && !shown.some((at) => isWithin(path, at)));
  const outermost = [...new Set(shown)].toSorted((a, b) => a.length - b.length);
  return [
    ...isolation(network, filtered),
    ...system.flags,
    ...(network ? NETWORK_FILES.flatMap((path) => ['--ro-bind-try', path, path]) : []),
    '--proc',
    '/proc',
    '--dev',
    '/dev',
    '--size',
    String(COMMAND_TMP_BYTES_MAX),
    '--tmpfs',
    '/tmp',
    ...outermost.flatMap((path) => ['--ro-bind-try', path, path]),
    ...links.flatMap((path) => (shownFor(path) === null ? [] : ['--symlink', realpathSync(path), path])),
    ...write.flatMap((path) => ['--bind-try', path, path]),
    ...coverFlags(hidden, [...system.shown, ...outermost, ...write], identity),
    '--chdir',
    cwd ?? '/tmp',
  ];
}

/** What resolving names and checking certificates needs. */
const NETWORK_FILES = [
  '/etc/resolv.conf',
  '/etc/hosts',
  '/etc/nsswitch.conf',
  '/etc/gai.conf',
  '/etc/services',
  '/etc/ssl',
  '/etc/pki',
  '/etc/ca-certificates',
  '/etc/passwd',
  '/etc/group',
];

/** What lies at a path of the sandbox. */
interface Shown {
  readonly at: string;
  /** Without links. */
  readonly real: string;
}

/**
 * Covers what no server may see wherever these paths show it, or a part of it: by a link, by a bind mount, by itself. That is
 * what is named, what this process keeps, and the data directories of other engines.
 */
function coverFlags(hidden: readonly string[], paths: readonly string[], identity: Owner | null): readonly string[] {
  const shown = paths.filter((path) => existsSync(path)).map((at): Shown => ({ at, real: realpathSync(at) }));
  const near = shown.flatMap(({ real }) =>
    [real, ...dataDirectoriesNear(real)].filter((path) => isDataDirectory(path) && !isShut(path, real, identity)),
  );
  const named = [...hidden, ...ownPlaces()].filter((path) => existsSync(path)).map((path) => realpathSync(path));
  const mounts = readMounts();
  const places = [...new Set([...named, ...near])].flatMap((real) => pathsShowing(real, mounts));
  const covered = new Set(places.flatMap((place) => shown.flatMap((one) => coverIn(one, place))));
  return [...covered]
    .filter((path) => ![...covered].some((other) => other !== path && isWithin(path, other)))
    .flatMap(cover);
}

/** Whether a directory on the way lets its owner alone on, who is not the user that the server runs as. */
function isShut(path: string, from: string, identity: Owner | null): boolean {
  if (identity === null) return false;
  for (let at = dirname(path); isWithin(at, from); at = dirname(at)) {
    const { mode, uid } = statSync(at);
    if (uid !== identity.uid && (mode & 0o011) === 0) return true;
    if (at === '/') break;
  }
  return false;
}

/** The path of the sandbox at which this shows a place, or lies in it. */
function coverIn({ at, real }: Shown, place: string): readonly string[] {
  if (isWithin(place, real)) return [join(at, relative(real, place))];
  return isWithin(real, place) ? [at] : [];
}

function cover(path: string): readonly string[] {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return [];
  return found.isDirectory() ? ['--tmpfs', path, '--remount-ro', path] : ['--ro-bind', '/dev/null', path];
}

/**
 * What a path of the command line shows: a directory itself; of a program the directory of its package, so that it finds its own
 * modules. Never a home or another directory that holds everything: there only the file; null for such a directory itself.
 */
export function shownFor(path: string): string | null {
  const real = realpathSync(path);
  // A package may find its own modules in the outermost directory of modules that it lies in.
  const modules = real.indexOf('/node_modules/');
  if (modules !== -1) return real.slice(0, modules + '/node_modules'.length);
  if (statSync(real).isDirectory()) return isTooWide(real) ? null : real;
  const own = dirname(real);
  for (let at = own; !isTooWide(at); at = dirname(at)) {
    if (PACKAGE_FILES.some((name) => existsSync(join(at, name)))) return at;
  }
  return isTooWide(own) ? real : own;
}

const isTooWide = (path: string): boolean =>
  WIDE.has(path) || path === homedir() || path === dirname(homedir()) || HOMES.has(dirname(path));

const WIDE: ReadonlySet<string> = new Set('/ /etc /home /media /mnt /root /run /tmp /usr /Users /var'.split(' '));
/** Each directory in them is a person's. */
const HOMES: ReadonlySet<string> = new Set(['/home', '/Users']);

const PACKAGE_FILES = ['node_modules', 'package.json', 'pyproject.toml', 'pyvenv.cfg'];

interface Tried {
  readonly network: boolean;
  readonly identity: Owner | null;
  readonly filter: Uint8Array | null;
}

/** What was found for each kind of sandbox: a kernel does not change while a bridge runs. */
const found = new Map<string, boolean>();

function works(bwrap: string, { network, identity, filter }: Tried): boolean {
  const key = `${bwrap} ${network} ${identity?.uid ?? ''}`;
  const known = found.get(key);
  if (known !== undefined) return known;
  const argv = [...isolation(network, filter !== null), ...systemMounts(true).flags, '--proc', '/proc', '--', 'true'];
  const run = (descriptor: number | 'ignore'): boolean =>
    spawnSync(bwrap, argv, {
      ...identity,
      cwd: '/',
      env: { PATH: programDirectories().join(':') },
      stdio: ['ignore', 'ignore', 'ignore', 'ignore', 'pipe', 'ignore', descriptor],
      timeout: PROBE_MS_MAX,
    }).status === 0;
  const answer = filter === null ? run('ignore') : withDescriptor(filter, run);
  found.set(key, answer);
  return answer;
}
