// The projection of recorded sessions to client streams: of every fixture and of random streams, and two of them to the letter.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isTerminal } from '../../../reducers/call-status.ts';
import type { SessionState } from '../../../schemas/state.ts';
import { type StreamedEvent, replay, personEffects } from '../../../src/core/index.ts';
import { arbitrary } from '../../../src/testing/arbitraries.ts';
import { recordsOf } from '../../audit/records.ts';
import { FIXTURES, checkStream, fixtureRecords, projected } from '../../support/client-streams.ts';
import { roundsOf } from '../../support/random.ts';
import { call, session } from '../../support/session.ts';
import { walk } from '../../support/streams.ts';

const folders = readdirSync(FIXTURES, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name);

/** The ids of the calls of the open batch that have not ended. */
const openCalls = ({ active_tool_batch: batch }: SessionState): readonly string[] =>
  (batch?.observed ?? [])
    .map(({ call_id }) => call_id)
    .filter((_, index) => !isTerminal(batch?.pages.flat()[index]?.status ?? 'queued'));

/** Checks a whole stream against the state it ends in. */
function fitsState(events: readonly StreamedEvent[], state: SessionState): boolean {
  const open = checkStream(events);
  expect([...open.calls].sort()).toEqual([...openCalls(state)].sort());
  expect([...open.runs]).toEqual(state.run === null ? [] : [state.run.run_id]);
  const asked = personEffects(state).map(({ effect_id }) => effect_id);
  expect([...open.questions].sort()).toEqual(asked.sort());
  return true;
}

const linesOf = (events: readonly StreamedEvent[]): string =>
  events.map(({ event, data, id }) => `${id} ${event} ${JSON.stringify(data)}\n`).join('');

describe.each(folders)('replay-fixtures/%s', (folder) => {
  test('each call has one result, each question one answer, each run one end', () => {
    const records = fixtureRecords(folder);
    expect(fitsState(projected(records), replay(records).state as SessionState)).toBe(true);
  });
});

test.each(['demo', 'confirmations'])('the client stream of %s is the recorded one', (folder) => {
  const golden = new URL(`../../golden/client-stream-${folder}.txt`, import.meta.url);
  const now = linesOf(projected(fixtureRecords(folder)));
  if (process.env['REFOLD_WRITE_GOLDEN'] === '1') writeFileSync(golden, now);
  expect(now).toBe(readFileSync(golden, 'utf8'));
});

test('each event of a client stream is in a recorded session', () => {
  const said = new Set(folders.flatMap((folder) => projected(fixtureRecords(folder)).map(({ event }) => event)));
  expect([...said].sort()).toEqual([
    'content_block_start',
    'content_block_stop',
    'error',
    'hitl_request',
    'hitl_resolved',
    'text_delta',
    'thread_lifecycle',
    'tool_call',
    'tool_result',
    'usage',
  ]);
});

test('a random stream fits the state it ends in', () => {
  for (let seed = 1; seed <= roundsOf(40, 400); seed += 1) {
    const walked = walk(seed, 120).session;
    expect(fitsState(projected(recordsOf(walked)), walked.state)).toBe(true);
  }
});

test('an arbitrary stream fits the state it ends in', () => {
  fc.assert(
    fc.property(arbitrary.ingressStream({ lengthMax: 60 }), (stream) => {
      expect(fitsState(projected(recordsOf(stream)), stream.state)).toBe(true);
    }),
    { numRuns: roundsOf(60, 2_000) },
  );
});

test('a turn that ends its run has a result for each of its calls', () => {
  const now = session({ config: { turns_max: 1, calls_max: 1 } })
    .runRequested()
    .observed([call('a', 'read'), call('b', 'read')]);
  expect(now.state.run).toBeNull();
  const results = projected(recordsOf(now)).filter(({ event }) => event === 'tool_result');
  expect(results).toMatchObject([
    { data: { tool_call_id: 'a', error: expect.any(String) } },
    { data: { tool_call_id: 'b', error: expect.any(String) } },
  ]);
});
