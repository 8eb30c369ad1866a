// What probes and monitors are told, and how an engine stops.
import { type Either, left, right } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import { brand } from '../../schemas/ids.ts';
import { ENGINE_DRAIN_LOOK_MS } from '../../schemas/limits.ts';
import type { EngineClient } from '../../src/client/client.ts';
import { must } from '../../src/client/must.ts';
import { connect } from '../../src/client/http-client.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { newMetrics } from '../../src/engine/metrics.ts';
import { serve } from '../../src/server/serve.ts';
import { fixedTokens } from '../../src/server/tokens.ts';
import { A, SESSION, TTL_MS, Talk, leaseRequest, newWorld } from '../support/engine/world.ts';
import { outcome } from '../support/journal/outcomes.ts';

const TOKEN = 'a'.repeat(64);
const RUN = { kind: 'RunRequested', input: { text: 'go' } } as const;

async function served<T>(
  engine: Promise<Engine>,
  work: (get: (path: string, token?: string) => Promise<Response>, client: EngineClient) => Promise<T>,
): Promise<T> {
  const serving = await serve(
    engine.then(({ client }) => client),
    { tokens: fixedTokens({ operator: TOKEN }), port: 0, operations: engine },
  );
  const client = connect(serving.url, TOKEN);
  const get = (path: string, token?: string): Promise<Response> =>
    fetch(`${serving.url}${path}`, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } });
  return await work(get, client).finally(async () => {
    await client.close();
    await serving.close();
  });
}

const answerOf = async (asked: Promise<Response>): Promise<readonly [number, unknown]> => {
  const response = await asked;
  return [response.status, await response.json()];
};

describe('probes', () => {
  test('are answered before the engine is open, without a token', async () => {
    let open: (engine: Engine) => void = () => undefined;
    const opening = new Promise<Engine>((resolve) => {
      open = resolve;
    });
    await served(opening, async (get, client) => {
      expect(await answerOf(get('/healthz'))).toEqual([200, { live: true }]);
      expect(await answerOf(get('/readyz'))).toEqual([
        503,
        expect.objectContaining({ ready: false, reason: 'opening' }),
      ]);
      open((await newWorld()).engine);
      await must(client.info());
      expect(await answerOf(get('/readyz'))).toEqual([200, { ready: true }]);
      expect((await get('/v1')).status).toBe(401);
    });
  });

  test.each(['storage_failed', 'storage_full'] as const)('say %s while storage takes no writes', async (code) => {
    const { engine } = await newWorld();
    let storage: Either<{ code: typeof code; path: string; message: string }, void> = right(undefined);
    await served(Promise.resolve({ ...engine, ready: async () => storage }), async (get) => {
      storage = left({ code, path: '', message: 'in /a/secret/place' });
      const [status, told] = await answerOf(get('/readyz'));
      expect([status, told]).toEqual([503, expect.objectContaining({ ready: false, reason: code })]);
      expect(JSON.stringify(told)).not.toContain('secret');
      expect(await answerOf(get('/healthz'))).toEqual([200, { live: true }]);
      storage = right(undefined);
      expect((await get('/readyz')).status).toBe(200);
    });
  });
});

