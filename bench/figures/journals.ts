// The throughput of each journal: many sessions append the events of turn after turn, as the engine does. The journal on
// disk is compared with the floor. On a shared machine its processor time says more.
import { join } from 'node:path';
import { openLevelStore } from '../../src/journal/level/store.ts';
import { openMemoryJournal } from '../../src/journal/memory-journal.ts';
import type { OpenStore } from '../../src/journal/store.ts';
import { openStoredJournal } from '../../src/journal/stored-journal.ts';
import { alternate } from '../alternate.ts';
import { appendTurns } from '../append-turns.ts';
import { type Bench, type Figure, sized } from '../figure.ts';
import { openFloor } from '../floor.ts';
import { must } from '../../src/client/must.ts';
import { type Row, rowOf } from '../row.ts';

export const journals: Figure = { name: 'journals', run: measure };

async function measure(bench: Bench): Promise<readonly Row[]> {
  const directory = await bench.directory();
  const counted = { puts: 0, turns: 0, cpuMicros: [] as number[] };
  const level = await must(openStoredJournal(counting(() => openLevelStore(join(directory, 'level')), counted)));
  const memory = openMemoryJournal();
  const floor = await openFloor(join(directory, 'floor'));
  const sessions = sized(bench, 4, 100);
  const turns = sized(bench, 2, 20);
  try {
    const contest = {
      level: async () => {
        const before = process.cpuUsage();
        const { rate } = await appendTurns(level, sessions, turns);
        const { user, system } = process.cpuUsage(before);
        counted.cpuMicros.push((user + system) / (sessions * turns));
        counted.turns += sessions * turns;
        return rate;
      },
      memory: async () => (await appendTurns(memory, sessions, turns)).rate,
      floored: () => floor.run(sessions, turns),
    };
    for (const warmUp of Object.values(contest)) await warmUp();
    counted.cpuMicros = [];
    const runs = sized(bench, 1, 5);
    const values = await alternate(runs, contest, (run) => bench.progress(`journals: run ${run}/${runs}`));
    const what = (name: string): string => `the journal ${name} alone, ${sessions} sessions`;
    const limit = { what: 'floor', values: values.floored };
    return [
      rowOf({ what: what('on LevelDB'), unit: 'turns/s', values: values.level, limit }),
      rowOf({ what: what('in memory'), unit: 'turns/s', values: values.memory }),
      rowOf({ what: 'processor time of one turn in the journal on LevelDB', unit: 'µs', values: counted.cpuMicros }),
      rowOf({ what: 'puts of one turn, a session created included', unit: '', values: [counted.puts / counted.turns] }),
    ];
  } finally {
    await floor.close();
    await level.close();
    await memory.close();
  }
}

const counting =
  (open: OpenStore, counted: { puts: number }): OpenStore =>
  async () => {
    const store = await open();
    return {
      ...store,
      write: (puts) => {
        counted.puts += puts.length;
        return store.write(puts);
      },
    };
  };
