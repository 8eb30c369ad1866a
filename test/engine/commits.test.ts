// What is appended together is one commit: one state digest, one link of the chain, and never split in the stream itself.
import { isLeft } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import { brand } from '../../schemas/ids.ts';
import { EVENTS_PER_COMMIT_MAX, FOLLOW_PAGE_EVENTS } from '../../schemas/limits.ts';
import { type CommitRecord, type GenesisRecord, type StreamRecord, versionAfter } from '../../schemas/record.ts';
import type { EngineClient } from '../../src/client/client.ts';
import { must } from '../../src/client/must.ts';
import { eventDigest, nextChain, replay, stateDigest } from '../../src/core/index.ts';
import { newLineageCheck } from '../../src/core/lineage.ts';
import { newDisk } from '../support/engine/disk.ts';
import { serveClient } from '../support/engine/serving.ts';
import { type LooseIngress, SESSION, Talk, type World, durable, newWorld } from '../support/engine/world.ts';
import { commitSizes, eventsOf, streamEvents } from '../support/records.ts';

const followUp = (text: string): LooseIngress => ({ kind: 'FollowUpQueued', follow_up: { input: { text } } });
const pause: LooseIngress = { kind: 'RunPaused', run_id: 'run-1' };
const resume: LooseIngress = { kind: 'RunResumed', run_id: 'run-1' };
const pauses = (times: number): readonly LooseIngress[] => Array.from({ length: times }, () => [pause, resume]).flat();

const commitsOf = (records: readonly StreamRecord[]): readonly CommitRecord[] =>
  records.filter((record) => record.kind === 'commit');

describe('requests that are grouped into one commit', () => {
  test('share one state digest and one link of the chain', async () => {
    const { talk, engine, disk } = await newWorld();
    await talk.create();
    await talk.run();
    await Promise.all(Array.from({ length: 12 }, (_, index) => talk.submit([followUp(`${index}`)])));
    const records = await must(engine.client.records(SESSION));
    // The second one is appended alone; those that arrive during that append are one commit.
    expect(commitSizes(records)).toEqual([1, 1, 11]);
    const [, before, last] = commitsOf(records) as readonly [CommitRecord, CommitRecord, CommitRecord];
    const { state, state_digest, chain } = await must(engine.client.session(SESSION));
    expect(last).toMatchObject({ position: 2, state_digest, chain });
    expect(last.state_digest).toBe(stateDigest(await durable(disk)));
    expect(last.chain).toBe(nextChain(before.chain, last.events.map(eventDigest), stateDigest(state)));
    expect(replay(records)).toMatchObject({ divergence: null, events: 13, chain });
  });

  test('are in the commit without those that were refused', async () => {
    const { talk, engine } = await newWorld();
    await talk.create();
    await talk.run();
    const first = talk.outcome(pause);
    const codes = await Promise.all([
      talk.outcome(resume),
      talk.outcome(resume),
      talk.outcome(followUp('a')),
      talk.outcome({ kind: 'RunRequested', input: { text: 'again' } }),
      // Several events of one request are recorded together, or none of them is.
      engine.client
        .submit(SESSION, { events: [pause, pause] as never })()
        .then((answer) => isLeft(answer) && answer.left.code),
      talk.outcome(followUp('b')),
    ]);
    expect(await first).toBe('done');
    expect(codes).toEqual(['done', 'wrong_phase', 'done', 'run_already_active', 'wrong_phase', 'done']);
    const records = await must(engine.client.records(SESSION));
    expect(commitSizes(records)).toEqual([1, 1, 3]);
    expect(eventsOf(records).map(({ kind }) => kind)).toEqual([
      'RunRequested',
      'RunPaused',
      'RunResumed',
      'FollowUpQueued',
      'FollowUpQueued',
    ]);
    expect(replay(records).divergence).toBeNull();
  });

  test('are no commit when all of them were refused', async () => {
    const { talk, engine, disk } = await newWorld();
    await talk.create();
    await talk.run();
    const appends = (): number => disk.calls.filter((name) => name === 'append').length;
    const before = appends();
    expect(await Promise.all([resume, resume, resume].map((event) => talk.outcome(event)))).toEqual(
      Array.from({ length: 3 }, () => 'wrong_phase'),
    );
    expect(appends()).toBe(before);
    expect(commitSizes(await must(engine.client.records(SESSION)))).toEqual([1]);
  });

  test('are as many commits as their events need', async () => {
    const { talk, engine } = await newWorld();
    await talk.create();
    await talk.run();
    const sizes = [2, 200, 100, 156, 10];
    await Promise.all(sizes.map((size) => talk.submit(pauses(size / 2))));
    const records = await must(engine.client.records(SESSION));
    expect(commitSizes(records)).toEqual([1, 2, 200, EVENTS_PER_COMMIT_MAX, 10]);
    expect(replay(records).divergence).toBeNull();
  });

  test('are recorded all or not at all, whatever fails', async () => {
    for (const fault of ['refused', 'full', 'unknown', 'lost_ack', 'throws'] as const) {
      const { talk, engine, disk } = await newWorld();
      await talk.create();
      await talk.run();
      const codes = [talk.outcome(pause)];
      let appends = 0;
      disk.fault = ({ name }) => (name === 'append' && (appends += 1) === 2 ? fault : null);
      codes.push(...[resume, followUp('a'), followUp('b')].map((event) => talk.outcome(event)));
      const [first, ...others] = await Promise.all(codes);
      disk.fault = () => null;
      expect(first).toBe('done');
      expect(new Set(others).size, `after ${fault}`).toBe(1);
      const records = await must(engine.client.records(SESSION));
      expect(commitSizes(records), `after ${fault}`).toEqual(fault === 'lost_ack' ? [1, 1, 3] : [1, 1]);
      expect(replay(records).divergence).toBeNull();
    }
  });
});

