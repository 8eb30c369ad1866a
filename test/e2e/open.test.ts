// `refold open`: the page on an engine, on one session, and on an exported file without any engine.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { brand } from '../../schemas/ids.ts';
import { type EngineClient, connect, must } from '../../src/client/index.ts';
import { readToken, tokenFile } from '../../src/client/token-file.ts';
import { openWith } from '../../src/cli/page/browser.ts';
import { CLI, ROOT, type Started, freshDirectory, jsonLines, refold, start } from '../support/e2e/refold.ts';
import { send } from '../support/engine/raw-http.ts';

const SESSION = brand<'SessionId'>('s-1');
const FIXTURE = join(ROOT, 'replay-fixtures/demo/session.jsonl');

interface PageAddress {
  readonly origin: string;
  readonly port: number;
  readonly code: string;
  readonly session: string | null;
}

function parseAddress(url: unknown): PageAddress {
  const { origin, port, pathname, hash, search } = new URL(String(url));
  expect([pathname, search]).toEqual(['/', '']);
  const fragment = new URLSearchParams(hash.slice(1));
  return { origin, port: Number(port), code: fragment.get('code') ?? '', session: fragment.get('session') };
}

interface PageToken {
  readonly token: string;
  readonly scope: string;
  readonly name: string;
  readonly file?: { readonly name: string; readonly bytes: number };
}

/** Exchanges the code as the page does. */
async function exchange({ origin, port, code }: PageAddress): Promise<PageToken> {
  const headers = { origin, 'sec-fetch-site': 'same-origin', authorization: `Code ${code}` };
  const { status, body } = await send({ port, method: 'POST', path: '/v1/codes/exchange', headers });
  expect(status, `answers ${body}`).toBe(201);
  return JSON.parse(body) as PageToken;
}

const withToken = ({ port }: PageAddress, { token }: PageToken, path: string) =>
  send({ port, path, headers: { authorization: `Bearer ${token}` } });

interface Opened {
  readonly child: ChildProcess;
  /** The next line that it prints. */
  line(): Promise<Readonly<Record<string, unknown>>>;
  /** Asks it to end as Ctrl-C does; returns its exit code. */
  stop(): Promise<unknown>;
}

