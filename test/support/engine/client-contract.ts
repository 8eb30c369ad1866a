// The contract of every client of an engine, in process and over HTTP.
import { isLeft } from 'fp-ts/lib/Either.js';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { digestText } from '../../../schemas/canonical.ts';
import type { Effect, EffectOfKind } from '../../../schemas/effect.ts';
import type { Ingress } from '../../../schemas/event.ts';
import { type OwnerId, type SessionId, type Version, brand } from '../../../schemas/ids.ts';
import { BLOB_BYTES_MAX, BLOB_PARTS_MAX, BLOB_PART_BYTES, BODY_BYTES_MAX } from '../../../schemas/limits.ts';
import type { Submit } from '../../../schemas/wire.ts';
import { allSessions } from '../../../src/client/all-sessions.ts';
import type { EngineClient } from '../../../src/client/client.ts';
import { must } from '../../../src/client/must.ts';
import { uploadBlob } from '../../../src/client/upload-blob.ts';
import { replay, stateBytes, stateDigest } from '../../../src/core/index.ts';
import { BAD_REQUESTS } from './bad-requests.ts';
import { ZERO_DIGEST } from './inputs.ts';
import { liveReader } from './live-reader.ts';
import { outcome, refusal } from '../journal/outcomes.ts';
import { eventsOf } from '../records.ts';
import { testPackage } from '../tools.ts';
import { A, B, type LooseIngress, SESSION, Talk, callsIn, ingress, leaseRequest, settled, started } from './world.ts';

export interface Connected {
  readonly client: EngineClient;
  /** Closes the engine and its server. */
  readonly close: () => Promise<void>;
  /** Changes the bytes of a stored blob without the engine. */
  readonly damageBlob?: (ref: string) => Promise<void>;
}

/** Uses one engine for all requests, because a refused request changes nothing. */
function describeRefusals(name: string, open: () => Promise<Connected>): void {
  describe(`${name}, submit`, () => {
    let connected: Connected;
    let client: EngineClient;

    beforeAll(async () => {
      connected = await open();
      ({ client } = connected);
      const talk = new Talk(client);
      await talk.create();
      await talk.calls(['a', 'once']);
    });
    afterAll(() => connected.close());

    test.each(BAD_REQUESTS)('refuses %s', async (_name, request, expected) => {
      const before = await bytesOf(client);
      expect(await refusal(client.submit(SESSION, request as Submit))).toMatchObject(expected);
      expect(await bytesOf(client)).toEqual(before);
      expect(await must(client.records(SESSION, 2))).toEqual([]);
    });
  });
}

