// Verified replay of a long session from disk, against a scan, a parse and a fold of the same log, each in a process of
// its own. Both begin when the store is opened.
import { join } from 'node:path';
import { canonicalText, digestText } from '../../schemas/canonical.ts';
import type { Genesis } from '../../schemas/genesis.ts';
import type { Version } from '../../schemas/ids.ts';
import { EVENTS_PER_APPEND_MAX } from '../../schemas/limits.ts';
import { genesisChain, nextChain, stateDigest } from '../../src/core/index.ts';
import type { Journal, JournalRecord } from '../../src/journal/journal.ts';
import { openLevelJournal } from '../../src/journal/level-journal.ts';
import { alternate } from '../alternate.ts';
import { type Bench, type Figure, sized } from '../figure.ts';
import { must } from '../must.ts';
import { REPLAY_PROCESS, runToEnd } from '../processes.ts';
import type { Replayed } from '../replay-process.ts';
import { type Row, atMost, ratioAtLeast, rowOf } from '../row.ts';
import { benchGenesis, recordStream } from '../stream.ts';

const REACH_RATE = 0.8;
const REACH_MEMORY_MB = 300;

export const replay: Figure = { name: 'replay', run: measure };

async function measure(bench: Bench): Promise<readonly Row[]> {
  const sizes = bench.quick ? [1_000] : bench.full ? [100_000, 1_000_000] : [100_000];
  const rows: Row[] = [];
  for (const events of sizes) {
    const directory = join(await bench.directory(), 'journal');
    const genesis = benchGenesis();
    await writeLog(bench, { directory, genesis, events });
    rows.push(...(await measureLog(bench, { directory, genesis, events })));
  }
  return rows;
}

interface Log {
  readonly directory: string;
  readonly genesis: Genesis;
  readonly events: number;
}

async function measureLog(bench: Bench, log: Log): Promise<readonly Row[]> {
  const memory: number[] = [];
  const rate = async (how: 'verified' | 'bare'): Promise<number> => {
    const { code, stdout } = await runToEnd([REPLAY_PROCESS, log.directory, log.genesis.session_id, how]);
    if (code !== 0) throw new Error(`the replay ended with ${code}`);
    const { events, ms, memoryMb } = JSON.parse(stdout) as Replayed;
    if (events !== log.events) throw new Error(`${events} of ${log.events} events were replayed`);
    if (how === 'verified') memory.push(memoryMb);
    return (events * 1_000) / ms;
  };
  const contest = { verified: () => rate('verified'), bare: () => rate('bare') };
  const runs = sized(bench, 1, log.events > 100_000 ? 2 : 3);
  const doing = `replay of ${log.events} events`;
  const { verified, bare } = await alternate(runs, contest, (run) => bench.progress(`${doing}: run ${run}/${runs}`));
  return [
    rowOf({
      what: `verified ${doing} from disk`,
      unit: 'events/s',
      values: verified,
      limit: { what: 'scan, parse and fold', values: bare },
      reach: ratioAtLeast(REACH_RATE),
    }),
    rowOf({ what: `most memory in it`, unit: 'MB', values: memory, reach: atMost(REACH_MEMORY_MB) }),
  ];
}

/** The log as the engine would have written it, in larger writes. */
async function writeLog(bench: Bench, { directory, genesis, events }: Log): Promise<void> {
  const journal = await must(openLevelJournal(directory));
  const { session_id } = genesis;
  await must(journal.create(session_id, canonicalText(genesis)));
  let chain = genesisChain(genesis);
  let page: JournalRecord[] = [];
  let written = 0;
  for (const { event, state } of recordStream(genesis, events)) {
    const text = canonicalText(event);
    const state_digest = stateDigest(state);
    chain = nextChain(chain, digestText(text), state_digest);
    page.push({ event: text, event_id: event.event_id, state_digest, chain });
    if (page.length < EVENTS_PER_APPEND_MAX) continue;
    written = await appendPage(journal, session_id, { page, written });
    page = [];
    if (written % (80 * EVENTS_PER_APPEND_MAX) === 0) bench.progress(`replay: wrote ${written} of ${events} events`);
  }
  await appendPage(journal, session_id, { page, written });
  await journal.close();
}

interface Pending {
  readonly page: readonly JournalRecord[];
  readonly written: number;
}

async function appendPage(journal: Journal, id: Genesis['session_id'], { page, written }: Pending): Promise<number> {
  if (page.length === 0) return written;
  return await must(journal.append(id, written as Version, page, true));
}