/** Starts a `refold open` that goes on until it is stopped. */
function startOpen(args: readonly string[], env: NodeJS.ProcessEnv = {}): Opened {
  const child = spawn(process.execPath, [CLI, 'open', ...args, '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    child,
    line: async () => JSON.parse(String((await lines.next()).value)) as Readonly<Record<string, unknown>>,
    stop: async () => {
      child.kill('SIGINT');
      return (await exited)[0];
    },
  };
}

const OPENER = process.platform === 'darwin' ? 'open' : 'xdg-open';

async function plantOpener(directory: string, script: string): Promise<void> {
  await writeFile(join(directory, OPENER), `#!/bin/sh\n${script}\n`);
  await chmod(join(directory, OPENER), 0o755);
}

describe('the program that opens browsers', () => {
  const URL_WITH_CODE = 'http://127.0.0.1:1/#code=x';

  test('gets the address, and finds programs in fixed directories alone', async () => {
    const bin = await freshDirectory();
    await plantOpener(bin, `printf '%s\\n' "$#" "$1" "$PATH" "$PWD" > ${bin}/said`);
    expect(await openWith(URL_WITH_CODE, [bin])).toBe(null);
    expect(await readFile(join(bin, 'said'), 'utf8')).toBe(`1\n${URL_WITH_CODE}\n${bin}\n/\n`);
  });

  test('that fails or is missing is reported', async () => {
    const bin = await freshDirectory();
    expect(await openWith(URL_WITH_CODE, [bin])).toContain(`there is no ${OPENER} in ${bin}`);
    await plantOpener(bin, 'exit 3');
    expect(await openWith(URL_WITH_CODE, [bin])).toBe(`${OPENER} ended with 3`);
  });
});

describe('with an engine', () => {
  let dataDir: string;
  let engine: Started;
  let operator: EngineClient;

  beforeAll(async () => {
    dataDir = await freshDirectory();
    engine = await start(['serve', '--data-dir', dataDir, '--port', '0']);
    operator = connect(String(engine.ready['url']), await readToken(tokenFile(dataDir, 'operator')));
    await must(operator.createSession({ session_id: SESSION }));
  });
  afterAll(async () => {
    await operator.close();
    await engine.kill();
  });

  const open = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await refold(['open', ...args, '--data-dir', dataDir, '--json']);
    return { code, lines: jsonLines(stdout), stdout, stderr };
  };

  test('prints an address that opens all sessions, once, for a token of the scope operator', async () => {
    const { code, lines } = await open('--no-browser');
    expect([code, lines]).toEqual([0, [{ event: 'page', url: expect.any(String), valid_ms: 60_000 }]]);
    const address = parseAddress(lines[0]?.['url']);
    expect(address).toMatchObject({ origin: engine.ready['url'], session: null });
    const token = await exchange(address);
    expect(token.scope).toBe('operator');
    const page = connect(address.origin, token.token);
    expect((await must(page.sessions())).sessions).toHaveLength(1);
    await must(page.createSession({ session_id: brand('s-2') }));
    await page.close();
    await expect(exchange(address)).rejects.toThrow('401');
  });

  test('names one session, and reads only with --read-only', async () => {
    const { lines } = await open(SESSION, '--no-browser', '--read-only');
    const address = parseAddress(lines[0]?.['url']);
    expect(address.session).toBe(SESSION);
    expect((await exchange(address)).scope).toBe('viewer');
  });

  test('refuses a session that does not exist, and a name that is none, and asks for no code', async () => {
    expect(await open('s-9', '--no-browser')).toMatchObject({
      code: 2,
      lines: [{ error: { code: 'unknown_session' } }],
    });
    expect(await open('no/such', '--no-browser')).toMatchObject({
      code: 2,
      lines: [{ error: { code: 'file_unreadable' } }],
    });
    expect(await open('no such', '--no-browser')).toMatchObject({
      code: 2,
      lines: [{ error: { code: 'invalid_shape' } }],
    });
  });

  // The PATH of npx begins with `node_modules/.bin` of the directory, which a model may have made. `BROWSER` keeps the
  // opener of this machine, where it has one, from opening a window.
  test('gives no address to an opener that the PATH names', async () => {
    const bin = await freshDirectory();
    await plantOpener(bin, 'printf "%s" "$1" > "$(dirname "$0")/said"');
    const quiet = { DISPLAY: '', WAYLAND_DISPLAY: '', XDG_CURRENT_DESKTOP: '', BROWSER: 'true' };
    const opened = startOpen(['--data-dir', dataDir], { ...quiet, PATH: `${bin}:${process.env['PATH']}` });
    expect(['opened', 'page']).toContain((await opened.line())['event']);
    expect(await readdir(bin)).toEqual([OPENER]);
  });

  test('is listed by refold token, and ended there', async () => {
    const address = parseAddress((await open('--no-browser')).lines[0]?.['url']);
    const token = await exchange(address);
    const tokens = async (...args: readonly string[]) => {
      const { code, stdout } = await refold(['token', ...args, '--data-dir', dataDir, '--json']);
      return { code, lines: jsonLines(stdout) };
    };
    const listed = (await tokens('list')).lines;
    expect(listed.map(({ name }) => name)).toEqual(expect.arrayContaining(['bridge', 'operator', 'viewer']));
    const id = String(listed.findLast((line) => String(line['id']).startsWith('page.'))?.['id']);
    expect((await withToken(address, token, '/v1')).status).toBe(200);
    expect((await tokens('revoke', id)).code).toBe(0);
    expect((await withToken(address, token, '/v1')).status).toBe(401);
    expect(await tokens('revoke', id)).toMatchObject({ code: 2 });
  });

  test('ends with the operator token that asked for it', async () => {
    const address = parseAddress((await open('--no-browser')).lines[0]?.['url']);
    const token = await exchange(address);
    expect((await refold(['token', 'rotate', 'operator', '--data-dir', dataDir])).code).toBe(0);
    expect((await withToken(address, token, '/v1')).status).toBe(401);
  });
});

describe('without an engine', () => {
  test('starts one, and stops it at Ctrl-C', async () => {
    const dataDir = await freshDirectory();
    const engine = await start(['serve', '--data-dir', dataDir, '--port', '0']);
    engine.process.kill('SIGTERM');
    await once(engine.process, 'exit');
    const opened = startOpen(['--no-browser', '--data-dir', dataDir]);
    const address = parseAddress((await opened.line())['url']);
    const token = await exchange(address);
    expect((await withToken(address, token, '/v1/sessions')).status).toBe(200);
    expect(await opened.stop()).toBe(0);
    expect(await opened.line()).toEqual({ event: 'stopped', what: 'engine' });
    await expect(withToken(address, token, '/v1')).rejects.toThrow('ECONNREFUSED');
  });

  test('creates no data directory', async () => {
    const dataDir = join(await freshDirectory(), 'none');
    const { code, stdout } = await refold(['open', '--no-browser', '--data-dir', dataDir, '--json']);
    expect([code, jsonLines(stdout)]).toMatchObject([2, [{ error: { code: 'no_data_dir' } }]]);
    expect(existsSync(dataDir)).toBe(false);
  });
});