export function describeClient(name: string, open: () => Promise<Connected>): void {
  describeRefusals(name, open);
  describe(`${name}, by the contract of all clients`, () => {
    let connected: Connected;
    let client: EngineClient;
    let talk: Talk;

    beforeEach(async () => {
      connected = await open();
      ({ client } = connected);
      talk = new Talk(client);
    });
    afterEach(() => connected.close());

    describe('sessions', () => {
      test('reports the engine', async () => {
        expect(await must(client.info())).toMatchObject({ name: 'refold' });
      });

      test('deletes an idle session, of which only the tombstone stays', async () => {
        const other = brand<'SessionId'>('s-2');
        await must(client.createSession({ session_id: other }));
        await talk.create();
        await talk.submit([{ kind: 'RunRequested', input: { text: 'go' } }]);
        expect(await refusal(client.deleteSession(SESSION))).toMatchObject({ code: 'session_busy' });
        await talk.submit([{ kind: 'user.interrupt', run_id: 'run-1', by: 'me' }]);
        const { state, chain } = await must(client.session(SESSION));
        const follower = client.followCommits(SESSION, { from: state.version })[Symbol.asyncIterator]();
        const following = follower.next();
        following.catch(() => undefined);
        const tombstone = { session_id: SESSION, version: state.version, chain, deleted_at_ms: expect.any(Number) };
        expect(await must(client.deleteSession(SESSION))).toEqual(tombstone);
        await expect(following).rejects.toMatchObject({ rejection: { code: 'session_deleted' } });
        for (const request of [
          client.session(SESSION),
          client.records(SESSION),
          client.createSession({ session_id: SESSION }),
          client.fork(SESSION),
          client.fork(other, { session_id: SESSION }),
          client.deleteSession(SESSION),
          client.submit(SESSION, { events: [ingress({ kind: 'RunRequested', input: { text: 'go' } })] }),
        ]) {
          expect(await outcome(request)).toBe('session_deleted');
        }
        expect((await must(client.sessions())).sessions.map(({ session_id }) => session_id)).toEqual([other]);
        expect(await must(client.deletedSessions())).toEqual({ deleted: [tombstone], next: null });
        expect(await outcome(client.deleteSession(brand<'SessionId'>('s-3')))).toBe('unknown_session');
      });

      test('creates a session under a given id, or one that the engine makes', async () => {
        const own = await must(client.createSession({ session_id: SESSION }));
        const card = { title: null, status: 'idle', parent: null, last_activity_ms: expect.any(Number), outcome: null };
        expect(own).toEqual({ session_id: SESSION, version: 0, owing: false, wake_at_ms: null, card });
        const made = await must(client.createSession());
        const ids = (await must(client.sessions())).sessions.map(({ session_id }) => session_id);
        expect(ids).toEqual([SESSION, made.session_id].sort());
      });

      test('refuses an invalid session, and stores nothing', async () => {
        await talk.create();
        expect(await outcome(client.createSession({ session_id: SESSION }))).toBe('session_exists');
        const bad = (request: unknown) => refusal(client.createSession(request as never));
        expect(await bad({ session_id: '../x' })).toMatchObject({ code: 'invalid_shape', path: '/session_id' });
        expect(await bad({ config: { turns_max: 0 } })).toMatchObject({
          code: 'invalid_shape',
          path: '/config/turns_max',
        });
        expect(await bad({ config: { tool_profile: 'none' } })).toMatchObject({ code: 'profile_unknown' });
        expect(await bad({ more: 1 })).toMatchObject({ code: 'invalid_shape', path: '/more' });
        const [first] = testPackage().registry;
        const twice = { ...testPackage(), registry: [first, first] };
        expect(await bad({ tool_package: twice })).toMatchObject({ code: 'registry_invalid' });
        expect((await must(client.sessions())).sessions).toHaveLength(1);
      });

      test('shows state, digest and chain of the stream', async () => {
        await talk.create();
        await talk.run();
        const view = await must(client.session(SESSION));
        expect(view.state_digest).toBe(stateDigest(view.state));
        const replayed = replay(await must(client.records(SESSION)));
        expect(replayed.divergence).toBeNull();
        expect(replayed).toMatchObject({ chain: view.chain, stateDigest: view.state_digest });
        expect((await must(client.sessions())).sessions).toMatchObject([
          {
            session_id: SESSION,
            version: 1,
            owing: true,
            wake_at_ms: null,
            card: { status: view.status, outcome: null },
          },
        ]);
      });

      test('lists sessions in pages, filtered, with a card for each', async () => {
        const ids = ['c', 'a', 'b', 'd'].map((id) => brand<'SessionId'>(id));
        for (const session_id of ids) await must(client.createSession({ session_id }));
        await new Talk(client, brand('b')).submit([{ kind: 'RunRequested', input: { text: '\n  Fix ä 𝄞\tit \nnow' } }]);
        await must(client.fork(brand('b'), { session_id: brand('fork') }));
        const listed = async (request: object) => {
          const { sessions, next } = await must(client.sessions(request as never));
          return [sessions.map(({ session_id }) => session_id), next];
        };
        expect(await listed({})).toEqual([['a', 'b', 'c', 'd', 'fork'], null]);
        expect(await listed({ limit: 2 })).toEqual([['a', 'b'], 'b']);
        expect(await listed({ limit: 2, after: 'b' })).toEqual([['c', 'd'], 'd']);
        expect(await listed({ limit: 2, after: 'd' })).toEqual([['fork'], null]);
        expect(await listed({ owing: true })).toEqual([['b'], null]);
        expect(await listed({ waiting: true })).toEqual([[], null]);
        expect(await listed({ owing: false, status: 'paused' })).toEqual([['fork'], null]);
        const { sessions } = await must(client.sessions({ status: 'paused' }));
        const card = { title: 'Fix ä 𝄞 it', status: 'paused', parent: 'b', outcome: null };
        expect(sessions).toMatchObject([{ session_id: 'fork', owing: false, card }]);
        const all: string[] = [];
        for await (const { session_id } of allSessions(client, { waiting: false })) all.push(session_id);
        expect(all).toEqual(['a', 'b', 'c', 'd', 'fork']);
      });

      test.each([
        [{ limit: 0 }, '/limit'],
        [{ limit: 1_001 }, '/limit'],
        [{ limit: 1.5 }, '/limit'],
        [{ after: '../x' }, '/after'],
        [{ owing: 'maybe' }, '/owing'],
        [{ waiting: 1 }, '/waiting'],
        [{ status: 'asleep' }, '/status'],
        [{ before: 'x' }, '/before'],
      ])('refuses a list by %j, with the path of the fault', async (request, path) => {
        expect(await refusal(client.sessions(request as never))).toMatchObject({ code: 'invalid_shape', path });
      });

      test('refuses an unknown session, and an invalid id', async () => {
        const none = brand<'SessionId'>('none');
        expect(await outcome(client.session(none))).toBe('unknown_session');
        expect(await outcome(client.records(none))).toBe('unknown_session');
        expect(await outcome(client.submit(none, { events: [RUN] }))).toBe('unknown_session');
        for (const id of ['..', '', 'a/b', 'x'.repeat(65)]) {
          expect(await refusal(client.session(brand(id)))).toMatchObject({ code: 'invalid_shape', path: '' });
          expect(await outcome(client.submit(brand(id), { events: [RUN] }))).toBe('invalid_shape');
        }
      });
    });

    describe('submit', () => {
      test('records several events at once, or none of them', async () => {
        await talk.create();
        const before = await bytesOf(client);
        const refused = await refusal(client.submit(SESSION, { events: [RUN, RUN] }));
        expect(refused).toMatchObject({ code: 'run_already_active', path: '/events/1/kind' });
        expect(await bytesOf(client)).toEqual(before);
        const receipt = await talk.submit([RUN, { kind: 'RunPaused', run_id: 'run-1' }]);
        expect(receipt).toMatchObject({
          version: 2,
          events: [
            { position: 0, repeated: false },
            { position: 1, repeated: false },
          ],
        });
      });

      test('refuses another expected version, except for an event that is recorded already', async () => {
        await talk.create();
        const run = { ...RUN, event_id: brand<'EventId'>('r') };
        const at = (version: number) => ({ expected_version: version as Version, events: [run] });
        expect(await refusal(client.submit(SESSION, at(1)))).toMatchObject({
          code: 'version_conflict',
          path: '/expected_version',
        });
        await must(client.submit(SESSION, at(0)));
        expect((await must(client.submit(SESSION, at(0)))).events).toMatchObject([{ position: 0, repeated: true }]);
      });

      test('answers a repeated event id with its first position, alone and among new ones', async () => {
        await talk.create();
        const run = { ...RUN, event_id: brand<'EventId'>('r') };
        const pause = ingress({ kind: 'RunPaused', run_id: 'run-1', event_id: 'p' });
        const first = await must(client.submit(SESSION, { events: [run] }));
        expect(await must(client.submit(SESSION, { events: [run] }))).toEqual({
          ...first,
          events: [{ ...first.events[0], repeated: true }],
        });
        const mixed = await must(client.submit(SESSION, { events: [run, pause, pause] }));
        expect(mixed.events.map(({ position, repeated }) => [position, repeated])).toEqual([
          [0, true],
          [1, false],
          [1, true],
        ]);
        expect((await must(client.session(SESSION))).state.version).toBe(2);
      });

      test('keeps no object that the caller could change later', async () => {
        await talk.create();
        const event = { kind: 'RunRequested', input: { text: 'go' } };
        await must(client.submit(SESSION, { events: [event] } as never));
        event.input.text = 'changed';
        const [recorded] = eventsOf(await must(client.records(SESSION)));
        expect(recorded).toMatchObject({ input: { text: 'go' } });
      });

      test('refuses a request that is too large as a whole', async () => {
        await talk.create();
        const large = { kind: 'RunRequested', input: { text: 'x'.repeat(BODY_BYTES_MAX) } };
        expect(await outcome(client.submit(SESSION, { events: [large] } as never))).toBe('too_large');
      });
    });

    describe('the stream', () => {
      test('is read from a position, up to a limit of events', async () => {
        await talk.create();
        await talk.calls(['a', 'once'], ['b', 'free']);
        const all = await must(client.records(SESSION));
        expect(all.map(({ kind }) => kind)).toEqual(['package', 'genesis', 'commit', 'commit']);
        expect(await must(client.records(SESSION, 1))).toEqual(all.slice(3));
        expect(await must(client.records(SESSION, 0, 1))).toEqual(all.slice(2, 3));
        expect(await must(client.records(SESSION, 9))).toEqual([]);
        for (const [from, limit, path] of BAD_PAGES) {
          expect(await refusal(client.records(SESSION, from, limit))).toMatchObject({
            code: 'invalid_shape',
            path,
          });
        }
      });

      test('is read as whole commits, also from inside one', async () => {
        await talk.create();
        await talk.run();
        await talk.submit(pauses(3));
        await talk.submit(pauses(1));
        const all = (await must(client.records(SESSION))).slice(2);
        expect(all.map((record) => record.kind === 'commit' && [record.position, record.events.length])).toEqual([
          [0, 1],
          [1, 6],
          [7, 2],
        ]);
        for (const [from, limit, first, end] of [
          [1, 1, 1, 2],
          [4, 1, 1, 2],
          [6, 1, 1, 2],
          [6, 2, 1, 3],
          [3, 4, 1, 2],
          [3, 5, 1, 3],
          [0, 2, 0, 2],
          [8, 9, 2, 3],
          [9, 9, 3, 3],
        ] as const) {
          expect(await must(client.records(SESSION, from, limit)), `${limit} from ${from}`).toEqual(
            all.slice(first, end),
          );
        }
      });

      test('is followed from inside a commit: each event once, or the whole commit', async () => {
        await talk.create();
        await talk.run();
        await talk.submit(pauses(3));
        const more = talk.submit(pauses(1));
        for (let from = 0; from <= 7; from += 1) {
          const seen: number[] = [];
          for await (const { position, event } of client.follow(SESSION, { from })) {
            expect(event.kind).toBe(position === 0 ? 'RunRequested' : position % 2 === 1 ? 'RunPaused' : 'RunResumed');
            if (seen.push(position) === 9 - from) break;
          }
          expect(seen).toEqual(Array.from({ length: 9 - from }, (_, index) => from + index));
          const commits: number[] = [];
          for await (const commit of client.followCommits(SESSION, { from })) {
            commits.push(commit.position);
            if (commit.position === 7) break;
          }
          expect(commits).toEqual(from === 0 ? [0, 1, 7] : from < 7 ? [1, 7] : [7]);
        }
        await more;
      });

      test('is followed from a position, in order, as it grows, until aborted', async () => {
        await talk.create();
        await talk.run();
        const controller = new AbortController();
        const seen: string[] = [];
        const following = (async () => {
          for await (const { position, event } of client.follow(SESSION, { signal: controller.signal })) {
            seen.push(`${position} ${event.kind}`);
            if (seen.length === 1) void talk.submit([{ kind: 'RunPaused', run_id: 'run-1' }]);
            if (seen.length === 2) void talk.submit([{ kind: 'RunResumed', run_id: 'run-1' }]);
            if (seen.length === 3) controller.abort();
          }
        })();
        await following;
        expect(seen).toEqual(['0 RunRequested', '1 RunPaused', '2 RunResumed']);
        const resumed = client.follow(SESSION, { from: 2 })[Symbol.asyncIterator]();
        expect((await resumed.next()).value).toMatchObject({ position: 2 });
        await resumed.return?.();
      });

      test('is followed live: what the model writes, which the record then replaces or retracts', async () => {
        await talk.create();
        await talk.run();
        const live = liveReader(client);
        expect(await live.until('commit 0')).toEqual(['commit 0']);
        const { effects, epochs } = await talk.lease(A, { kinds: ['llm.generate'] });
        const post = (owner: OwnerId, text: string, epoch = epochs[0] as number) =>
          client.postDeltas(SESSION, {
            owner,
            effect_id: (effects[0] as Effect).effect_id,
            epoch,
            parts: [{ kind: 'text', text }],
          });
        expect(await must(post(A, 'Hel'))).toEqual({ readers: 1 });
        expect(await must(post(A, 'lo'))).toEqual({ readers: 1 });
        expect(await live.until('Hello')).toEqual(['turn 1: Hello']);
        expect(await outcome(post(B, 'no'))).toBe('stale_lease');
        expect(await outcome(post(A, 'no', (epochs[0] as number) + 1))).toBe('stale_lease');
        const late = liveReader(client, 1);
        expect(await late.until('Hello')).toEqual(['turn 1: Hello']);
        await talk.submit(
          [{ kind: 'GenerateFailed', run_id: 'run-1', turn: 1, code: 'x', message: 'x', retryable: true }],
          A,
        );
        for (const reader of [live, late])
          expect(await reader.until('retract')).toEqual(['commit 1', 'retract turn 1']);
        expect(await outcome(post(A, 'late'))).toBe('stale_lease');
        await live.close();
        await late.close();
      });

      test('is followed live without what the record has taken the place of', async () => {
        await talk.create();
        await talk.run();
        const { effects, epochs } = await talk.lease(A, { kinds: ['llm.generate'] });
        const posted = { owner: A, effect_id: (effects[0] as Effect).effect_id, epoch: epochs[0] as number };
        const live = liveReader(client, 1);
        await must(client.postDeltas(SESSION, { ...posted, parts: [{ kind: 'thinking', text: 'Hm.' }] }));
        await live.until('Hm.');
        await must(client.postDeltas(SESSION, { ...posted, parts: [{ kind: 'text', text: 'Done.' }] }));
        await live.until('Done.');
        const content = { text: 'Done.' };
        await talk.submit([{ kind: 'ToolCallsObserved', run_id: 'run-1', turn: 1, calls: [], content }], A);
        expect(await live.until('commit 1')).toEqual(['commit 1']);
        expect(JSON.stringify(await must(client.records(SESSION)))).not.toContain('Hm.');
        await live.close();
      });

      test('is not followed when it does not exist, or from an invalid position', async () => {
        await talk.create();
        const first = (id: SessionId, from: number): Promise<unknown> => {
          const events = client.follow(id, { from: from });
          return events[Symbol.asyncIterator]().next();
        };
        await expect(first(brand('none'), 0)).rejects.toMatchObject({ rejection: { code: 'unknown_session' } });
        await expect(first(brand('..'), 0)).rejects.toMatchObject({ rejection: { code: 'invalid_shape' } });
        await expect(first(SESSION, -1)).rejects.toMatchObject({ rejection: { code: 'invalid_shape', path: '/from' } });
      });
    });

    describe('leases', () => {
      test('wait until something is owed, and end empty after their wait', async () => {
        await talk.create();
        const waiting = client.lease(leaseRequest(A, { wait_ms: 20_000 }))();
        await talk.run();
        const grant = await waiting;
        expect(grant).toMatchObject({ right: { effects: [{ kind: 'llm.generate', effect_id: 'run-1/turn-1' }] } });
        expect(await talk.leased(B, { wait_ms: 5 })).toEqual([]);
      });

      test('are granted only for the requested kinds, tools and sessions, and at most `max`', async () => {
        await talk.create();
        await talk.calls(['a', 'free'], ['b', 'free'], ['c', 'keyed'], ['d', 'once']);
        expect(await talk.leased(A, { kinds: ['llm.generate'] })).toEqual([]);
        expect(await talk.leased(A, { sessions: [brand('other')] })).toEqual([]);
        expect(await talk.leased(A, { tools: ['fre'] })).toEqual([]);
        expect(await talk.leased(A, { tools: ['on*', 'keyed'], max: 1 })).toEqual(['batch-1/c/1']);
        expect(await talk.leased(A, { tools: ['on*', 'keyed'] })).toEqual(['batch-1/d/1']);
        expect(await talk.leased(B, { sessions: [SESSION], max: 1 })).toEqual(['batch-1/a/1']);
        const { effects, plans, ttl_ms } = await talk.lease(B);
        expect(effects.map(({ effect_id }) => effect_id)).toEqual(['batch-1/b/1']);
        const plan = (await talk.state()).active_tool_batch?.plan;
        expect(plans).toEqual([{ session_id: SESSION, batch_id: 'batch-1', plan }]);
        expect(ttl_ms).toBeGreaterThan(0);
        expect(await talk.leased(A)).toEqual([]);
      });

      test('of calls that wait for others go to the owner of those', async () => {
        await talk.create();
        await talk.calls(['a', 'barrier'], ['b', 'barrier'], ['c', 'barrier']);
        expect(await talk.leased(A, { max: 1 })).toEqual(['batch-1/a/1']);
        expect(await talk.leased(B)).toEqual([]);
        const rest = callsIn(await talk.lease(A));
        expect(rest.map(({ call_id, after }) => [call_id, after])).toEqual([
          ['b', ['a']],
          ['c', ['b']],
        ]);
      });

      test('are not granted to an aborted request', async () => {
        await talk.create();
        const controller = new AbortController();
        const waiting = client.lease(leaseRequest(A, { wait_ms: 20_000 }), controller.signal)();
        await talk.run();
        await waiting;
        await talk.release(A, 'run-1/turn-1');
        const aborted = client.lease(
          leaseRequest(A, { wait_ms: 20_000, kinds: ['batch.settle'] }),
          controller.signal,
        )();
        controller.abort();
        expect(await aborted).toMatchObject({ left: { code: 'closing' } });
        expect(await outcome(client.lease(leaseRequest(A), controller.signal))).toBe('closing');
        expect(await talk.leased(B)).toEqual(['run-1/turn-1']);
      });

      test('are kept by heartbeats, released, and lost to another owner', async () => {
        await talk.create();
        await talk.run();
        await talk.lease(A);
        expect(await talk.lost(A, 'run-1/turn-1', 'run-1/turn-9')).toEqual(['run-1/turn-9']);
        expect(await talk.lost(B, 'run-1/turn-1')).toEqual(['run-1/turn-1']);
        await talk.release(B, 'run-1/turn-1');
        expect(await talk.leased(B)).toEqual([]);
        await talk.release(A, 'run-1/turn-1');
        expect(await talk.leased(B)).toEqual(['run-1/turn-1']);
        expect(await talk.lost(A, 'run-1/turn-1')).toEqual(['run-1/turn-1']);
      });

      test('decide who may report', async () => {
        await talk.create();
        await talk.calls(['a', 'once']);
        const [call] = callsIn(await talk.lease(A)) as [EffectOfKind<'tool.call'>];
        const before = await bytesOf(client);
        expect(await talk.outcome(started(call, B), B)).toBe('stale_lease');
        expect(await talk.outcome(settled(call), B)).toBe('stale_lease');
        expect(await talk.outcome(started(call, B), A)).toBe('stale_lease');
        expect(await bytesOf(client)).toEqual(before);
        expect(await talk.outcome(started(call, A), A)).toBe('done');
        expect(await talk.outcome(settled(call), A)).toBe('done');
        expect(await talk.outcome(settled(call), A)).toBe('call_already_settled');
      });

      test('are refused to a malformed request', async () => {
        const bad = (request: unknown) => refusal(client.lease(request as never));
        expect(await bad(undefined)).toMatchObject({ code: 'invalid_shape', path: '' });
        expect(await bad({ ...leaseRequest(A), max: 0 })).toMatchObject({ code: 'invalid_shape', path: '/max' });
        expect(await bad({ ...leaseRequest(A), kinds: ['wake'] })).toMatchObject({ path: '/kinds/0' });
        expect(await refusal(client.heartbeat({ owner: A, leases: [{}] } as never))).toMatchObject({
          code: 'invalid_shape',
          path: '/leases/0/session_id',
        });
      });
    });

    describe('blobs', () => {
      test('are stored under their digest', async () => {
        const bytes = new TextEncoder().encode('some bytes');
        const ref = await must(client.putBlob(bytes));
        expect(ref).toBe(digestText('some bytes'));
        expect(await must(client.putBlob(bytes))).toBe(ref);
        expect(new TextDecoder().decode(await must(client.getBlob(ref)))).toBe('some bytes');
        expect(await must(client.putBlob(new Uint8Array()))).toBe(digestText(''));
        const late = await must(client.putBlob(new Uint8Array([7, 7]), { durable: false }));
        expect([...(await must(client.getBlob(late)))]).toEqual([7, 7]);
      });

      test('are refused when they are unknown, or their digest is invalid', async () => {
        expect(await outcome(client.getBlob(ZERO_DIGEST))).toBe('unknown_blob');
        expect(await outcome(client.getBlob(brand('sha256:../../etc/passwd')))).toBe('invalid_shape');
      });

      test('are joined in the order given', async () => {
        const part = async (text: string) => await must(client.putBlob(new TextEncoder().encode(text)));
        const [one, two] = [await part('one'), await part('two')];
        const ref = await must(client.joinBlobs({ parts: [two, one, two] }));
        expect(ref).toBe(digestText('twoonetwo'));
        expect(new TextDecoder().decode(await must(client.getBlob(ref)))).toBe('twoonetwo');
        expect(await must(client.joinBlobs({ parts: [one] }))).toBe(one);
      });

      test('are not joined without every part, without any, or beyond their number', async () => {
        const part = await must(client.putBlob(new TextEncoder().encode('one')));
        expect(await refusal(client.joinBlobs({ parts: [part, ZERO_DIGEST] }))).toMatchObject({
          code: 'unknown_blob',
          path: '/parts/1',
        });
        const many = Array.from({ length: BLOB_PARTS_MAX + 1 }, () => part);
        for (const parts of [[], many, ['x']]) {
          expect(await outcome(client.joinBlobs({ parts } as never))).toBe('invalid_shape');
        }
        expect(await outcome(client.joinBlobs(undefined as never))).toBe('invalid_shape');
      });

      test('are not joined into one that is too large', async () => {
        const part = await must(client.putBlob(new Uint8Array(1_048_576)));
        const parts = Array.from({ length: BLOB_BYTES_MAX / 1_048_576 + 1 }, () => part);
        expect(await refusal(client.joinBlobs({ parts }))).toMatchObject({ code: 'too_large', path: '/parts/64' });
      });

      test('large ones are uploaded in parts', async () => {
        const bytes = Uint8Array.from({ length: 2 * BLOB_PART_BYTES + 5 }, (_, at) => at % 251);
        const sizes: number[] = [];
        const counted = {
          ...client,
          putBlob: (part: Uint8Array) => {
            sizes.push(part.length);
            return client.putBlob(part);
          },
        };
        const ref = await must(uploadBlob(counted, bytes));
        expect(ref).toBe(digestText(bytes));
        expect(sizes).toEqual([BLOB_PART_BYTES, BLOB_PART_BYTES, 5]);
        expect(digestText(await must(client.getBlob(ref)))).toBe(ref);
        expect(await outcome(uploadBlob(counted, new Uint8Array(BLOB_BYTES_MAX + 1)))).toBe('too_large');
      });

      test('are reported as damaged', async ({ skip }) => {
        if (connected.damageBlob === undefined) skip();
        const ref = await must(client.putBlob(new TextEncoder().encode('precious')));
        await connected.damageBlob?.(ref);
        expect(await outcome(client.getBlob(ref))).toBe('damaged');
      });
    });

    test('refuses every request once the engine is closed, and ends waiting ones', async () => {
      await talk.create();
      const waiting = client.lease(leaseRequest(A, { wait_ms: 20_000 }))();
      const controller = new AbortController();
      const following = client.follow(SESSION, { signal: controller.signal })[Symbol.asyncIterator]().next();
      await must(client.info());
      await connected.close();
      controller.abort();
      const ended = await waiting;
      expect(isLeft(ended) ? ended.left.code : ended.right.effects).toEqual(isLeft(ended) ? 'closing' : []);
      expect(await following).toMatchObject({ done: true });
      for (const task of [
        client.info(),
        client.sessions(),
        client.session(SESSION),
        client.createSession(),
        client.submit(SESSION, { events: [RUN] }),
        client.records(SESSION),
        client.lease(leaseRequest(A)),
        client.heartbeat({ owner: A, leases: [] }),
        client.putBlob(new Uint8Array()),
        client.joinBlobs({ parts: [ZERO_DIGEST] }),
        client.getBlob(ZERO_DIGEST),
      ]) {
        expect(await outcome(task)).toBe('closing');
      }
    });
  });
}

const BAD_PAGES: readonly (readonly [from: number, limit: number, path: string])[] = [
  [-1, 1, '/from'],
  [0.5, 1, '/from'],
  [0, 0, '/limit'],
  [0, Number.NaN, '/limit'],
];

const RUN: Ingress = { kind: 'RunRequested', input: { text: 'go' } };

const bytesOf = async (client: EngineClient): Promise<Uint8Array> =>
  stateBytes((await must(client.session(SESSION))).state);

/** The run is paused and resumed so many times, in one request. */
const pauses = (times: number): readonly LooseIngress[] =>
  Array.from({ length: times }, (): readonly LooseIngress[] => [
    { kind: 'RunPaused', run_id: 'run-1' },
    { kind: 'RunResumed', run_id: 'run-1' },
  ]).flat();
