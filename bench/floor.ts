// The floor: a bare LevelDB log of the same turns, with the same number of events of the same size, one hash each, and
// three durable barriers a turn (the calls of the model; their settlements; the end of the batch). Writes that arrive during
// a write share the next one. Nothing is parsed, checked or folded.
import { Level } from 'level';
import { sha256Hex } from '#sha256';
import { canonicalText } from '../schemas/canonical.ts';
import { TURN_EVENTS, benchGenesis, recordStream } from './stream.ts';

/** Durable barriers of one turn. */
export const FLOOR_BARRIERS = 3;

/** The events that become durable together, in order. */
type Barriers = readonly (readonly string[])[];

export interface Floor {
  /** Turns in a second. */
  run(sessions: number, turns: number): Promise<number>;
  close(): Promise<void>;
}

export async function openFloor(directory: string): Promise<Floor> {
  const database = new Level(directory);
  await database.open();
  const commit = openCommit(database);
  const barriers = barriersOfTurn();
  let rounds = 0;

  async function runSession(name: string, turns: number): Promise<void> {
    let position = 0;
    let chain = '';
    for (let turn = 0; turn < turns; turn += 1) {
      for (const texts of barriers) {
        const puts: Put[] = [];
        for (const text of texts) {
          chain = sha256Hex(chain + text);
          puts.push({ type: 'put', key: `${name}!${String(position).padStart(16, '0')}`, value: text + chain });
          position += 1;
        }
        await commit(puts);
      }
    }
  }

  return {
    async run(sessions, turns) {
      rounds += 1;
      const startedAt = performance.now();
      const names = Array.from({ length: sessions }, (_, index) => `round-${rounds}-session-${index}`);
      await Promise.all(names.map((name) => runSession(name, turns)));
      return (sessions * turns * 1_000) / (performance.now() - startedAt);
    },
    close: () => database.close(),
  };
}

interface Put {
  readonly type: 'put';
  readonly key: string;
  readonly value: string;
}

function openCommit(database: Level): (puts: readonly Put[]) => Promise<void> {
  let waiting: Put[] = [];
  let waiters: (() => void)[] = [];
  let running = false;

  async function drain(): Promise<void> {
    running = true;
    await Promise.resolve();
    while (waiting.length > 0) {
      const group = waiting;
      const answered = waiters;
      waiting = [];
      waiters = [];
      await database.batch(group, { sync: true });
      for (const answer of answered) answer();
    }
    running = false;
  }

  return (puts) =>
    new Promise((resolve) => {
      waiting.push(...puts);
      waiters.push(resolve);
      if (!running) void drain();
    });
}

/** The texts of one turn from the middle of a session, as the engine records them. */
function barriersOfTurn(): Barriers {
  const events = [...recordStream(benchGenesis(), 1 + 10 * TURN_EVENTS)].slice(-TURN_EVENTS).map(({ event }) => event);
  const texts = events.map((event) => canonicalText(event));
  return [texts.slice(0, 1), texts.slice(1, -1), texts.slice(-1)];
}