describe('on a file', () => {
  test('serves it to the page alone, until Ctrl-C, and needs no data directory', async () => {
    const dataDir = join(await freshDirectory(), 'none');
    const opened = startOpen([FIXTURE, '--no-browser', '--data-dir', dataDir]);
    const address = parseAddress((await opened.line())['url']);
    const content = await readFile(FIXTURE, 'utf8');
    expect((await send({ port: address.port, path: '/v1/file' })).status).toBe(401);
    const token = await exchange(address);
    expect(token).toMatchObject({
      scope: 'viewer',
      file: { name: 'session.jsonl', bytes: Buffer.byteLength(content) },
    });
    const { status, body, headers } = await withToken(address, token, '/v1/file');
    expect([status, body === content]).toEqual([200, true]);
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
    // Nothing of an engine is there, and no other page or host gets anything.
    expect((await withToken(address, token, '/v1/sessions')).status).toBe(404);
    for (const more of [{ origin: 'https://evil.example' }, { host: 'evil.example' }]) {
      const given = { ...more, authorization: `Bearer ${token.token}` };
      expect((await send({ port: address.port, path: '/v1/file', headers: given })).status).toBe(403);
    }
    expect(await opened.stop()).toBe(0);
    expect(await opened.line()).toEqual({ event: 'stopped', what: 'file' });
    await expect(withToken(address, token, '/v1/file')).rejects.toThrow('ECONNREFUSED');
    expect(existsSync(dataDir)).toBe(false);
  });

  test('serves an empty one, and what a file had when it was opened', async () => {
    const file = join(await freshDirectory(), 'growing.jsonl');
    for (const [text, more] of [
      ['', ''],
      ['one\n', 'two\n'],
    ] as const) {
      await writeFile(file, text);
      const opened = startOpen([file, '--no-browser']);
      const address = parseAddress((await opened.line())['url']);
      const token = await exchange(address);
      await writeFile(file, text + more);
      expect(await withToken(address, token, '/v1/file')).toMatchObject({ status: 200, body: text });
      expect(await opened.stop()).toBe(0);
    }
  });

  test('refuses what is no file', async () => {
    const { code, stdout } = await refold(['open', ROOT, '--no-browser', '--json']);
    expect([code, jsonLines(stdout)]).toMatchObject([2, [{ error: { code: 'file_unreadable' } }]]);
  });
});

test('refold serve says where the page is, and what opens it', async () => {
  const args = [CLI, 'serve', '--data-dir', await freshDirectory(), '--port', '0'];
  const engine = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines: string[] = [];
  for await (const line of createInterface({ input: engine.stdout })) {
    lines.push(line);
    if (line.startsWith('page')) engine.kill('SIGTERM');
  }
  expect(lines.join('\n')).toMatch(/^engine (http:\S+) .*\npage +\1\/ .*refold open/);
});

test('the page as it is built has at most 150 KB gzipped, and names nothing that the server does not serve', async () => {
  const directory = join(ROOT, 'dist/inspector');
  const names = (await readdir(directory)).filter((name) => name !== 'licenses.txt');
  const served = ['index.html', 'page.js', 'styles.css', 'worker.js'];
  expect(names).toEqual(served.filter((name) => names.includes(name)));
  expect(names).toEqual(expect.arrayContaining(['index.html', 'page.js']));
  const files = await Promise.all(names.map((name) => readFile(join(directory, name))));
  const gzipped = files.reduce((sum, bytes) => sum + gzipSync(bytes, { level: 9 }).length, 0);
  expect(gzipped).toBeLessThanOrEqual(150_000);
  const page = await readFile(join(directory, 'index.html'), 'utf8');
  for (const [, path = ''] of page.matchAll(/(?:src|href)="([^"]*)"/g)) expect(names).toContain(path.slice(1));
  // The headers of the page refuse scripts and styles in the document.
  expect(page).not.toMatch(/<script(?![^>]* src=)|<style| style=| on\w+=/);
});
