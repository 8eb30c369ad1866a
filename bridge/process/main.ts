// The entry point of a bridge process. It writes JSON Lines to standard output, and nothing else.
import { randomUUID } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { EngineClient } from '../../src/client/client.ts';
import type { Connection } from '../../src/client/frames/over-frames.ts';
import { refuseStranger } from '../../src/files/listening-user.ts';
import { readToken } from '../../src/client/token-file.ts';
import { type OwnerId, brand } from '../../schemas/ids.ts';
import { systemClock } from '../../src/clock.ts';
import { connectEngine } from '../engine-link/connect-engine.ts';
import { withCatalog } from '../executors/catalog-executor.ts';
import { withChangingTools } from '../executors/changing-tools.ts';
import { type Executor, type Executors, combineExecutors } from '../executors/executors.ts';
import { hostExecutor } from '../executors/host-executor.ts';
import type { Skills } from '../toolsets/open-skills.ts';
import { SandboxRefused } from '../host/exec/sandbox.ts';
import { userFilesIn } from '../host/workspace/user-files.ts';
import { type Host, openHost } from '../host/open-host.ts';
import { closeDescriptors, inheritedDescriptors } from '../../src/files/inherited-descriptors.ts';
import { type BridgeLedger, noBridgeLedger } from '../ledger/bridge-ledger.ts';
import { openFileLedger } from '../ledger/file-ledger.ts';
import { RECORDING_BYTES_MAX } from '../../schemas/limits.ts';
import { cassetteHeadOf } from '../../src/files/cassette.ts';
import { MODEL_SERVERS, type ModelServerName } from '../../src/files/model-servers.ts';
import { codeOf, reasonOf, storageCode, whatFailed } from '../../src/files/file-failure.ts';
import { secretVariables } from '../../src/files/secret-variables.ts';
import { visible } from '../../src/shown/visible.ts';
import { runBridge } from '../loop.ts';
import type { Mcp } from '../mcp/mcp-executor.ts';
import { type MainOptions, Misuse, USAGE, parseSecrets, readFirstLine, readOptions } from './options.ts';
import { mcpSettings } from './mcp-settings.ts';
import { dataDirectoryOf, protectedPaths, refuseMissing } from './protected-paths.ts';
import { apiProvider } from '../providers/api/api-provider.ts';
import { type CassetteFile, openCassetteFile } from '../providers/cassette/cassette-file.ts';
import { cassetteProvider } from '../providers/cassette/cassette-provider.ts';
import type { Provider } from '../providers/provider.ts';
import { recordedProvider } from '../providers/recorded.ts';
import { type KnownSecret, secretsOfUrl, shortSecretNotes } from '../secrets/known-secrets.ts';
import { createRedactor } from '../secrets/redactor.ts';

type Secrets = Readonly<Record<string, string>>;

/** Replaces what is known so far in everything that this process prints. */
let redactor = createRedactor([]);

async function main(): Promise<void> {
  const inherited = inheritedDescriptors();
  const options = readOptions(process.argv.slice(2), process.env);
  refuseMissing(options);
  const secrets = await readSecrets(options);
  const known = [...knownSecrets(secrets), ...secretsOfUrl(options.baseUrl, '--base-url')];
  redactor = createRedactor(known.map(({ value }) => value));
  const stop = new AbortController();
  abortOnExit(stop, options);
  const cassette = options.record === undefined ? null : await openCassette(options.record);
  const provider = await openProvider(options, secrets, cassette);
  const token = await orMisuse(options.tokenFile, readToken(options.tokenFile));
  known.push({ source: `the token in ${options.tokenFile}`, value: token });
  const values = known.map(({ value }) => value);
  redactor = createRedactor(values);
  const notes = shortSecretNotes(known);
  for (const note of notes) complain(note);
  // Only now: a file named on the command line may be one of them (/dev/fd/63).
  closeDescriptors(inherited);
  const owner = options.owner ?? brand<'OwnerId'>(`bridge-${process.pid}-${randomUUID().slice(0, 8)}`);
  // Before the host, which protects the directory of the ledger.
  const ledger = await openLedger(options, owner);
  const host = await openHost({
    workspace: options.workspace,
    protect: protectedPaths(options),
    workspaceName: options.workspaceName,
    sandbox: options.sandbox,
    now: () => systemClock.now(),
    secrets: values,
    runsCommands: !options.undoOnly,
    ...(options.stateDir === undefined ? {} : { stateDir: options.stateDir }),
  });
  const { client, said } = await connectTo(options, token);
  if (host.commandsShareUser) complain(`sandbox ${host.sandboxNote}`);
  const { sandbox, sandboxNote: sandbox_note, commandsShareUser: shares_user, workspaceName: workspace } = host;
  for (const note of host.recoveryNotes) complain(note);
  if (userFilesIn(host.place.workspace ?? '/').length > 0) complain(HOME_NOTE);
  const all = [...notes, ...host.recoveryNotes];
  const told = all.length === 0 ? {} : { notes: all };
  print({ event: 'ready', owner, sandbox, sandbox_note, shares_user, workspace, pid: process.pid, ...said, ...told });
  if (host.gitQuarantined.length > 0) print({ event: 'git_quarantined', moved: host.gitQuarantined });
  const skills = await openBridgeSkills(options);
  const own = [hostExecutor(host), ...(skills === null ? [] : [skills.executor(host)])];
  const mcp = await openServers(options, secrets);
  try {
    await runBridge({
      client,
      ...executorsOf(combineExecutors(withCatalog(own)), mcp, skills),
      provider,
      ledger,
      clock: systemClock,
      random: Math.random,
      log: print,
      secrets: values,
      signal: stop.signal,
      ...settingsOf(options, owner),
    });
  } finally {
    await skills?.source.close();
    await mcp?.close();
    await cassette?.close();
    await ledger.close();
    await host.close();
    await client.close();
  }
}

