// Engine and bridges are killed repeatedly while many sessions run. Nothing that was acknowledged is lost, every call
// settles once, no call that must not be repeated runs twice, and no command outlives its bridge. `npm test` kills the
// engine, both bridges, and the engine with a bridge once, from a fixed seed; REFOLD_TEST_ROUNDS=10 runs 80 sessions and 60 rounds from a new seed.
import { afterEach, describe, expect, test } from 'vitest';
import type { EventOfKind } from '../../schemas/event.ts';
import { type SessionId, brand } from '../../schemas/ids.ts';
import { type StreamRecord, eventsIn } from '../../schemas/record.ts';
import { replay } from '../../src/core/index.ts';
import { CrashWorld, eventually } from '../support/e2e/crash-world.ts';
import { must } from '../../src/client/must.ts';
import { type Random, randomFrom, roundsOf } from '../support/random.ts';
import { eventsOf } from '../support/records.ts';

const STEPS_MAX = 40;
const TURNS_MAX = 40;
const FOLLOW_UPS_PER_ROUND = 4;

let world: CrashWorld | null = null;
afterEach(async () => {
  await world?.close();
  world = null;
});

const runOf = (session: string, run: string | number): string => `${session}-r${run}`;

/** Who is killed together. The first few are the sample. */
const VICTIMS: readonly (readonly string[])[] = [
  ['engine'],
  ['one', 'two'],
  ['engine', 'one'],
  ['one'],
  ['two'],
  ['engine', 'one', 'two'],
];
const SAMPLE = 3;

const SESSIONS = roundsOf(4, 80);
const ROUNDS = roundsOf(SAMPLE, 10 * VICTIMS.length);
const IS_SAMPLE = ROUNDS === SAMPLE;
const SEED = Number(process.env['REFOLD_TEST_SEED'] ?? (IS_SAMPLE ? 1 : Date.now() % 1_000_000));

/** One round: some progress, a kill at a random moment, a restart of what was killed. */
async function round(crash: CrashWorld, random: Random, number: number): Promise<void> {
  await crash.untilMoreLines(1 + random.below(STEPS_MAX));
  // The random moment is the point of the test; this waits for no condition.
  for (let turns = random.below(TURNS_MAX); turns > 0; turns -= 1) await nextTurn();
  // The first rounds cover every group of victims.
  const victims = VICTIMS[number - 1] ?? random.pick(VICTIMS);
  await crash.kill(...victims);
  const starts = victims.map((victim) => () => (victim === 'engine' ? crash.startEngine() : crash.startBridge(victim)));
  // A bridge that starts before its engine waits for it.
  await Promise.all((random.oneIn(2) ? starts : starts.toReversed()).map((start) => start()));
}

/** Lets this process read what the others have written meanwhile. */
const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

async function recordsOf(crash: CrashWorld, id: SessionId): Promise<readonly StreamRecord[]> {
  const records: StreamRecord[] = [...(await must(crash.client.records(id)))];
  for (;;) {
    const more = await must(crash.client.records(id, eventsOf(records).length));
    if (more.length === 0) return records;
    records.push(...more);
  }
}

async function expectAcked(crash: CrashWorld, from: number): Promise<void> {
  for (const { session, event_id, position } of crash.acked.slice(from)) {
    const [record] = await must(crash.client.records(session, position, 1));
    const found = record?.kind === 'commit' ? eventsIn(record).find((event) => event.position === position) : undefined;
    expect(found?.event.event_id, `acked at ${session} ${position}`).toBe(event_id);
  }
}

const repeatedIn = (names: readonly string[]): readonly string[] =>
  names.filter((name, index) => names.indexOf(name) !== index);

interface Tally {
  runs: number;
  calls: number;
  unknown: number;
}

