// Who may do what: every event kind and every route, with a token of every scope, against a running app.
import { isLeft } from 'fp-ts/lib/Either.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  BRIDGE,
  KIND_SCOPES,
  OPERATOR,
  ROUTES,
  type RouteName,
  SCOPES,
  type Scope,
  VIEWER,
} from '../../schemas/access.ts';
import { INGRESS_KINDS, type IngressKind } from '../../schemas/event.ts';
import { withAccess } from '../../src/client/with-access.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { newApp } from '../../src/server/app.ts';
import { fixedTokens } from '../../src/server/tokens.ts';
import { SESSION, newWorld } from '../support/engine/world.ts';

const TOKENS = { operator: 'operator-token', bridge: 'bridge-token', viewer: 'viewer-token' } as const;
const ACCESS = { operator: OPERATOR, bridge: BRIDGE, viewer: VIEWER } as const;

let engine: Engine;
let app: ReturnType<typeof newApp>;

beforeAll(async () => {
  const world = await newWorld();
  await world.talk.create();
  ({ engine } = world);
  app = newApp(engine.client, { tokens: fixedTokens(TOKENS), hosts: ['127.0.0.1'], operations: engine });
});
afterAll(() => engine.close());

interface Answered {
  readonly status: number;
  readonly code?: string;
  readonly path?: string;
  readonly detail?: string;
}

async function ask(method: string, path: string, token: string | null, body?: unknown): Promise<Answered> {
  const headers: Record<string, string> = { host: '127.0.0.1', 'content-type': 'application/json' };
  if (token !== null) headers['authorization'] = `Bearer ${token}`;
  const request = { method, headers, ...(method === 'POST' ? { body: JSON.stringify(body ?? {}) } : {}) };
  const response = await app.request(`http://127.0.0.1${path}`, request);
  const json = /\/(?:problem\+)?json/.test(response.headers.get('content-type') ?? '');
  const problem = json ? ((await response.json()) as object) : {};
  if (!json) await response.body?.cancel();
  return { ...problem, status: response.status };
}

const CELLS = INGRESS_KINDS.flatMap((kind) => SCOPES.map((scope) => [kind, scope] as const));

describe('an event kind', () => {
  test('has a row, and no row is without a kind', () => {
    expect(Object.keys(KIND_SCOPES).sort()).toEqual([...INGRESS_KINDS].sort());
  });

  test.each(CELLS)('%s with a token of the scope %s', async (kind, scope) => {
    const request = { owner: 'owner', events: [{ kind }] };
    const over = await ask('POST', `/v1/sessions/${SESSION}/events`, TOKENS[scope], request);
    const batch = await ask('POST', '/v1/submits', TOKENS[scope], { submits: [{ session_id: SESSION, request }] });
    const inside = await withAccess(engine.client, ACCESS[scope]).submit(SESSION, request as never)();
    const codes = [over.code, isLeft(inside) ? inside.left.code : 'done'];
    if (KIND_SCOPES[kind].includes(scope)) {
      expect(codes).not.toContain('forbidden_scope');
      expect(JSON.stringify(batch)).not.toContain('forbidden_scope');
      return;
    }
    expect(codes).toEqual(['forbidden_scope', 'forbidden_scope']);
    expect(over.status).toBe(403);
    expect(JSON.stringify(batch)).toContain('forbidden_scope');
    expect(over.detail).toContain(`the scope ${scope}`);
    if (scope !== 'viewer') expect(over.path).toBe('/events/0/kind');
    for (const needed of KIND_SCOPES[kind]) expect(over.detail).toContain(needed);
  });

  test('of those that only the engine reports has no scope', () => {
    const none = (Object.keys(KIND_SCOPES) as readonly IngressKind[]).filter((kind) => KIND_SCOPES[kind].length === 0);
    expect(none).toEqual(['LeaseExpired', 'TimeReached']);
  });
});

const NAMES = Object.keys(ROUTES) as readonly RouteName[];

