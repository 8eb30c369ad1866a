// An agent turn with engine and bridge in one process, compared with the floor: a generate, five calls that do nothing,
// their settlements, the end of the batch, the grant of the next generate. Every fact is durable before what depends on it.
import { join } from 'node:path';
import { alternate } from '../alternate.ts';
import { type Bench, type Figure, sized } from '../figure.ts';
import { FLOOR_BARRIERS, openFloor } from '../floor.ts';
import { openInProcess } from '../in-process.ts';
import type { Round } from '../round.ts';
import { type Row, ratioAtLeast, rowOf } from '../row.ts';

const REACH_ONE = 0.6;
const REACH_HUNDRED = 0.4;

/** Enough turns for V8 to compile the hot code: the rate rises by a half in the first 2,000. */
const WARM_TURNS = 3_000;

export const turn: Figure = {
  name: 'turn',
  run: (bench) =>
    measureTurns(bench, { where: 'in one process', open: openInProcess, reach: [REACH_ONE, REACH_HUNDRED] }),
};

/** Something that runs rounds of turns on a directory. */
interface Contestant {
  readonly run: (round: Round) => Promise<number>;
  readonly close: () => Promise<void>;
}

export interface TurnContest {
  readonly where: string;
  readonly open: (directory: string) => Promise<Contestant>;
  /** The targets with one session and with a hundred, as a share of the floor. */
  readonly reach: readonly [one: number, hundred: number];
}

export async function measureTurns(bench: Bench, { where, open, reach }: TurnContest): Promise<readonly Row[]> {
  const directory = await bench.directory();
  const floor = await openFloor(join(directory, 'floor'));
  const contestant = await open(join(directory, 'engine'));
  const rows: Row[] = [];
  try {
    for (const [index, sessions] of [1, sized(bench, 4, 100)].entries()) {
      const turns = sized(bench, sessions === 1 ? 6 : 2, sessions === 1 ? 100 : 20);
      const contest = {
        ran: () => contestant.run({ sessions, turns }),
        floored: () => floor.run(sessions, turns),
      };
      const doing = `turns ${where}, ${sessions} sessions`;
      bench.progress(`${doing}: warming up`);
      for (let warm = 0; warm < sized(bench, 1, WARM_TURNS); warm += sessions * turns) {
        await contestant.run({ sessions, turns });
        await floor.run(sessions, turns);
      }
      const runs = sized(bench, 1, 5);
      const { ran, floored } = await alternate(runs, contest, (run) => bench.progress(`${doing}: run ${run}/${runs}`));
      rows.push(
        rowOf({
          what: `agent turns ${where}, ${sessions} ${sessions === 1 ? 'session' : 'sessions'}`,
          unit: 'turns/s',
          values: ran,
          limit: { what: 'floor', values: floored },
          reach: ratioAtLeast(reach[index] ?? NaN),
        }),
      );
      if (sessions === 1) rows.push(barrierRow(where, floored));
    }
  } finally {
    await contestant.close();
    await floor.close();
  }
  return rows;
}

/** With one session the disk dominates the ratio: the slower a barrier is, the less everything else counts. */
const barrierRow = (where: string, floored: readonly number[]): Row =>
  rowOf({
    what: `one barrier of that floor, beside turns ${where}`,
    unit: 'ms',
    values: floored.map((turns) => 1_000 / (turns * FLOOR_BARRIERS)),
  });
