// The page: four files that the build makes. They are the same for everyone and hold nothing, so they need no token.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { OPEN_SHAPES } from './api/open-shapes.ts';

/** Where the build puts them, beside the built server. */
export const PAGE_DIRECTORY: string = fileURLToPath(new URL('../../inspector/', import.meta.url));

const FILES: Readonly<Record<string, { readonly file: string; readonly type: string }>> = {
  [OPEN_SHAPES.page.at]: { file: 'index.html', type: 'text/html; charset=utf-8' },
  [OPEN_SHAPES.pageScript.at]: { file: 'page.js', type: 'text/javascript; charset=utf-8' },
  [OPEN_SHAPES.pageWorker.at]: { file: 'worker.js', type: 'text/javascript; charset=utf-8' },
  [OPEN_SHAPES.pageStyles.at]: { file: 'styles.css', type: 'text/css; charset=utf-8' },
};

/**
 * What a browser lets the page do: load from this server and connect to it, and nothing else. A text becomes code nowhere: the
 * one policy `refold` makes the address of the worker. No other page may embed it, open it as its own, or load its files.
 */
const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "worker-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types refold',
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

interface PageFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly tag: string;
  readonly type: string;
}

export interface PageRequest {
  readonly method: string;
  readonly path: string;
  /** The If-None-Match header (RFC 9110, section 13.1.2); read only for a file of the page. */
  readonly known: () => string | undefined;
}

/** Answers a request for a file of the page; null for any other request. Each file is read once. */
export function newPageFiles(directory: string): (request: PageRequest) => Promise<Response> | null {
  const read = new Map<string, PageFile>();

  async function fileOf(path: string): Promise<PageFile | null> {
    const kept = read.get(path);
    const known = FILES[path];
    if (kept !== undefined || known === undefined) return kept ?? null;
    const content = await readFile(join(directory, known.file)).catch(() => null);
    if (content === null) return null;
    const tag = `"${createHash('sha256').update(content).digest('base64url')}"`;
    const made = { bytes: new Uint8Array(content), tag, type: known.type };
    read.set(path, made);
    return made;
  }

  async function answer({ method, path, known }: PageRequest): Promise<Response> {
    // Browsers ask for it by themselves.
    if (path === ICON) return new Response(null, { status: 204, headers: PAGE_HEADERS });
    const found = await fileOf(path);
    if (found === null) return new Response(NOT_BUILT, { status: 404, headers: { ...PAGE_HEADERS, ...PLAIN } });
    // The names stay when the content changes, so a browser asks each time, and gets only what it does not have.
    const headers = { ...PAGE_HEADERS, etag: found.tag, 'cache-control': 'no-cache' };
    const tags = known()?.split(',') ?? [];
    if (tags.some((tag) => tag.trim() === found.tag)) {
      return new Response(null, { status: 304, headers });
    }
    const sized = { ...headers, 'content-type': found.type, 'content-length': String(found.bytes.length) };
    return new Response(method === 'HEAD' ? null : found.bytes, { headers: sized });
  }

  return (request) => {
    const { method, path } = request;
    const isOurs = path === ICON || Object.hasOwn(FILES, path);
    return isOurs && (method === 'GET' || method === 'HEAD') ? answer(request) : null;
  };
}

const ICON = '/favicon.ico';
const PLAIN = { 'content-type': 'text/plain; charset=utf-8' };
const NOT_BUILT =
  'The page is not here: it was not built. To build it, run in the directory of refold: npm run build\n';
