// The server of a simulated world. It works for calls, outlives the bridges, and forgets work when the scenario says so.
import type { CallId, SessionId } from '../../../schemas/ids.ts';
import { type ProcessClock, never } from '../sim-time.ts';
import type { SimTime } from '../sim-time.ts';
import { stoppedWithin } from '../sim-tools.ts';

/** The call for which the server works. */
export interface WorkOrder {
  readonly session_id: SessionId;
  readonly call_id: CallId;
  /** The server forgets the work so many milliseconds after it began; null: never. */
  readonly forgetMs: number | null;
}

export interface SimServer {
  /** Begins the work of a call, which is the effect of the call in the world. Returns the name of the work. */
  begin(order: WorkOrder): string;
  /** Has the work do one of its steps, which takes so long. Does nothing when the work has begun it. Returns the handle of the step. */
  goOn(work: string, step: number, ms: number): string;
  /** The work and the step that a handle names; null when the server does not know it, or not any more. */
  find(handle: string): { readonly work: string; readonly step: number } | null;
  /** How a process that waits for the step of a handle stops waiting: its signal aborted, or the server says how the step is. */
  waitFor(handle: string, waiting: Waiting): Promise<'stopped' | 'done' | 'forgotten'>;
}

interface Waiting {
  readonly process: ProcessClock;
  readonly signal: AbortSignal | null;
}

interface Work extends WorkOrder {
  readonly beganMs: number;
  /** When each step is done, in milliseconds since the simulation began. */
  readonly doneMs: Map<number, number>;
}

/** `onBegun` is told the number of works that the server has begun for the call so far, with this one. */
export function newSimServer(time: SimTime, onBegun: (order: WorkOrder, count: number) => void): SimServer {
  const works = new Map<string, Work>();

  function find(handle: string): { work: string; step: number } | null {
    const [work = '', step = ''] = handle.split('/');
    const { beganMs, forgetMs = null } = works.get(work) ?? {};
    const known = beganMs !== undefined && (forgetMs === null || time.passedMs() < beganMs + forgetMs);
    return known ? { work, step: Number(step) } : null;
  }

  return {
    find,
    begin(order) {
      const name = `work-${works.size + 1}`;
      works.set(name, { ...order, beganMs: time.passedMs(), doneMs: new Map() });
      const same = [...works.values()].filter(
        ({ session_id, call_id }) => session_id === order.session_id && call_id === order.call_id,
      );
      onBegun(order, same.length);
      return name;
    },
    goOn(work, step, ms) {
      const doneMs = works.get(work)?.doneMs;
      if (doneMs?.has(step) === false) doneMs.set(step, time.passedMs() + ms);
      return `${work}/${step}`;
    },
    async waitFor(handle, { process, signal }) {
      const found = find(handle);
      if (found === null) return 'forgotten';
      const doneMs = works.get(found.work)?.doneMs.get(found.step) ?? 0;
      const stopped = await stoppedWithin(process, Math.max(0, doneMs - time.passedMs()), signal);
      if (process.isDead()) return await never();
      if (stopped) return 'stopped';
      return find(handle) === null ? 'forgotten' : 'done';
    },
  };
}