/** The samples of a text, by name and labels; throws where a line is not of the format. */
function samplesOf(text: string): ReadonlyMap<string, number> {
  const typed = new Set<string>();
  const samples = new Map<string, number>();
  for (const line of text.split('\n').filter((one) => one !== '')) {
    const comment = /^# (HELP|TYPE) (refold_[a-z_]+) (.+)$/.exec(line);
    if (comment !== null) {
      if (comment[1] === 'TYPE') typed.add(comment[2] ?? '');
      continue;
    }
    const [, name = '', labels = '', value = ''] = /^(refold_[a-z_]+)(\{[a-z]+="[^"\\\n]*"\})? (\S+)$/.exec(line) ?? [];
    expect([line, typed.has(name.replace(/_(?:bucket|sum|count)$/, '')) || typed.has(name)]).toEqual([line, true]);
    expect(Number.isFinite(Number(value))).toBe(true);
    samples.set(`${name}${labels}`, Number(value));
  }
  return samples;
}

describe('figures', () => {
  test('are served with a token, in the text format of Prometheus', async () => {
    const { engine } = await newWorld();
    await served(Promise.resolve(engine), async (get, client) => {
      expect((await get('/metrics')).status).toBe(401);
      const talk = await new Talk(client).create();
      await talk.submit([RUN]);
      await must(client.lease(leaseRequest(A)));
      expect(await outcome(client.createSession({ session_id: SESSION }))).toBe('session_exists');
      await must(client.putBlob(new Uint8Array(7)));
      const response = await get('/metrics', TOKEN);
      expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
      const text = await response.text();
      expect(text).not.toContain(SESSION);
      expect(text.endsWith('\n')).toBe(true);
      const samples = samplesOf(text);
      const expected = {
        refold_events_total: 1,
        refold_appends_total: 1,
        'refold_append_seconds_bucket{le="+Inf"}': 1,
        refold_append_seconds_count: 1,
        refold_submit_seconds_count: 1,
        refold_sessions_created_total: 1,
        'refold_refusals_total{code="session_exists"}': 1,
        'refold_effects_granted_total{kind="llm.generate"}': 1,
        'refold_sessions_in_memory{status="running"}': 1,
        'refold_sessions_in_memory{status="idle"}': 0,
        refold_sessions_owing: 1,
        refold_leases_held: 1,
        refold_lease_requests_waiting: 0,
        refold_followers: 0,
        refold_blob_puts_total: 1,
        refold_blob_put_bytes_total: 7,
        refold_draining: 0,
      };
      expect(Object.fromEntries(Object.keys(expected).map((name) => [name, samples.get(name)]))).toEqual(expected);
    });
  });

  test('of a latency fall into every bucket that is not below them', () => {
    const metrics = newMetrics();
    const note = metrics.latency('refold_x_seconds', 'x');
    for (const milliseconds of [0.1, 5, 70, 60_000]) note(milliseconds);
    const samples = samplesOf(metrics.text());
    const at = (bound: string): number | undefined => samples.get(`refold_x_seconds_bucket{le="${bound}"}`);
    expect(['0.0005', '0.005', '0.1', '10', '+Inf'].map(at)).toEqual([1, 2, 3, 3, 4]);
    expect(samples.get('refold_x_seconds_sum')).toBeCloseTo(60.0751);
  });
});

describe('an engine that drains', () => {
  test('takes no new work and accepts the reports on what bridges hold', async () => {
    const { engine, talk, clock } = await newWorld();
    await talk.create();
    await talk.submit([RUN]);
    const idle = await new Talk(engine.client, brand('idle')).create();
    expect(await talk.leased(A)).toEqual(['run-1/turn-1']);
    const waiting = must(engine.client.lease(leaseRequest(A, { wait_ms: 20_000 })));
    let drained = false;
    const draining = engine.drain(60_000).then(() => (drained = true));
    expect((await waiting).effects).toEqual([]);
    expect(await engine.ready()).toMatchObject({ left: { code: 'closing' } });
    expect(await outcome(engine.client.createSession())).toBe('closing');
    expect(await outcome(engine.client.fork(SESSION))).toBe('closing');
    expect(await outcome(engine.client.lease(leaseRequest(A)))).toBe('closing');
    expect(await talk.outcome(RUN)).toBe('closing');
    expect(await idle.outcome({ kind: 'FollowUpQueued', follow_up: { input: { text: 'go' } } })).toBe('closing');
    expect(drained).toBe(false);
    // The last thing that a bridge holds ends with its run.
    await talk.submit([{ kind: 'user.interrupt', run_id: 'run-1', by: 'me' }]);
    await clock.advance(ENGINE_DRAIN_LOOK_MS);
    await draining;
    await engine.close();
  });

  test('waits for them no longer than it was told', async () => {
    const { engine, talk, clock } = await newWorld();
    await talk.create();
    await talk.submit([RUN]);
    expect(await talk.leased(A)).toEqual(['run-1/turn-1']);
    let drained = false;
    const draining = engine.drain(TTL_MS / 2).then(() => (drained = true));
    await clock.advance(TTL_MS / 4);
    // The time of day does not count.
    clock.jump(3_600_000);
    await clock.advance(ENGINE_DRAIN_LOOK_MS);
    expect(drained).toBe(false);
    await clock.advance(TTL_MS / 4);
    await draining;
    const hurried = new AbortController();
    hurried.abort();
    await engine.drain(60_000, hurried.signal);
    await engine.close();
  });
});
