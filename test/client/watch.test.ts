// Watching a session over both clients, and by random streams against a naive reading of all of their records.
import * as fc from 'fast-check';
import { left, right } from 'fp-ts/lib/Either.js';
import { describe, expect, test, vi } from 'vitest';
import type { Ingress } from '../../schemas/event.ts';
import type { RunId } from '../../schemas/ids.ts';
import { type CommitRecord, type StreamRecord, versionAfter } from '../../schemas/record.ts';
import { reject } from '../../schemas/rejection.ts';
import { openMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import type { EngineClient } from '../../src/client/client.ts';
import { StreamDiverged, type WatchedSession, must, resultsOf, watch } from '../../src/client/index.ts';
import { beginStream, streamFrom } from '../../src/client/watch/session-stream.ts';
import { foldStored } from '../../src/client/watch/stored-stream.ts';
import { effects, newRunResults, replay, requiredActions, sessionStatus } from '../../src/core/index.ts';
import { startEngine } from '../../src/engine/engine.ts';
import { newSchemaCheck } from '../../src/engine/edge/schema-check.ts';
import { openMemoryJournal } from '../../src/journal/memory-journal.ts';
import { commitsIn, foldedIn, recordsOf } from '../audit/records.ts';
import { serveClient } from '../support/engine/serving.ts';
import { describeWatching } from '../support/engine/watch-contract.ts';
import { SESSION } from '../support/engine/world.ts';
import { walk } from '../support/streams.ts';

const checkSchema = newSchemaCheck();
const started = () => must(startEngine({ journal: openMemoryJournal(), blobs: openMemoryBlobs(), checkSchema }));

describeWatching('a client in process', async () => {
  const engine = await started();
  return { client: engine.client, close: () => engine.close() };
});

describeWatching('a client over HTTP', async () => {
  const engine = await started();
  const served = await serveClient(engine.client);
  return {
    client: served.client,
    close: async () => {
      await served.close();
      await engine.close();
    },
  };
});

/** A client of one stream that is whole: following it ends after its last commit. */
function clientOf(records: readonly StreamRecord[]): EngineClient {
  const commits = commitsIn(records);
  const rest = (from: number): readonly CommitRecord[] => commits.filter((commit) => versionAfter(commit) > from);
  const heads = records.filter(({ kind }) => kind !== 'commit');
  const known = {
    session: () => () => Promise.resolve(right({ state: { version: commits.reduce((_, c) => versionAfter(c), 0) } })),
    records: (_id: unknown, from?: number) => () =>
      Promise.resolve(right(from === undefined ? [...heads, ...rest(0).slice(0, 2)] : rest(from).slice(0, 2))),
    followLive: async function* (_id: unknown, options: { readonly from?: number } = {}) {
      yield* rest(options.from ?? 0);
    },
  };
  return known as unknown as EngineClient;
}

async function all(items: AsyncIterable<WatchedSession>): Promise<readonly WatchedSession[]> {
  const seen: WatchedSession[] = [];
  for await (const item of items) seen.push(item);
  return seen;
}

const stream = fc.record({
  seed: fc.nat({ max: 400 }),
  length: fc.integer({ min: 1, max: 60 }),
  sizes: fc.array(fc.integer({ min: 1, max: 7 }), { maxLength: 20 }),
  from: fc.nat({ max: 60 }),
});

describe('of a random stream', () => {
  test('each item of a watch is what all records up to it fold to, from any position', async () => {
    await fc.assert(
      fc.asyncProperty(stream, async ({ seed, length, sizes, from }) => {
        const records = recordsOf(walk(seed, length).session, sizes);
        const version = commitsIn(records).reduce((_, commit) => versionAfter(commit), 0);
        const start = Math.min(from, version);
        const items = await all(watch(clientOf(records), SESSION, { from: start }));
        const ends = [0, ...commitsIn(records).map(versionAfter)].filter((end) => end >= start);
        expect(items.map((item) => item.version)).toEqual(ends);
        expect(items.flatMap(({ events }) => events.map(({ position }) => position))).toEqual(
          Array.from({ length: version - start }, (_, index) => start + index),
        );
        for (const item of items) {
          const upTo = records.filter((record) => record.kind !== 'commit' || versionAfter(record) <= item.version);
          const { state, stateDigest } = replay(upTo);
          if (state === null) throw new Error('a stream without a genesis');
          expect(item).toMatchObject({ state, stateDigest, status: sessionStatus(state).status, deltas: [] });
          expect(item.owed).toEqual(effects(state));
          expect(item.waiting).toEqual(requiredActions(state));
        }
      }),
      { numRuns: 12 },
    );
  });

  test('no commit is shown after one that was changed', async () => {
    await fc.assert(
      fc.asyncProperty(stream, fc.nat(), async ({ seed, length, sizes }, at) => {
        const records = recordsOf(walk(seed, length).session, sizes);
        const commits = commitsIn(records);
        fc.pre(commits.length > 0);
        const changed = commits[at % commits.length] as CommitRecord;
        const other = {
          ...changed,
          chain: commits[0] === changed ? changed.state_digest : (commits[0] as CommitRecord).chain,
        };
        const served = clientOf(records.map((record) => (record === changed ? other : record)));
        const seen: number[] = [];
        const watching = async (): Promise<void> => {
          for await (const { version } of watch(served, SESSION, { from: 0 })) seen.push(version);
        };
        await expect(watching()).rejects.toBeInstanceOf(StreamDiverged);
        expect(Math.max(...seen)).toBe(changed.position);
      }),
      { numRuns: 8 },
    );
  });

  test('the results of its runs are the answers that the model reads, in order', async () => {
    await fc.assert(
      fc.asyncProperty(stream, async ({ seed, length, sizes }) => {
        const records = recordsOf(walk(seed, 2 * length).session, sizes);
        const folded = foldedIn(records);
        const last = folded.at(-1)?.after;
        if (last === undefined) return;
        const pages = folded.flatMap(({ sealed }) => (sealed === null ? [] : [JSON.parse(sealed.text) as Page]));
        const told = [...pages.flatMap(({ entries }) => entries), ...last.transcript.open]
          .filter(({ role }) => role === 'tool')
          .map(({ content, is_error }) => [content, is_error]);
        const collected = newRunResults();
        for (const event of folded) collected.add(event);
        const results = collected.result();
        const run = `run-${1 + (seed % Math.max(1, last.runs_started))}` as RunId;
        const ofRun = newRunResults(run);
        for (const event of folded) ofRun.add(event);
        expect(await resultsOf(clientOf(records), SESSION, run)).toEqual(ofRun.result());
        const open = last.active_tool_batch?.observed.length ?? 0;
        const over = results.slice(0, results.length - open);
        expect(over.map(({ output, status }) => [output, status !== 'succeeded'])).toEqual(told);
        for (const { result, status, shares, code } of over) {
          if (result?.success === true && status !== 'succeeded') expect(code).toBe('tool_invalid_result');
          if (shares !== null) expect(over.some(({ call }) => call.call_id === shares)).toBe(true);
        }
      }),
      { numRuns: 12 },
    );
  });
});

test('a refused read is a RejectedError with the code of the engine', async () => {
  const refused = { records: () => () => Promise.resolve(left(reject('unknown_session', '', 'none'))) };
  await expect(resultsOf(refused as never, SESSION, 'run-1' as never)).rejects.toMatchObject({
    rejection: { code: 'unknown_session' },
  });
});

type Page = {
  readonly entries: readonly { readonly role: string; readonly content?: unknown; readonly is_error?: boolean }[];
};

test('whoever folds a stream may give way to other work between two events of a commit', async () => {
  const engine = await started();
  const { session_id } = await must(engine.client.createSession({}));
  const override = (nth: number) => ({
    kind: 'ToolOverridesSet',
    scope: 'session',
    disable: nth % 2 ? ['host.exec'] : [],
  });
  const events = Array.from({ length: 20 }, (_, nth) => override(nth)) as unknown as readonly Ingress[];
  await must(engine.client.submit(session_id, { events }));
  const stop = new AbortController();
  const pause = vi.fn<() => Promise<void>>(() => Promise.resolve());
  let folded = 0;
  for await (const { events: some } of foldStored(engine.client, session_id, pause)) folded += some.length;
  expect(folded).toBe(20);
  expect(pause.mock.calls.length).toBeGreaterThanOrEqual(20);
  pause.mockClear();
  const start = await beginStream(engine.client, session_id);
  pause.mockImplementation(() => {
    // Twenty events and the commit itself.
    if (pause.mock.calls.length === 21) stop.abort();
    return Promise.resolve();
  });
  for await (const _batch of streamFrom(engine.client, start, { pause, signal: stop.signal })) break;
  expect(pause).toHaveBeenCalledTimes(21);
  await engine.close();
});