/** Every call of a session settles once, and every command that succeeded has left its mark. */
function expectSettledOnce(records: readonly StreamRecord[], marks: ReadonlySet<string>, tally: Tally): void {
  const events = eventsOf(records);
  const observed = events.flatMap((event) => (event.kind === 'ToolCallsObserved' ? event.calls : []));
  for (const { call_id, tool_name } of observed) {
    const ends = events.filter((event): event is EventOfKind<'ToolCallSettled'> => {
      return event.kind === 'ToolCallSettled' && event.call_id === call_id;
    });
    const lost = events.filter((event) => event.kind === 'LeaseExpired' && event.call_id === call_id);
    const repeatable = tool_name === 'exists';
    expect(ends.length + (repeatable ? 0 : lost.length), `ends of ${call_id}`).toBe(1);
    expect(new Set(observed.map((call) => call.call_id)).size).toBe(observed.length);
    tally.calls += 1;
    tally.unknown += repeatable ? 0 : lost.length;
    if (tool_name === 'shell' && ends[0]?.result.success === true) expect([...marks]).toContain(call_id);
  }
  tally.runs += events.filter(({ kind }) => kind === 'RunRequested' || kind === 'FollowUpQueued').length;
}

describe('killed processes', () => {
  test(
    `lose nothing and repeat nothing: ${SESSIONS} sessions, ${ROUNDS} rounds`,
    async () => {
      const crash = await CrashWorld.open();
      world = crash;
      const random = randomFrom(SEED);
      const ids = await Promise.all(Array.from({ length: SESSIONS }, (_, n) => crash.createSession(`s${n}`)));
      await Promise.all([crash.startBridge('one'), crash.startBridge('two')]);
      const submitting: Promise<void>[] = ids.map((id) =>
        crash.submit(id, { kind: 'RunRequested', event_id: brand(`go-${id}`), input: { text: runOf(id, 0) } }),
      );
      let at = 0;
      try {
        for (at = 1; at <= ROUNDS; at += 1) {
          const acked = crash.acked.length;
          for (let n = 0; n < FOLLOW_UPS_PER_ROUND; n += 1) {
            const id = random.pick(ids);
            const input = { text: runOf(id, `${at}-${n}`) };
            submitting.push(
              crash.submit(id, { kind: 'FollowUpQueued', event_id: brand(`more-${at}-${n}`), follow_up: { input } }),
            );
          }
          await round(crash, random, at);
          await expectAcked(crash, acked);
          expect(repeatedIn(await crash.marks())).toEqual([]);
        }
        await Promise.all(submitting);
        for (const id of ids) await crash.idle(id);
        await expectEnd(crash, ids);
      } catch (error) {
        const repeat = `REFOLD_TEST_SEED=${SEED} npx vitest run test/e2e/crash-rounds.test.ts`;
        throw new Error(`round ${at} of ${ROUNDS}, seed ${SEED}; to repeat: ${repeat}`, { cause: error });
      }
    },
    60_000 + ROUNDS * 6_000,
  );
});

async function expectEnd(crash: CrashWorld, ids: readonly SessionId[]): Promise<void> {
  const marks = await crash.marks();
  expect(repeatedIn(marks)).toEqual([]);
  const tally: Tally = { runs: 0, calls: 0, unknown: 0 };
  for (const id of ids) {
    const records = await recordsOf(crash, id);
    const view = await must(crash.client.session(id));
    expect(replay(records)).toMatchObject({ divergence: null, stateDigest: view.state_digest, chain: view.chain });
    expectSettledOnce(records, new Set(marks), tally);
  }
  await expectAcked(crash, 0);
  expect(crash.model.unpaired).toEqual([]);
  await eventually('no command is left', () => crash.orphans().length === 0);
  const delivered = crash.lines.reduce(
    (sum, line) => sum + (line['event'] === 'recovered' ? Number(line['settled']) : 0),
    0,
  );
  const { runs, calls, unknown } = tally;
  process.stdout.write(
    `crash rounds: seed ${SEED}, ${ROUNDS} kills, ${ids.length} sessions, ${runs} runs, ${calls} calls, ` +
      `${marks.length} marks, ${unknown} calls of unknown outcome, ${delivered} settlements delivered by a successor\n`,
  );
}
