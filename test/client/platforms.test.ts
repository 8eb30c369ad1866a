// The client as browsers get it: a bundle without Node, over `fetch`, held to the contract of all clients.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { type BuildResult, build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import type { connect } from '../../src/client/http-client.ts';
import { must } from '../../src/client/must.ts';
import { platform } from '../../src/client/platform/web.ts';
import { startEngine } from '../../src/engine/engine.ts';
import { openMemoryJournal } from '../../src/journal/memory-journal.ts';
import { describeClient } from '../support/engine/client-contract.ts';
import { serveClient } from '../support/engine/serving.ts';
import { inRepository, readDocument } from '../support/documents.ts';

/** Most that client and core together may take of the 150 KB of the page, gzipped, in bytes. */
const GZIPPED_BYTES_MAX = 110_000;

const bundle = (): Promise<BuildResult<{ write: false; metafile: true }>> =>
  build({
    stdin: {
      contents: "export * from './src/client/index.ts'; export * from './src/core/index.ts';",
      resolveDir: inRepository(''),
      loader: 'ts',
    },
    alias: {
      '#sha256': inRepository('schemas/sha256/noble.ts'),
      '#client-platform': inRepository('src/client/platform/web.ts'),
      'fp-ts/lib': 'fp-ts/es6',
    },
    conditions: ['browser'],
    define: { 'process.env.NODE_ENV': '"production"' },
    bundle: true,
    minify: true,
    platform: 'browser',
    format: 'esm',
    write: false,
    metafile: true,
    logLevel: 'silent',
  });

let directory: string;
let connectOverFetch: typeof connect;

beforeAll(async () => {
  const cache = inRepository('node_modules/.cache');
  await mkdir(cache, { recursive: true });
  directory = await mkdtemp(join(cache, 'refold-test-'));
  const built = await bundle();
  const file = join(directory, 'client.mjs');
  await writeFile(file, built.outputFiles[0]?.text ?? '');
  ({ connect: connectOverFetch } = (await import(pathToFileURL(file).href)) as { readonly connect: typeof connect });
});
afterAll(() => rm(directory, { recursive: true, force: true }));

test('client and core bundle for a browser without anything of Node', async () => {
  const { metafile, outputFiles } = await bundle();
  const inputs = Object.values(metafile.inputs).flatMap(({ imports }) => imports.map(({ path }) => path));
  expect(inputs.filter((path) => path.startsWith('node:') || builtinModules.includes(path))).toEqual([]);
  expect(Object.keys(metafile.inputs).filter((path) => path.endsWith('/node.ts'))).toEqual([]);
  const text = outputFiles[0]?.text ?? '';
  expect(text.match(/(?<!\.)\b(?:Buffer\.|setImmediate\(|process\.)/g) ?? []).toEqual([]);
  expect(gzipSync(text, { level: 9 }).length).toBeLessThan(GZIPPED_BYTES_MAX);
});

test('the conditions of the package select this platform in a browser, and the other one in Node', async () => {
  const { imports } = JSON.parse(await readDocument('package.json')) as {
    readonly imports: Readonly<Record<string, Readonly<Record<string, string>>>>;
  };
  const folder = './dist/src/client/platform';
  // The first condition that holds counts: some test environments set both.
  expect(Object.entries(imports['#client-platform'] ?? {})).toEqual([
    ['browser', `${folder}/web.js`],
    ['node', `${folder}/node.js`],
    ['default', `${folder}/web.js`],
  ]);
});

describeClient('a client over fetch, bundled for browsers', async () => {
  const engine = await must(startEngine({ journal: openMemoryJournal(), blobs: openMemoryBlobs() }));
  const served = await serveClient(engine.client);
  const client = connectOverFetch(served.url, 'a'.repeat(64));
  return {
    client,
    close: async () => {
      await client.close();
      await served.close();
      await engine.close();
    },
  };
});

describe('an exchange over fetch', () => {
  const request = { route: 'info', headers: {}, timeoutMs: 60_000 } as const;

  test('ends when its signal aborts, when the client is closed, and when no answer comes in time', async () => {
    const silent = await silentServer();
    const exchanger = platform.newExchanger(silent.url);
    const stop = new AbortController();
    const aborted = exchanger.exchange({ ...request, signal: stop.signal });
    stop.abort();
    await expect(aborted).rejects.toThrow('aborted');
    await expect(exchanger.exchange({ ...request, signal: stop.signal })).rejects.toThrow('aborted');
    await expect(exchanger.exchange({ ...request, timeoutMs: 1 })).rejects.toThrow('no answer within 1 ms');
    const open = exchanger.exchange(request);
    exchanger.close();
    await expect(open).rejects.toThrow('the client is closed');
    await expect(exchanger.exchange(request)).rejects.toThrow('the client is closed');
    await silent.close();
  });

  test('follows no redirect, so that the token goes to no other place', async () => {
    const redirecting = await silentServer('/elsewhere');
    await expect(platform.newExchanger(redirecting.url).exchange(request)).rejects.toThrow('fetch failed');
    expect(redirecting.paths).toEqual(['/v1']);
    await redirecting.close();
  });
});

/** A server that never answers, or redirects every request. */
async function silentServer(location?: string) {
  const paths: (string | undefined)[] = [];
  const server = createServer(({ url }, response) => {
    paths.push(url);
    if (location !== undefined) response.writeHead(307, { location }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    paths,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
