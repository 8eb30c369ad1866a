// The files of the page: who gets them, with which headers, and what says that they were not built.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Engine } from '../../src/engine/engine.ts';
import type { Serving } from '../../src/server/listen.ts';
import { newPageFiles } from '../../src/server/page-files.ts';
import { serve } from '../../src/server/serve.ts';
import { fixedTokens } from '../../src/server/tokens.ts';
import { send } from '../support/engine/raw-http.ts';
import { newWorld } from '../support/engine/world.ts';

const FILES = { 'index.html': '<!doctype html>\n', 'page.js': '1;\n', 'worker.js': '2;\n', 'styles.css': 'p{}\n' };
const TYPES = {
  '/': 'text/html; charset=utf-8',
  '/page.js': 'text/javascript; charset=utf-8',
  '/worker.js': 'text/javascript; charset=utf-8',
  '/styles.css': 'text/css; charset=utf-8',
};

let directory: string;
let engine: Engine;
let serving: Serving;
const port = (): number => Number(new URL(serving.url).port);

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'refold-page-'));
  for (const [name, text] of Object.entries(FILES)) await writeFile(join(directory, name), text);
  ({ engine } = await newWorld());
  const tokens = fixedTokens({ operator: 'operator-token' });
  serving = await serve(engine.client, { tokens, port: 0, pageDirectory: directory });
});
afterAll(async () => {
  await serving.close();
  await engine.close();
  await rm(directory, { recursive: true, force: true });
});

test.each(Object.entries(TYPES))(
  '%s is served without a token, as %s, and may only use this server',
  async (path, type) => {
    const { status, headers, body } = await send({ port: port(), path });
    expect(status).toBe(200);
    expect(body).toBe(FILES[path === '/' ? 'index.html' : (path.slice(1) as keyof typeof FILES)]);
    expect(headers).toMatchObject({
      'content-type': type,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    });
    const policy = String(headers['content-security-policy']).split('; ');
    expect(policy).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "worker-src 'self'",
        "connect-src 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
      ]),
    );
    expect(policy.join(' ')).not.toMatch(/unsafe|https?:|\*|data:|blob:/);
    expect(headers['set-cookie']).toBeUndefined();
  },
);

test('a browser that has a file is told so, and gets it again when it differs', async () => {
  const first = await send({ port: port(), path: '/page.js' });
  const tag = String(first.headers['etag']);
  const again = (known: string) => send({ port: port(), path: '/page.js', headers: { 'if-none-match': known } });
  expect(await again(tag)).toMatchObject({ status: 304, body: '' });
  expect(await again(`"x", ${tag}`)).toMatchObject({ status: 304, body: '' });
  expect(await again('"x"')).toMatchObject({ status: 200, body: '1;\n' });
  expect(first.headers['cache-control']).toBe('no-cache');
});

test('HEAD gets the headers alone; other methods need a token', async () => {
  const head = await send({ port: port(), method: 'HEAD', path: '/' });
  expect([head.status, head.body, head.headers['content-length']]).toEqual([200, '', '16']);
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS'])
    expect((await send({ port: port(), method, path: '/' })).status, `to ${method}`).toBe(401);
});

test('the icon that browsers ask for is empty', async () => {
  expect(await send({ port: port(), path: '/favicon.ico' })).toMatchObject({ status: 204, body: '' });
});

test('another host, and a page elsewhere, get no file', async () => {
  for (const headers of [{ host: 'evil.example' }, { origin: 'https://evil.example' }, { origin: 'null' }])
    expect((await send({ port: port(), path: '/', headers })).status).toBe(403);
});

test('no path leads out of the four files', async () => {
  for (const path of [
    '/../package.json',
    '/%2e%2e/package.json',
    '/index.html',
    '/page.js/',
    '//page.js',
    '/constructor',
  ])
    expect((await send({ port: port(), path })).status, `${path} leads there`).toBe(401);
});

test('a page that was not built is a plain text that says how to build it', async () => {
  const later = join(directory, 'later');
  const files = newPageFiles(later);
  const ask = () => files({ method: 'GET', path: '/', known: undefined });
  const answer = await ask();
  expect(answer?.status).toBe(404);
  expect(answer?.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect(await answer?.text()).toContain('npm run build');
  await mkdir(later);
  await writeFile(join(later, 'index.html'), FILES['index.html']);
  expect(await (await ask())?.text()).toBe(FILES['index.html']);
});