interface SaidConnection {
  readonly connection: Connection | 'none';
  /** What speaks against a better one. */
  readonly connection_note?: string;
}

/** The client, and how it is connected first; later changes are printed. */
async function connectTo(
  { url, tokenFile }: MainOptions,
  token: string,
): Promise<{ readonly client: EngineClient; readonly said: SaidConnection }> {
  let said: SaidConnection = { connection: 'none' };
  let isReady = false;
  const connected = connectEngine({
    url,
    token,
    dataDir: dataDirectoryOf(tokenFile),
    refuseListener: refuseStranger(url, tokenFile),
    onConnection: (connection, why) => {
      said = { connection, ...(why === null ? {} : { connection_note: why }) };
      if (isReady) print({ event: 'connected', ...said });
    },
  });
  await connected.ready();
  isReady = true;
  return { client: connected.client, said };
}

/** Null without a directory of skills: nothing is read or watched then, and no YAML reader is loaded. */
async function openBridgeSkills({ skills, skillsTrust, undoOnly }: MainOptions): Promise<BridgeSkills | null> {
  if (skills.length === 0 || undoOnly) return null;
  const { openSkills } = await import('../toolsets/open-skills.ts');
  const { skillExecutor } = await import('../executors/skill-executor.ts');
  const source = await openSkills({
    directories: skills,
    trust: skillsTrust === 'first' ? 'first' : null,
    clock: systemClock,
    onFaults: (faults) => {
      print({ event: 'skill_faults', faults });
      for (const { file, at, message } of faults) complain(visible(`skill left out: ${file}${at} ${message}`));
    },
  });
  return { source, executor: (host) => skillExecutor({ skills: source, host }) };
}

interface BridgeSkills {
  readonly source: Skills;
  readonly executor: (host: Host) => Executor;
}

const settingsOf = ({ concurrency, sessions, undoOnly, provider, keepResponses }: MainOptions, owner: OwnerId) => ({
  owner,
  undoOnly,
  toolsOnly: provider === 'none',
  keepResponses,
  ...(concurrency === undefined ? {} : { concurrency }),
  ...(sessions === undefined ? {} : { sessions }),
});

/** The servers of the configuration, which start at once; their code is loaded with the first of them. */
async function openServers(options: MainOptions, secrets: Secrets): Promise<Mcp | null> {
  const settings = mcpSettings(options);
  if (settings === null) return null;
  const { openMcp } = await import('../mcp/mcp-executor.ts');
  return await openMcp({
    ...settings,
    variables: { ...process.env, ...secrets },
    hidden: protectedPaths(options).map((path) => resolve(path)),
    clock: systemClock,
    random: Math.random,
    log: print,
  });
}

const executorsOf = (own: Executors, mcp: Mcp | null, skills: BridgeSkills | null) => ({
  executors: mcp === null ? own : withChangingTools(own, mcp.executor),
  toolsets: [...(skills === null ? [] : [skills.source]), ...(mcp === null ? [] : [mcp.toolsets])],
});

