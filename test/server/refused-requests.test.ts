// Hostile requests: each is answered with its status and code, as the document says, or its connection is closed; and none holds
// the event loop.
import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROUTES, type RouteName, SCOPES } from '../../schemas/access.ts';
import { brand } from '../../schemas/ids.ts';
import { must } from '../../src/client/must.ts';
import {
  type ApiAnswer,
  type ApiRequest,
  type Fitting,
  type ServedApi,
  TOKENS,
  fittingOf,
  serveApi,
} from '../support/api/served-api.ts';
import { heldBy } from '../support/hostile/held.ts';
import { NO_HTTP } from '../support/hostile/no-http.ts';
import { REFUSED } from '../support/hostile/refused-cases.ts';
import { HOSTILE_SESSION } from '../support/hostile/refused-row.ts';

/** How long the event loop may be held, in milliseconds of this thread, which runs the server and this test. */
const HELD_MS_MAX = 50;
/** A request that held it is sent again: a collection of garbage may have come between. */
const TRIES = 5;

let api: ServedApi;
let fitting: Fitting;

beforeAll(async () => {
  api = await serveApi();
  fitting = fittingOf(api.document);
  await must(api.engine.client.createSession({ session_id: brand(HOSTILE_SESSION) }));
});
afterAll(() => api.close());

const codeIn = ({ body }: ApiAnswer): unknown => {
  try {
    return (JSON.parse(body) as { readonly code?: unknown }).code;
  } catch {
    return `no JSON: ${body.slice(0, 80)}`;
  }
};

/** The answer, and how long the loop was held at least. */
async function measured<T>(work: () => Promise<T>): Promise<{ readonly heldMs: number; readonly result: T }> {
  let least = Infinity;
  for (let tries = 1; ; tries += 1) {
    const done: T[] = [];
    least = Math.min(least, await heldBy(async () => void done.push(await work())));
    if (least < HELD_MS_MAX || tries === TRIES) return { heldMs: least, result: done[0] as T };
  }
}

describe('a hostile request', () => {
  test('there are at least 120 of them, each with a name of its own', () => {
    expect(REFUSED.length).toBeGreaterThanOrEqual(120);
    expect(new Set(REFUSED.map(({ name }) => name)).size).toBe(REFUSED.length);
  });

  test.each(REFUSED.map((one) => [one.name, one] as const))('%s', async (_name, { request, status, code }) => {
    const { heldMs, result } = await measured(() => api.ask(request));
    expect([result.status, codeIn(result)]).toEqual([status, code]);
    expect(result.type).toBe('application/problem+json');
    expect(heldMs).toBeLessThan(HELD_MS_MAX);
    const { operation, faults } = fitting.fits(request, result);
    expect(operation === '' ? [] : faults).toEqual([]);
  });

  test('all at once leave the engine as it was', async () => {
    const before = await must(api.engine.client.sessions());
    const answers = await Promise.all(REFUSED.slice(0, 200).map(({ request }) => api.ask(request)));
    expect(answers.filter(({ status }) => status < 400)).toEqual([]);
    expect(await must(api.engine.client.sessions())).toEqual(before);
  });
});

describe('what is no HTTP', () => {
  test.each(Object.entries(NO_HTTP))('%s', async (_name, bytes) => {
    const { heldMs, result } = await measured(() => sendRaw(bytes));
    expect(result).not.toMatch(/^HTTP\/1\.[01] [23]/);
    expect(result.length).toBeLessThan(2_000);
    expect(heldMs).toBeLessThan(HELD_MS_MAX);
    expect((await api.ask({ method: 'GET', path: '/healthz' })).status).toBe(200);
  });
});

/** Everything that is received until the server closes the connection. */
function sendRaw(bytes: string | Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(api.port, '127.0.0.1');
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(text));
    socket.write(bytes);
  });
}

const HOSTS = [undefined, 'localhost', 'LOCALHOST', '[::1]', 'evil.example', '127.0.0.1.'] as const;
const ORIGINS = [undefined, 'own', 'own, same-origin', 'null', 'http://evil.example'] as const;
const GIVEN = [null, 'unknown', ...SCOPES] as const;
/** A route for each set of scopes, that answers without a body. */
const ASKED = ['info', 'sessions', 'pages', 'metrics', 'backup'] as const satisfies readonly RouteName[];
const KNOWN: ReadonlySet<string | undefined> = new Set([undefined, 'localhost', 'LOCALHOST', '[::1]']);

interface Cell {
  readonly route: RouteName;
  readonly token: (typeof GIVEN)[number];
  readonly host: (typeof HOSTS)[number];
  readonly origin: (typeof ORIGINS)[number];
}

const CELLS: readonly Cell[] = ASKED.flatMap((route) =>
  GIVEN.flatMap((token) => HOSTS.flatMap((host) => ORIGINS.map((origin) => ({ route, token, host, origin })))),
);

function requestOf({ route, token, host, origin }: Cell): ApiRequest {
  const address = `${host ?? '127.0.0.1'}:${api.port}`;
  const own = `http://${address.toLowerCase()}`;
  return {
    method: ROUTES[route].method,
    path: ROUTES[route].path,
    headers: {
      host: address,
      ...(token === null ? {} : { authorization: `Bearer ${token === 'unknown' ? 'x'.repeat(40) : TOKENS[token]}` }),
      ...(origin === undefined ? {} : { origin: origin.startsWith('own') ? own : origin }),
      ...(origin === 'own, same-origin' ? { 'sec-fetch-site': 'same-origin' } : {}),
    },
  };
}

/** What a cell must be answered: host and origin come before the token, and the token before its scope. */
function expectedOf({ route, token, host, origin }: Cell): readonly [number, string | undefined] {
  if (!KNOWN.has(host) || (origin !== undefined && origin !== 'own, same-origin')) return [403, 'forbidden'];
  if (token === null || token === 'unknown') return [401, 'unauthorized'];
  return (ROUTES[route].scopes as readonly string[]).includes(token) ? [200, undefined] : [403, 'forbidden_scope'];
}

test('every token with every scope of a route, every Host and every Origin', async () => {
  expect(CELLS).toHaveLength(ASKED.length * GIVEN.length * HOSTS.length * ORIGINS.length);
  const faults: string[] = [];
  const ask = async (cell: Cell): Promise<void> => {
    const request = requestOf(cell);
    const answer = await api.ask(request);
    const { faults: unfit } = fitting.fits(request, answer);
    const code = answer.status < 400 ? undefined : codeIn(answer);
    const [status, expected] = expectedOf(cell);
    if (answer.status !== status || code !== expected || unfit.length > 0)
      faults.push(`${JSON.stringify(cell)}: ${answer.status} ${String(code)} ${unfit.join('; ')}`);
  };
  const held: number[] = [];
  for (let at = 0; at < CELLS.length; at += 5) {
    const some = CELLS.slice(at, at + 5);
    held.push((await measured(() => Promise.all(some.map(ask)))).heldMs);
  }
  expect(faults).toEqual([]);
  expect(Math.max(...held)).toBeLessThan(HELD_MS_MAX);
});

test('a loop that is held is found', async () => {
  const hold = async (): Promise<void> => {
    await wait(1);
    const from = process.cpuUsage().user;
    while (process.cpuUsage().user - from < 60_000);
  };
  expect(await heldBy(hold)).toBeGreaterThan(HELD_MS_MAX);
});
