// What a page costs its reader: tasks of its main thread, frames while it scrolls, and memory with its worker's.
import type { Browser, Page } from 'playwright-core';

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Infinity;

/** Notes in the page when its worker was asked to open a source and when that was folded, and its tasks over 50 ms. */
export const WATCH = `
window.noted = { blocked: [], painted: null, opened: null, answered: null, folded: null };
(function look() {
  if (document.querySelector('header nav') === null) requestAnimationFrame(look);
  else requestAnimationFrame(() => (window.noted.painted = performance.now()));
})();
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) window.noted.blocked.push(duration);
}).observe({ type: 'longtask' });
const { postMessage } = Worker.prototype;
Worker.prototype.postMessage = function (message) {
  if (message.ask === 'open') {
    window.noted.opened = performance.now();
    this.addEventListener('message', ({ data }) => {
      if (data.ask === 'open') window.noted.answered ??= performance.now();
      if (data.news?.kind === 'fold' && data.news.done) window.noted.folded ??= performance.now();
    });
  }
  return postMessage.call(this, message);
};`;

export interface Noted {
  /** Tasks of the main thread over 50 ms, in milliseconds of the clock. */
  readonly blocked: readonly number[];
  /** When the frame of the page was painted, in milliseconds of the page. */
  readonly painted: number | null;
  /** When a source was asked for, its beginning was read, and all of it was folded, in milliseconds of the page. */
  readonly opened: number | null;
  readonly answered: number | null;
  readonly folded: number | null;
}

export const notedIn = (page: Page): Promise<Noted> => page.evaluate<Noted>('window.noted');

/** The tasks of the main thread of a page while something runs, the longest first, in milliseconds of its processor. */
export async function mainThreadTasks(
  browser: Browser,
  page: Page,
  run: () => Promise<void>,
): Promise<readonly number[]> {
  await browser.startTracing(page, { categories: ['toplevel', 'disabled-by-default-devtools.timeline', '__metadata'] });
  await run();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as {
    readonly traceEvents: TraceEvent[];
  };
  const threads = traceEvents.filter(({ name }) => name === 'thread_name');
  const named = (begin: string): readonly TraceEvent[] =>
    threads.filter(({ args }) => args?.name?.startsWith(begin) === true);
  const withWorker = new Set(named('DedicatedWorker').map(({ pid }) => pid));
  // Another tab may be open; it has nothing to do meanwhile.
  const mains = new Set(named('CrRendererMain').map(({ pid, tid }) => (withWorker.has(pid) ? `${pid} ${tid}` : '')));
  if ([...mains].every((main) => main === '')) throw new Error('the trace has no page with a worker');
  return traceEvents
    .filter(({ pid, tid, name, tdur }) => mains.has(`${pid} ${tid}`) && name.endsWith('RunTask') && tdur !== undefined)
    .map(({ tdur = 0 }) => tdur / 1_000)
    .toSorted((a, b) => b - a);
}

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** The time on the processor, in microseconds. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

/** The times between frames while an element scrolls by so many pixels a frame, in milliseconds. */
export const scrollFrames = (page: Page, selector: string, frames: number, step: number): Promise<readonly number[]> =>
  page.evaluate<readonly number[]>(`new Promise((resolve) => {
    const box = document.querySelector(${JSON.stringify(selector)});
    const times = [];
    let last = null;
    function frame(now) {
      if (last !== null) times.push(now - last);
      last = now;
      box.scrollTop += ${step};
      if (times.length < ${frames}) requestAnimationFrame(frame);
      else resolve(times);
    }
    requestAnimationFrame(frame);
  })`);

export const p95 = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? Infinity;

/** The memory of a page and of its worker after a collection, in bytes. */
export async function heapOf(page: Page): Promise<{ readonly page: number; readonly worker: number }> {
  const session = await page.context().newCDPSession(page);
  const used = async (send: (method: string) => Promise<HeapUsage>): Promise<number> => {
    await send('HeapProfiler.collectGarbage');
    const { usedSize, backingStorageSize = 0 } = await send('Runtime.getHeapUsage');
    return usedSize + backingStorageSize;
  };
  const own = await used((method) => session.send(method as 'Runtime.getHeapUsage') as Promise<HeapUsage>);
  const attached = new Promise<string>((resolve) => {
    session.on('Target.attachedToTarget', ({ sessionId, targetInfo }) => {
      if (targetInfo.type === 'worker') resolve(sessionId);
    });
  });
  await session.send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: false, flatten: false });
  const sessionId = await attached;
  let number = 0;
  const answers = new Map<number, (result: HeapUsage) => void>();
  session.on('Target.receivedMessageFromTarget', ({ message }) => {
    const { id, result } = JSON.parse(message) as { readonly id: number; readonly result: HeapUsage };
    answers.get(id)?.(result);
  });
  const worker = await used(
    (method) =>
      new Promise<HeapUsage>((resolve, reject) => {
        number += 1;
        answers.set(number, resolve);
        const message = JSON.stringify({ id: number, method });
        session.send('Target.sendMessageToTarget', { message, sessionId }).catch(reject);
      }),
  );
  await session.detach();
  return { page: own, worker };
}

interface HeapUsage {
  readonly usedSize: number;
  /** Of array buffers. */
  readonly backingStorageSize?: number;
}
