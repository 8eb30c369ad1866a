// An engine, a bridge with MCP servers, and a model whose turns the test writes: each a process that may be killed.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type EngineClient, connect, must } from 'refold/client';
import { COMPAT } from '../support/consumer.ts';
import { type PromptedCall, type PromptedModel, openPromptedModel, promptOf } from './model.ts';

const REFOLD = join(COMPAT, 'node_modules/refold/dist');
const LEASE_TTL_MS = 1_500;

type Role = 'engine' | 'bridge';

interface Running {
  readonly child: ChildProcess;
  readonly exited: Promise<unknown>;
}

export interface McpWorld {
  readonly client: EngineClient;
  readonly model: PromptedModel;
  readonly dataDir: string;
  /** Where the bridge and its servers run. */
  readonly workspace: string;
  /** Creates a session that allows every call, and starts a run in which the model makes these calls, turn by turn. */
  readonly begin: (session: string, turns: readonly (readonly PromptedCall[])[]) => Promise<void>;
  /** Resolves when the session has no run any more. */
  readonly idle: (session: string) => Promise<void>;
  /** Kills processes at the same moment, and starts them again. */
  readonly killed: (roles: readonly Role[]) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** `servers`: the entries of the file `mcpServers`, given the workspace. */
export async function openMcpWorld(servers: (workspace: string) => object): Promise<McpWorld> {
  const home = await mkdtemp(join(tmpdir(), 'refold-mcp-'));
  const dataDir = join(home, 'data');
  const workspace = join(await realpath(home), 'workspace');
  await mkdir(workspace);
  const config = join(home, 'mcp.json');
  await writeFile(config, JSON.stringify({ mcpServers: servers(workspace) }));
  const model = await openPromptedModel();
  const running = new Map<Role, Running>();
  let port = 0;

  async function start(role: Role): Promise<void> {
    const args =
      role === 'engine'
        ? engineArguments(dataDir, port)
        : bridgeArguments({ dataDir, workspace, config, url: url(), model: model.url });
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = once(child, 'exit');
    running.set(role, { child, exited });
    const ready = await new Promise<{ readonly url?: string }>((resolve, fail) => {
      createInterface({ input: child.stdout }).once('line', (line) => resolve(JSON.parse(line) as { url?: string }));
      child.once('exit', (code) => fail(new Error(`the ${role} ended with ${code}`)));
    });
    if (role === 'engine') port = Number(new URL(String(ready.url)).port);
  }

  const url = (): string => `http://127.0.0.1:${port}`;

  async function stop(roles: readonly Role[]): Promise<void> {
    for (const role of roles) running.get(role)?.child.kill('SIGKILL');
    for (const role of roles) await running.get(role)?.exited;
  }

  await start('engine');
  await start('bridge');
  const token = (await readFile(join(dataDir, 'tokens', 'operator'), 'utf8')).trim();
  const client = connect(url(), token);
  return {
    client,
    model,
    dataDir,
    workspace,
    async begin(session, turns) {
      const config_ = { provider: 'openai', model: 'test', host_session_open: true };
      const modes = {
        read: 'allow',
        safe_write: 'allow',
        destructive: 'allow',
        local: 'allow',
        external: 'allow',
      } as const;
      await must(
        client.createSession({ session_id: session as never, config: config_, consent: { modes, tools: {} } }),
      );
      const input = { text: promptOf(session, turns) };
      await must(client.submit(session as never, { events: [{ kind: 'RunRequested', input }] }));
    },
    async idle(session) {
      for (;;) {
        const found = await client.session(session as never)();
        // The engine may be away: it is killed at any moment.
        if (found._tag === 'Left') continue;
        if (found.right.state.run === null) return;
        for await (const _ of client.follow(session as never, { from: found.right.state.version })) break;
      }
    },
    async killed(roles) {
      await stop(roles);
      for (const role of roles) await start(role);
    },
    async close() {
      await stop(['bridge', 'engine']);
      await client.close();
      await model.close();
      await rm(home, { recursive: true, force: true });
    },
  };
}

const engineArguments = (dataDir: string, port: number): readonly string[] => [
  join(REFOLD, 'src/cli/main.js'),
  'serve',
  '--json',
  ...['--data-dir', dataDir],
  ...['--port', String(port)],
  ...['--lease-ttl', String(LEASE_TTL_MS)],
];

interface BridgePlaces {
  readonly dataDir: string;
  readonly workspace: string;
  readonly config: string;
  readonly url: string;
  readonly model: string;
}

const bridgeArguments = ({ dataDir, workspace, config, url, model }: BridgePlaces): readonly string[] => [
  join(REFOLD, 'bridge/process/main.js'),
  ...['--url', url],
  ...['--workspace', workspace],
  ...['--token-file', join(dataDir, 'tokens', 'bridge')],
  ...['--state-dir', join(dataDir, 'bridges')],
  ...['--provider', 'api'],
  ...['--base-url', model],
  ...['--model', 'test'],
  ...['--sandbox', 'none'],
  ...['--mcp-config', config],
];
