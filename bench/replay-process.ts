// Folds the log of one session in a separate process, so that its memory can be measured: `replay-process DIRECTORY SESSION
// verified|bare|resumed|served`. `verified` loads as the engine does and checks every digest and chain value. `bare` is the
// limit: it scans LevelDB, parses and folds the texts, and checks nothing. `resumed` loads from a snapshot. `served` is an
// engine with the session in memory. Prints one JSON object; on a terminal also progress, to standard error.
import { dirname } from 'node:path';
import { Level } from 'level';
import { decode } from 'cbor-x';
import { evolve } from '../reducers/evolve.ts';
import { sealTranscript } from '../reducers/transcript.ts';
import type { IngressEvent } from '../schemas/event.ts';
import { SessionId } from '../schemas/ids.ts';
import { initialState } from '../src/core/index.ts';
import { openEngine } from '../src/engine/engine.ts';
import { loadSession } from '../src/engine/sessions/load-session.ts';
import type { Journal } from '../src/journal/journal.ts';
import { streamRange } from '../src/journal/keys.ts';
import { openLevelJournal } from '../src/journal/level-journal.ts';
import { pause } from '../src/turns.ts';
import { must, mustBe } from '../src/client/must.ts';
import { benchGenesis } from './stream.ts';
import { benchPackage } from './tools.ts';

/** The result that it prints. */
export interface Replayed {
  readonly events: number;
  readonly ms: number;
  /** The peak memory of the process, in megabytes. */
  readonly memoryMb: number;
  /** The heap in use while an engine has the session in memory, in megabytes; needs --expose-gc. */
  readonly heapMb: number | null;
}

const SCAN_ENTRIES = 1_000;
const PROGRESS_EVENTS = 20_000;

const [directory = '', session = '', how = ''] = process.argv.slice(2);
if (SessionId.is(session)) {
  const journal = how === 'resumed' ? await must(openLevelJournal(directory)) : null;
  let heapMb: number | null = null;
  const startedAt = performance.now();
  const events =
    journal !== null
      ? await resumed(journal, session)
      : how === 'verified'
        ? await verified(session)
        : how === 'bare'
          ? await bare(session)
          : await served(session, (megabytes) => {
              heapMb = megabytes;
            });
  const ms = performance.now() - startedAt;
  await journal?.close();
  const replayed: Replayed = { events, ms, memoryMb: process.resourceUsage().maxRSS / 1_024, heapMb };
  process.stdout.write(`${JSON.stringify(replayed)}\n`);
}

async function verified(id: SessionId): Promise<number> {
  const journal = await must(openLevelJournal(directory));
  const { state } = mustBe(await loadSession(withProgress(journal), pause, id));
  await journal.close();
  return state.version;
}

/** Loads from the snapshot, with the journal open. */
async function resumed(journal: Journal, id: SessionId): Promise<number> {
  const { state, from } = mustBe(await loadSession(journal, pause, id));
  if (from.version === 0) throw new Error('the snapshot was not used');
  return state.version;
}

/** Loads in an engine, on the data directory that holds the journal. */
async function served(id: SessionId, onHeap: (megabytes: number) => void): Promise<number> {
  const engine = await must(openEngine({ dataDir: dirname(directory) }));
  const { state } = await must(engine.client.session(id));
  globalThis.gc?.();
  onHeap(process.memoryUsage().heapUsed / 1_000_000);
  await engine.close();
  return state.version;
}

async function bare(id: SessionId): Promise<number> {
  const database = new Level<Uint8Array, Uint8Array>(directory, { keyEncoding: 'view', valueEncoding: 'view' });
  await database.open();
  const iterator = database.iterator(streamRange(id));
  let state = initialState(benchGenesis(id), benchPackage());
  for (;;) {
    const entries = await iterator.nextv(SCAN_ENTRIES);
    if (entries.length === 0) break;
    for (const [, value] of entries) {
      // A commit holds a place and a text for each of its events, then the digests.
      const items = decode(value) as readonly unknown[];
      for (let at = 1; at < items.length; at += 2) {
        ({ state } = sealTranscript(evolve(state, JSON.parse(items[at] as string) as IngressEvent)));
      }
    }
    noteProgress(state.version);
  }
  await iterator.close();
  await database.close();
  return state.version;
}

function withProgress(journal: Journal): Journal {
  return {
    ...journal,
    read: (id, from, limit) => {
      noteProgress(from);
      return journal.read(id, from, limit);
    },
  };
}

function noteProgress(events: number): void {
  if (events % PROGRESS_EVENTS === 0 && process.stderr.isTTY)
    process.stderr.write(`\r\u001B[K${how}: ${events} events`);
}
