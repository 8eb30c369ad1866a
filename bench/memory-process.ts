// Measures the memory of an engine in a separate process: `memory-process DIRECTORY sessions|waiting|events
// COUNT`, run with --expose-gc. `sessions` opens COUNT sessions, each with a run that waits for its model; `waiting` opens
// COUNT sessions that only wait for a time. `events` folds one session of COUNT events. Prints one JSON object a line: the count after each tenth, then the heap in use after the first tenth and at
// the end.
import type { Ingress } from '../schemas/event.ts';
import { brand } from '../schemas/ids.ts';
import { openEngine } from '../src/engine/engine.ts';
import { must } from '../src/client/must.ts';
import { UNBOUNDED, benchGenesis, recordStream } from './stream.ts';
import { benchPackage } from './tools.ts';

/** The lines that it prints. */
export type MemoryLine = { readonly event: 'reached'; readonly count: number } | MemoryUsed;

/** Megabytes. */
export interface MemoryUsed {
  readonly event: 'used';
  readonly early: number;
  readonly late: number;
  /** The peak of the whole process. */
  readonly peak: number;
}

const OPENED_TOGETHER = 100;

function heapMb(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 1_000_000;
}

const peakMb = (): number => process.resourceUsage().maxRSS / 1_024;

const say = (line: MemoryLine): boolean => process.stdout.write(`${JSON.stringify(line)}\n`);

/** Measures the heap after the first tenth and prints every tenth. */
function newTenths(count: number): { reach(at: number): void; early(): number } {
  const tenth = count / 10;
  let early = NaN;
  return {
    reach(at) {
      if (at % tenth !== 0) return;
      if (at === tenth) early = heapMb();
      say({ event: 'reached', count: at });
    },
    early: () => early,
  };
}

/** A session is given work for a bridge, or a time to wait for. */
type Given = Extract<Ingress, { readonly kind: 'RunRequested' | 'HostSessionUpdated' }>;

const RUN: Given = { kind: 'RunRequested', input: { text: 'go on' } };
const WAIT: Given = {
  kind: 'HostSessionUpdated',
  host_session: { host_session_id: brand('host'), host_session_status: 'ready', expires_at_ms: 4_000_000_000_000 },
};

async function openSessions(sessions: number, given: Given): Promise<MemoryUsed> {
  const engine = await must(openEngine({ dataDir: directory }));
  const tool_package = benchPackage();
  const tenths = newTenths(sessions);
  for (let from = 0; from < sessions; from += OPENED_TOGETHER) {
    const opening = Array.from({ length: OPENED_TOGETHER }, async () => {
      const { session_id } = await must(engine.client.createSession({ config: UNBOUNDED, tool_package }));
      await must(engine.client.submit(session_id, { events: [given] }));
    });
    await Promise.all(opening);
    tenths.reach(from + OPENED_TOGETHER);
  }
  const late = heapMb();
  await engine.close();
  return { event: 'used', early: tenths.early(), late, peak: peakMb() };
}

function foldEvents(events: number): MemoryUsed {
  const tenths = newTenths(events);
  let at = 0;
  let last: unknown = null;
  for (const recorded of recordStream(benchGenesis(), events)) {
    at += 1;
    last = recorded.state;
    tenths.reach(at);
  }
  const late = heapMb();
  if (last === null) throw new RangeError('nothing was folded');
  return { event: 'used', early: tenths.early(), late, peak: peakMb() };
}

const [directory = '', what = '', count = '0'] = process.argv.slice(2);
if (directory !== '') {
  say(
    what === 'events' ? foldEvents(Number(count)) : await openSessions(Number(count), what === 'waiting' ? WAIT : RUN),
  );
}
