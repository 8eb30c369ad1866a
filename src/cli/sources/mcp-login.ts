// `refold mcp login` and `logout`: a person signs in at a server over HTTP, in a process of the bridge, which has the tokens. The
// address to visit is shown, never opened; where the browser runs on another machine, the person gives the address that it ends at.
import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { isSecretName, secretVariables } from '../../files/secret-variables.ts';
import { paint } from '../../shown/paint.ts';
import { visible } from '../../shown/visible.ts';
import { CommandFailure, type Output } from '../output.ts';

const LOGIN = fileURLToPath(new URL('../../../bridge/process/mcp-login.js', import.meta.url));

export interface LoginCommand {
  readonly action: 'login' | 'logout';
  readonly dataDir: string;
  /** The configuration; `mcp.json` in the data directory when absent. */
  readonly file?: string;
  readonly server: string;
  /** What to ask for beside what the server asks for. */
  readonly scope?: string;
}

export async function mcpLoginCommand(
  { action, dataDir, file, server, scope }: LoginCommand,
  output: Output,
  input: NodeJS.ReadableStream = process.stdin,
): Promise<number> {
  const args = [
    '--mcp-config',
    resolve(file ?? join(dataDir, 'mcp.json')),
    '--server',
    server,
    '--logins',
    join(dataDir, 'mcp-logins'),
    ...(scope === undefined ? [] : ['--scope', scope]),
    ...(action === 'logout' ? ['--logout'] : []),
  ];
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !isSecretName(name)));
  const child = spawn(process.execPath, [LOGIN, ...args], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.on('error', () => undefined);
  child.stdin.write(`${JSON.stringify(secretVariables(process.env))}\n`);
  const given = createInterface({ input });
  given.on('line', (line) => void child.stdin.write(`${line}\n`));
  const ended = new Promise<void>((done, fail) => {
    child.once('error', fail);
    child.once('close', () => done());
  });
  let last: Said = {};
  createInterface({ input: child.stdout }).on('line', (line) => {
    last = JSON.parse(line) as Said;
    tell(last, server, output);
  });
  try {
    await ended;
  } finally {
    given.close();
    // A terminal that is still read keeps this process alive.
    input.pause();
  }
  if (last.event !== 'done') throw new CommandFailure('login_failed', visible(last.message ?? 'the login ended'));
  output.object({ event: action === 'login' ? 'mcp_login' : 'mcp_logout', server, ...withoutEvent(last) });
  output.line(ENDS[action](last, paint.bold(visible(server))));
  return 0;
}

/** A line of the process. */
interface Said {
  readonly event?: 'address' | 'not_taken' | 'done' | 'failed';
  readonly message?: string;
  readonly address?: string;
  readonly redirect_uri?: string;
  readonly needed?: boolean;
  readonly removed?: boolean;
}

function tell({ event, message = '', address = '', redirect_uri = '' }: Said, server: string, output: Output): void {
  if (event === 'not_taken') output.line(paint.yellow(visible(message)));
  if (event !== 'address') return;
  output.object({ event: 'mcp_login_address', server, address, redirect_uri });
  output.line(
    `To sign in at ${paint.bold(visible(server))}, open this address in a browser:\n\n  ${visible(address)}\n`,
  );
  output.line(`If the browser cannot show the page at its end, give the address of that page here: ${redirect_uri}?…`);
}

const withoutEvent = ({ needed, removed }: Said): object => ({
  ...(needed === undefined ? {} : { needed }),
  ...(removed === undefined ? {} : { removed }),
});

const ENDS = {
  login: ({ needed }: Said, server: string) =>
    needed === true
      ? `signed in at ${server}; bridges use the login within a minute. To forget it: refold mcp logout`
      : `${server} wants no login`,
  logout: ({ removed }: Said, server: string) =>
    removed === true ? `the login at ${server} is removed here; it may still be valid there` : `no login at ${server}`,
} as const;