/** A session with commits of 1, 6, 2 and 3 events, the last of which leave the run paused. */
async function grouped(): Promise<World> {
  const world = await newWorld();
  await world.talk.create();
  await world.talk.run();
  await world.talk.submit(pauses(3));
  await world.talk.submit(pauses(1));
  await world.talk.submit([...pauses(1), pause]);
  return world;
}

const EVENTS = 12;

describe('a fork', () => {
  test.each(['pause', 'go', 'end'] as const)('at every position, run: %s', async (run) => {
    const { engine } = await grouped();
    const { client } = engine;
    const source = await must(client.records(SESSION));
    expect(commitSizes(source)).toEqual([1, 6, 2, 3]);
    for (let at = 0; at <= EVENTS; at += 1) {
      const id = brand<'SessionId'>(`fork-${run}-${at}`);
      const summary = await must(client.fork(SESSION, { session_id: id, at, run }));
      const records = await must(client.records(id));
      const replayed = replay(records);
      expect(replayed.divergence, `at ${at}`).toBeNull();
      expect(summary).toMatchObject({ session_id: id, version: replayed.events });
      expect(await must(client.session(id))).toMatchObject({ chain: replayed.chain });
      expect(streamEvents(records).slice(0, at)).toEqual(streamEvents(source).slice(0, at));
      // Whole commits stay as they are; the first events of the one that goes on are one commit with the fork's own.
      const whole = commitsOf(source).filter((commit) => versionAfter(commit) <= at);
      const shared = whole.at(-1);
      const split = at - (shared === undefined ? 0 : versionAfter(shared));
      const own = replayed.events - at;
      expect(commitSizes(records), `at ${at}`).toEqual([
        ...whole.map(({ events }) => events.length),
        ...(split + own === 0 ? [] : [split + own]),
      ]);
      const { genesis } = records[1] as GenesisRecord;
      const chain = shared?.chain ?? (source[1] as GenesisRecord).chain;
      expect(genesis.forked_from).toEqual({ session_id: SESSION, position: at, chain });
      const lineage = newLineageCheck(genesis);
      for (let index = 0; lineage.add(source[index] ?? null, records[index] ?? null); index += 1);
      expect(lineage.fault(), `at ${at}`).toBeNull();
    }
    expect(await client.fork(SESSION, { at: EVENTS + 1 })()).toMatchObject({ left: { code: 'position_unknown' } });
    await engine.close();
  });

  test('of a fork inside a commit goes on, and survives a restart', async () => {
    const world = await grouped();
    const id = brand<'SessionId'>('second');
    await must(world.engine.client.fork(SESSION, { session_id: brand<'SessionId'>('first'), at: 4 }));
    await must(world.engine.client.fork(brand<'SessionId'>('first'), { session_id: id, at: 3 }));
    await world.restart();
    const talk = new Talk(world.engine.client, id);
    expect((await talk.state()).version).toBeGreaterThanOrEqual(3);
    await talk.submit([followUp('on')]);
    expect(replay(await must(world.engine.client.records(id))).divergence).toBeNull();
    await world.engine.close();
  });
});

/** The positions of the next events from one on. */
async function follow(client: EngineClient, from: number, count: number): Promise<readonly number[]> {
  const seen: number[] = [];
  for await (const { position } of client.follow(SESSION, { from })) if (seen.push(position) === count) break;
  return seen;
}

const upFrom = (from: number, count: number): readonly number[] => Array.from({ length: count }, (_, at) => from + at);

describe('following from inside a commit', () => {
  test('yields each event once, in process and over HTTP, also over more than a page', async () => {
    const { talk, engine } = await grouped();
    await talk.submit([resume, ...pauses(100)]);
    const served = await serveClient(engine.client);
    const version = EVENTS + 201;
    for (const client of [engine.client, served.client]) {
      for (const from of [0, 1, 2, 6, 7, 11, 12, EVENTS + FOLLOW_PAGE_EVENTS, version - 1]) {
        expect(await follow(client, from, version - from)).toEqual(upFrom(from, version - from));
      }
    }
    await served.close();
    await engine.close();
  });

  test('over HTTP goes on after restarts, without a gap or a repeat', async () => {
    for (const from of [0, 1, 4, 6, 8, EVENTS - 1]) {
      const world = await grouped();
      let served = await serveClient(world.engine.client);
      const { client, port } = served;
      const seen: number[] = [];
      for await (const { position } of client.follow(SESSION, { from })) {
        seen.push(position);
        if (seen.length === 1 || seen.length === 4) {
          await served.close();
          await world.restart();
          await world.talk.submit(seen.length === 1 ? [resume, pause, resume] : pauses(2));
          served = await serveClient(world.engine.client, port);
        }
        if (position === EVENTS + 6) break;
      }
      expect(seen).toEqual(upFrom(from, EVENTS + 7 - from));
      await served.close();
      await world.engine.close();
    }
  });
});

test('what was recorded in groups is the same session after a restart', async () => {
  const world = await newWorld(newDisk());
  await world.talk.create();
  await world.talk.run();
  await Promise.all(Array.from({ length: 15 }, (_, index) => world.talk.submit([followUp(`${index}`)])));
  const before = await must(world.engine.client.session(SESSION));
  await world.restart();
  expect(await must(world.engine.client.session(SESSION))).toEqual(before);
  await world.engine.close();
});
