// The cost of the next events early and late in a session: whole steps (decode, admit, fold, digest) from prepared states at
// these positions. Everything that could grow (history, transcript) reaches its bound long before the last position.
import type { IngressEvent } from '../../schemas/event.ts';
import type { SessionState } from '../../schemas/state.ts';
import { stateDigest, step } from '../../src/core/index.ts';
import { alternate } from '../alternate.ts';
import { type Bench, type Figure, sized } from '../figure.ts';
import { type Row, ratioAtMost, rowOf } from '../row.ts';
import { TURN_EVENTS, benchGenesis, recordStream } from '../stream.ts';
import { mustBe } from '../../src/client/must.ts';

const REACH = 1.2;
const FIRST = 10;

/** How many turns are measured from each position; they include the sealing of pages. */
const TURNS = 66;

export const position: Figure = { name: 'position', run: measure };

interface Place {
  readonly at: number;
  readonly state: SessionState;
  readonly texts: readonly string[];
}

async function measure(bench: Bench): Promise<readonly Row[]> {
  const late = bench.full ? [1_000, 100_000, 1_000_000] : [1_000, 100_000];
  const places = makePlaces(bench, [FIRST, ...(bench.quick ? [200] : late)]);
  const contest = Object.fromEntries(places.map((place) => [String(place.at), () => microsecondsAt(place)]));
  for (let warmUp = 0; warmUp < sized(bench, 1, 3); warmUp += 1) for (const run of Object.values(contest)) run();
  const runs = sized(bench, 1, 11);
  const values = await alternate(runs, contest, (run) => bench.progress(`position: run ${run}/${runs}`));
  const first = values[String(FIRST)] ?? [];
  return places.slice(1).map(({ at }) =>
    rowOf({
      what: `the next event at position ${at}`,
      unit: 'µs',
      values: values[String(at)] ?? [],
      limit: { what: `at position ${FIRST}`, values: first },
      reach: ratioAtMost(REACH),
    }),
  );
}

function makePlaces(bench: Bench, positions: readonly number[]): readonly Place[] {
  const events = TURNS * TURN_EVENTS;
  const open = positions.map((at) => ({ at, state: null as SessionState | null, texts: [] as string[] }));
  let count = 0;
  for (const { event, state } of recordStream(benchGenesis(), (positions.at(-1) ?? 0) + events)) {
    for (const place of open) {
      if (count >= place.at && count < place.at + events) place.texts.push(JSON.stringify(event));
      if (count + 1 === place.at) place.state = state;
    }
    count += 1;
    if (count % 20_000 === 0) bench.progress(`position: made ${count} events`);
  }
  return open.flatMap(({ state, ...place }) => (state === null ? [] : [{ ...place, state }]));
}

/** Microseconds for one event. */
function microsecondsAt({ state, texts }: Place): number {
  const events = texts.map((text) => JSON.parse(text) as IngressEvent);
  let now = state;
  stateDigest(now);
  const startedAt = performance.now();
  for (const event of events) now = mustBe(step(now, event)).state;
  return ((performance.now() - startedAt) * 1_000) / events.length;
}
