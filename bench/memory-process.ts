// How much memory an engine needs, told by a process of its own: `memory-process DIRECTORY sessions|events COUNT`, run
// with --expose-gc. Sessions: so many are opened, each with a run that waits for its model. Events: one session is
// folded so far. Prints one JSON object: the heap in use after a tenth, and at the end.
import { openEngine } from '../src/engine/engine.ts';
import { must } from './must.ts';
import { UNBOUNDED, benchGenesis, recordStream } from './stream.ts';
import { benchPackage } from './tools.ts';

/** Megabytes. */
export interface MemoryUsed {
  readonly early: number;
  readonly late: number;
  /** Of the whole process, at most. */
  readonly peak: number;
}

const OPENED_TOGETHER = 100;

function heapMb(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 1_000_000;
}

const peakMb = (): number => process.resourceUsage().maxRSS / 1_024;

async function openSessions(sessions: number): Promise<MemoryUsed> {
  const engine = await must(openEngine({ dataDir: directory }));
  const tool_package = benchPackage();
  let early = NaN;
  for (let from = 0; from < sessions; from += OPENED_TOGETHER) {
    const opening = Array.from({ length: OPENED_TOGETHER }, async () => {
      const { session_id } = await must(engine.client.createSession({ config: UNBOUNDED, tool_package }));
      await must(engine.client.submit(session_id, { events: [{ kind: 'RunRequested', input: { text: 'go on' } }] }));
    });
    await Promise.all(opening);
    if (from === sessions / 10 - OPENED_TOGETHER || from === 0) early = heapMb();
  }
  const late = heapMb();
  await engine.close();
  return { early, late, peak: peakMb() };
}

function foldEvents(events: number): MemoryUsed {
  let early = NaN;
  let at = 0;
  let last: unknown = null;
  for (const recorded of recordStream(benchGenesis(), events)) {
    at += 1;
    last = recorded.state;
    if (at === events / 10) early = heapMb();
  }
  const late = heapMb();
  if (last === null) throw new RangeError('nothing was folded');
  return { early, late, peak: peakMb() };
}

const [directory = '', what = '', count = '0'] = process.argv.slice(2);
if (directory !== '') {
  const used = what === 'sessions' ? await openSessions(Number(count)) : foldEvents(Number(count));
  process.stdout.write(`${JSON.stringify(used)}\n`);
}