const HOME_NOTE =
  'the workspace contains your home directory: tools may read and change most of what is there. Prefer the directory of a project';

async function openLedger({ stateDir }: MainOptions, owner: OwnerId): Promise<BridgeLedger> {
  return stateDir === undefined ? noBridgeLedger : await openFileLedger(stateDir, owner);
}

/**
 * Reads the secrets from the environment and standard input. Those in the environment are removed, so that no child inherits
 * them; /proc/<pid>/environ still shows them to other processes of the user, which `--secrets-stdin` avoids.
 */
async function readSecrets({ secretsStdin }: MainOptions): Promise<Secrets> {
  const variables = secretVariables(process.env);
  for (const name of Object.keys(variables)) delete process.env[name];
  return secretsStdin ? { ...variables, ...parseSecrets(await readFirstLine(process.stdin)) } : variables;
}

const knownSecrets = (secrets: Secrets): KnownSecret[] =>
  Object.entries(secrets).map(([source, value]) => ({ source, value }));

function abortOnExit(stop: AbortController, { exitWithParent }: MainOptions): void {
  const abort = (): void => stop.abort();
  process.once('SIGTERM', abort);
  process.once('SIGINT', abort);
  // A parent that has exited no longer reads standard output; that must stop the bridge, not crash it.
  process.stdout.on('error', abort);
  if (!exitWithParent) return;
  process.stdin.once('end', abort);
  process.stdin.once('error', abort);
  if (process.stdin.readableEnded) abort();
  else process.stdin.resume();
}

async function openProvider(options: MainOptions, secrets: Secrets, cassette: CassetteFile | null): Promise<Provider> {
  if (options.provider === 'none') return noProvider;
  if (options.provider === 'recorded') return await openRecording(options.recording ?? '');
  const apiKey = keyOf(options.api, secrets);
  return apiProvider({
    api: options.api,
    baseUrl: options.baseUrl,
    clock: systemClock,
    ...(cassette === null ? {} : { onExchange: (exchange) => cassette.add(exchange) }),
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(options.model === undefined ? {} : { model: options.model }),
    ...(options.fallbackModel === undefined ? {} : { fallbackModel: options.fallbackModel }),
  });
}

const keyOf = (api: ModelServerName, secrets: Secrets): string | undefined =>
  MODEL_SERVERS[api].keyVariables.map((name) => secrets[name]?.trim()).find((key) => key !== undefined && key !== '');

const noProvider: Provider = {
  generate: () => Promise.reject(new Error('this bridge has no model provider')),
};

async function openRecording(path: string): Promise<Provider> {
  const { size } = await orMisuse(path, stat(path));
  if (size > RECORDING_BYTES_MAX) throw new Misuse(`${path} is larger than ${RECORDING_BYTES_MAX} bytes`);
  const text = await orMisuse(path, readFile(path, 'utf8'));
  return cassetteHeadOf(text) === null ? recordedProvider(text) : cassetteProvider(text, { clock: systemClock });
}

const openCassette = (path: string): Promise<CassetteFile> =>
  orMisuse(
    path,
    openCassetteFile(path, () => redactor),
  );

/** A file that cannot be read is a misuse of the command line. */
const orMisuse = <T>(path: string, reading: Promise<T>): Promise<T> =>
  reading.catch((error: unknown) => {
    throw new Misuse(`cannot read ${path}: ${reasonOf(error)}`);
  });

function print(line: object): void {
  process.stdout.write(`${redactor.text(JSON.stringify({ at_ms: systemClock.now(), ...line }))}\n`);
}

const isFull = (error: unknown): boolean => storageCode(codeOf(error) ?? '') === 'storage_full';

/** For people; standard output is for programs. */
function complain(text: string): void {
  process.stderr.write(`bridge: ${redactor.text(text)}\n`);
}

// Exits explicitly, because calls that ignore their signal would keep the process alive.
try {
  await main();
  process.exit(0);
} catch (error) {
  const misuse = error instanceof Misuse;
  const message = `${whatFailed(error)}${isFull(error) ? '. Free some space, then start it again' : ''}`;
  print({ event: 'failed', message, ...(error instanceof SandboxRefused ? { code: 'sandbox_refused' } : {}) });
  complain(misuse ? `${message}\n\n${USAGE.trimEnd()}` : message);
  process.exit(misuse ? 2 : 1);
}
