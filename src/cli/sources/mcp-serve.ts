// `refold mcp serve`: an MCP server on standard input and output, over one session. Standard output holds nothing but messages.
import { randomUUID } from 'node:crypto';
import { digestText } from '../../../schemas/canonical.ts';
import { type SessionId, makeSessionId } from '../../../schemas/ids.ts';
import { HOST_FLUSH_MS } from '../../../schemas/limits.ts';
import { connect } from '../../client/http-client.ts';
import { must } from '../../client/must.ts';
import { readToken, tokenFile } from '../../client/token-file.ts';
import { systemClock } from '../../clock.ts';
import { refuseStranger } from '../../files/listening-user.ts';
import { visible } from '../../shown/visible.ts';
import { CONSENT_PRESETS, type ConsentPreset } from '../../toolsets/consent-presets.ts';
import { bridgeStateDir, makeDataDir, ownDirectories } from '../data-dir.ts';
import { findEngine } from '../engine-address.ts';
import { type KeptChild, keepGoing } from '../keep-going.ts';
import { type Child, startBridgeProcess, startEngineProcess } from '../processes.ts';
import { stopRequest } from '../until-stopped.ts';

export interface McpServeCommand {
  readonly dataDir: string;
  /** `--data-dir DIR` in commands for people, when it is not the usual one; empty otherwise. */
  readonly place: string;
  /** The session to go on with; a new one when absent. */
  readonly session?: SessionId;
  readonly workspace: string;
  readonly sandbox: string;
  /** The policy of a new session; the default one when absent. */
  readonly policy?: ConsentPreset;
  readonly hostAnswers: boolean;
  /** Runs the calls itself; otherwise another bridge must. */
  readonly bridge: boolean;
}

export async function mcpServeCommand(command: McpServeCommand): Promise<number> {
  // Loaded here only: no other command needs the protocol.
  const [{ openMcpHost }, { serveHost }] = await Promise.all([
    import('../../mcp/host.ts'),
    import('../../mcp/serve-host.ts'),
  ]);
  const { dataDir, policy, place, hostAnswers } = command;
  const stop = new AbortController();
  const { asked } = stopRequest(false);
  void asked.then(() => stop.abort());
  const started: Child[] = [];
  try {
    const url = await engineFor(dataDir, started);
    const operator = tokenFile(dataDir, 'operator');
    const token = await readToken(operator);
    const client = connect(url, token, { refuseListener: refuseStranger(url, operator) });
    const session = command.session ?? makeSessionId(Date.now(), randomUUID());
    // Looked up before a bridge starts, which would wait for a session that does not exist.
    if (command.session !== undefined) await must(client.session(session));
    if (command.bridge) started.push(await startBridge(command, url, session));
    const create = { session_id: session, ...(policy === undefined ? {} : { consent: CONSENT_PRESETS[policy] }) };
    const named = command.session === undefined ? { create } : { session };
    const host = await openMcpHost({ client, clock: systemClock, ...named });
    tell(`session ${session}, data ${dataDir}`);
    const serving = { host, clock: systemClock, key: digestText(`refold mcp serve\n${token}`), hostAnswers, place };
    const onError = (error: Error): void => tell(error.message);
    await serveHost({ ...serving, onError }, { input: process.stdin, output: process.stdout }, stop.signal);
    host.close();
    await client.close();
    return 0;
  } finally {
    for (const child of started.reverse()) await child.stop();
    // What the host has not read yet would keep this process for as long as the host does not read it.
    setTimeout(() => process.exit(), HOST_FLUSH_MS).unref();
  }
}

/** The address of the engine: the running one, or one that ends with this process. */
async function engineFor(dataDir: string, started: Child[]): Promise<string> {
  const running = await findEngine(dataDir);
  if (running !== null) {
    await running.client.close();
    return running.url;
  }
  await makeDataDir(dataDir);
  const portOf = (before: Child): number => Number(new URL(String(before.ready['url'])).port);
  // A restart uses the same port, so that the bridge and this process find the engine again.
  const engine = await keepGoing(
    (before) => startEngineProcess(dataDir, before === null ? 0 : portOf(before)),
    (problem) => tell(`the engine ended unexpectedly; ${problem ?? 'restarting it'}`),
  );
  started.push(engine);
  return String(engine.ready['url']);
}

function startBridge(
  { dataDir, workspace, sandbox }: McpServeCommand,
  url: string,
  session: SessionId,
): Promise<KeptChild> {
  const args = ['--session', session, '--sandbox', sandbox, '--provider', 'none'];
  const stateDir = bridgeStateDir(dataDir);
  const protect = ownDirectories(dataDir);
  const options = { url, tokenFile: tokenFile(dataDir, 'bridge'), workspace, stateDir, protect, args };
  return keepGoing(
    () => startBridgeProcess(options),
    (problem) => tell(`the bridge ended unexpectedly; ${problem ?? 'restarting it'}`),
  );
}

/** For people; standard output is for the host. */
const tell = (text: string): void => void process.stderr.write(`refold: ${visible(text)}\n`);
