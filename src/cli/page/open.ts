// `refold open`: the page that shows sessions, in a browser. It gets its token for a code that stands in the fragment of its
// address, which browsers send to no server.
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import { paint } from '../../shown/paint.ts';
import { TokenName } from '../../../schemas/access.ts';
import type { SessionId } from '../../../schemas/ids.ts';
import { CODE_MS_MAX } from '../../../schemas/limits.ts';
import { connect } from '../../client/http-client.ts';
import { must, mustBe } from '../../client/must.ts';
import { readToken, tokenFile } from '../../client/token-file.ts';
import { refuseStranger } from '../../files/listening-user.ts';
import { serveFile } from '../../server/serve-file.ts';
import { openInBrowser } from './browser.ts';
import { requireData } from '../data-dir.ts';
import { findEngine } from '../engine-address.ts';
import { cannotRead } from '../files.ts';
import type { Output } from '../output.ts';
import { askCode } from './page-tokens.ts';
import { userName } from '../people/user-name.ts';
import { startEngineProcess } from '../processes.ts';
import { sourceNameOf } from '../source-name.ts';
import { stopRequest } from '../until-stopped.ts';

export interface OpenCommand {
  readonly dataDir: string;
  /** A session, or an exported file; without it, all sessions. */
  readonly name?: string;
  readonly readOnly: boolean;
  /** Without it, the address is printed. */
  readonly browser: boolean;
}

export async function openCommand(command: OpenCommand, output: Output): Promise<number> {
  const { dataDir, name } = command;
  const named = name === undefined ? null : sourceNameOf(name, output);
  if (named?.kind === 'file') return await openFile(named.path, command, output);
  const session = named === null ? null : named.id;
  const running = await findEngine(dataDir);
  if (running !== null) {
    await running.client.close();
    await openSessions(running.url, session, command, output);
    return 0;
  }
  await requireData(dataDir);
  const stop = stopRequest(false);
  const started = await startEngineProcess(dataDir, 0);
  try {
    await openSessions(String(started.ready['url']), session, command, output);
    output.line('No engine was running, so one was started for the page. Ctrl-C stops it.');
    await Promise.race([stop.asked, ended(started.process)]);
  } finally {
    await started.stop();
  }
  sayStopped('engine', 'The engine was stopped: the page shows what it has read, and gets nothing new.', output);
  return 0;
}

/** Opens the page on an engine: all its sessions, or one. */
async function openSessions(
  url: string,
  session: SessionId | null,
  { dataDir, readOnly, browser }: OpenCommand,
  output: Output,
): Promise<void> {
  if (session !== null) {
    output.line(`session ${session}`);
    const operator = tokenFile(dataDir, 'operator');
    const client = connect(url, await readToken(operator), { refuseListener: refuseStranger(url, operator) });
    await must(client.session(session)).finally(() => client.close());
  }
  const name = userName();
  const scope = readOnly ? 'viewer' : 'operator';
  const code = await askCode(dataDir, url, { scope, ...(TokenName.is(name) ? { name } : {}) });
  await show({ url, fragment: `code=${code}${session === null ? '' : `&session=${session}`}` }, browser, output);
}

/** Serves one file to the page, until it is stopped. */
async function openFile(path: string, { browser }: OpenCommand, output: Output): Promise<number> {
  const unreadable = (error: unknown): never => {
    throw cannotRead(path, error);
  };
  const handle = await open(path).catch(unreadable);
  const stats = await handle.stat();
  if (!stats.isFile()) {
    await handle.close();
    unreadable(new Error('it is not a regular file'));
  }
  const stop = stopRequest(false);
  const serving = await serveFile({ name: basename(path), bytes: stats.size, handle });
  try {
    await show({ url: serving.url, fragment: `code=${mustBe(serving.newCode())}` }, browser, output);
    output.line(`file ${path} is served to the page alone, until Ctrl-C.`);
    await stop.asked;
  } finally {
    await serving.close();
    await handle.close();
  }
  sayStopped('file', `Stopped: file ${path} is not served any more. The page keeps what it has read.`, output);
  return 0;
}

interface Address {
  readonly url: string;
  readonly fragment: string;
}

async function show({ url, fragment }: Address, browser: boolean, output: Output): Promise<void> {
  const page = `${reachable(url)}/`;
  const whole = `${page}#${fragment}`;
  const failed = browser ? await openInBrowser(whole) : null;
  if (browser && failed === null) {
    output.object({ event: 'opened', url: page });
    output.line(`opened ${paint.bold(page)} in the browser; if it did not come up: refold open --no-browser`);
    return;
  }
  if (failed !== null) output.warn(`no browser could be opened: ${failed}`);
  output.object({ event: 'page', url: whole, valid_ms: CODE_MS_MAX });
  output.line(whole);
  output.line(paint.dim(`Open this address within ${CODE_MS_MAX / 1_000} seconds. It opens one page, once.`));
}

/** An engine that listens on all addresses is reached over loopback: elsewhere browsers do not say which page asks. */
const reachable = (url: string): string => url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');

function sayStopped(what: 'engine' | 'file', text: string, output: Output): void {
  output.object({ event: 'stopped', what });
  output.line(text);
}

const ended = (child: { once(event: 'exit', then: () => void): unknown }): Promise<void> =>
  new Promise((resolve) => child.once('exit', () => resolve()));
