// Serves the page with one file in place of an engine: no data directory, and nothing that could be changed.
import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { type Either, map } from 'fp-ts/lib/Either.js';
import { Hono } from 'hono';
import { VIEWER } from '../../schemas/access.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { type GuardOptions, type Guarded, LOOPBACK_HOSTS, guard } from './guard.ts';
import { type Serving, listen } from './listen.ts';
import { newOpenRoutes } from './open-routes.ts';
import { PAGE_DIRECTORY } from './page-files.ts';
import { newPages } from './pages.ts';
import { problemResponse } from './problem.ts';

export interface ServedFile {
  /** Its name without directories. */
  readonly name: string;
  /** The size that is served, whatever is appended later. */
  readonly bytes: number;
  readonly handle: FileHandle;
}

export interface FileServing extends Serving {
  /** A code that the page exchanges for the token with which it reads the file. */
  newCode(): Either<Rejection, string>;
}

/** Listens on a free port of loopback. */
export async function serveFile(file: ServedFile, pageDirectory = PAGE_DIRECTORY): Promise<FileServing> {
  const { name, bytes } = file;
  const pages = newPages();
  const guarding = {
    tokens: pages,
    hosts: LOOPBACK_HOSTS,
    openRoutes: newOpenRoutes(pageDirectory, pages, { name, bytes }),
  };
  const serving = await listen((door) => ({ fetch: appOf(file, { ...guarding, door }).fetch }), {
    host: '127.0.0.1',
    port: 0,
  });
  const asker = { access: VIEWER, isCurrent: () => true };
  return {
    ...serving,
    newCode: () => map(({ code }: { readonly code: string }) => code)(pages.ask(asker, { scope: 'viewer' })),
  };
}

function appOf({ bytes, handle }: ServedFile, guarding: GuardOptions): Hono<Guarded> {
  const app = new Hono<Guarded>();
  app.use('*', guard(guarding));
  app.notFound(() => problemResponse(reject('not_found', '', 'this server serves one file, and no engine')));
  app.onError(() => problemResponse(reject('internal', '', 'the file cannot be read')));
  app.get('/v1/file', () => {
    const headers = {
      'content-type': 'application/x-ndjson',
      'content-length': String(bytes),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    };
    if (bytes === 0) return new Response(null, { headers });
    const read = handle.createReadStream({ start: 0, end: bytes - 1, autoClose: false });
    return new Response(Readable.toWeb(read) as ReadableStream<Uint8Array>, { headers });
  });
  return app;
}