describe('a route', () => {
  const pathOf = (name: RouteName): string =>
    ROUTES[name].path.replace(':id', SESSION).replace(':ref', `sha256:${'0'.repeat(64)}`);
  const cells = NAMES.flatMap((name) => SCOPES.map((scope): [RouteName, Scope] => [name, scope]));

  test.each(cells)('%s with a token of the scope %s', async (name, scope) => {
    const { method, scopes } = ROUTES[name];
    const answered = await ask(method, pathOf(name), TOKENS[scope]);
    if (scopes.includes(scope)) {
      expect([401, 403, 405]).not.toContain(answered.status);
      expect(answered.detail ?? '').not.toContain('no such route');
      return;
    }
    expect(answered).toMatchObject({ status: 403, code: 'forbidden_scope' });
    expect(answered.detail).toContain(`the scope ${scope}`);
    for (const needed of scopes) expect(answered.detail).toContain(needed);
  });

  test.each(NAMES)('%s without a token, or with another', async (name) => {
    const { method } = ROUTES[name];
    for (const token of [null, 'another', TOKENS.operator.slice(1)])
      expect(await ask(method, pathOf(name), token)).toMatchObject({ status: 401, code: 'unauthorized' });
  });

  test('is served only if it is in the table', () => {
    const served = app.routes.filter(({ method }) => method !== 'ALL').map(({ method, path }) => `${method} ${path}`);
    expect(served.sort()).toEqual(NAMES.map((name) => `${ROUTES[name].method} ${ROUTES[name].path}`).sort());
  });
});

describe('a client in process', () => {
  test('of a bridge names itself in every submit', async () => {
    const bridge = withAccess(engine.client, BRIDGE);
    const answer = await bridge.submit(SESSION, {
      events: [{ kind: 'HostSessionUpdated', host_session: { host_session_status: 'ready' } }],
    })();
    expect(answer).toMatchObject({ left: { code: 'lease_required', path: '/owner' } });
  });

  test('cannot widen its access', async () => {
    const widened = withAccess(withAccess(engine.client, VIEWER), OPERATOR);
    expect(await widened.createSession()()).toMatchObject({ left: { code: 'forbidden_scope' } });
  });

  test('that is narrowed to some kinds leases nothing with a submit', async () => {
    const narrowed = withAccess(engine.client, { scope: 'operator', kinds: ['RunSteered'] });
    const steered = { kind: 'RunSteered', input: { text: 'left' } } as const;
    const lease = { kinds: ['llm.generate'], tools: ['*'], max: 1 };
    for (const more of [{ owner: 'o' }, { owner: 'o', lease }, { leases: [] }]) {
      const answer = await narrowed.submit(SESSION, { events: [steered], ...more } as never)();
      expect(answer).toMatchObject({ left: { code: 'forbidden_scope', path: '/owner' } });
    }
  });

  test('sends the events that were looked at, also when they are computed', async () => {
    let reads = 0;
    const request = {
      owner: 'o',
      get events() {
        reads += 1;
        return [{ kind: reads === 1 ? 'ToolCallStarted' : 'RunRequested', input: { text: 'go' } }];
      },
    };
    const answer = await withAccess(engine.client, BRIDGE).submit(SESSION, request as never)();
    expect(isLeft(answer)).toBe(true);
    expect(reads).toBe(1);
  });
});

test('a token that is replaced while a body arrives is refused', async () => {
  const known = fixedTokens(TOKENS);
  let current = true;
  const tokens = {
    find: (given: string) => {
      const holder = known.find(given);
      return holder === null ? null : { ...holder, isCurrent: () => current };
    },
  };
  const slow = newApp(engine.client, { tokens, hosts: ['127.0.0.1'] });
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      // The rest of the body comes after the token was replaced.
      current = false;
      controller.enqueue(new TextEncoder().encode('{}'));
      controller.close();
    },
  });
  const headers = { host: '127.0.0.1', authorization: `Bearer ${TOKENS.operator}`, 'content-type': 'application/json' };
  const response = await slow.request('http://127.0.0.1/v1/sessions', {
    method: 'POST',
    headers,
    body,
    duplex: 'half',
  });
  expect(response.status).toBe(401);
});
