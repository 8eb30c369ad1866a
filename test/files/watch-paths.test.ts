// A watch over real files: what it reports, and what it leaves alone. Time is the test's own, so a change is found either
// because the system told of it, or because the test let the watch look.
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { WATCH_LOOK_MS, WATCH_SETTLE_MS } from '../../schemas/limits.ts';
import { type PathWatch, type WatchOptions, watchPaths } from '../../src/files/watch-paths.ts';

let root = '';
let open: PathWatch[] = [];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'refold-watch-'));
  open = [];
});
afterEach(async () => {
  for (const watch of open) await watch.close();
  rmSync(root, { recursive: true, force: true });
});

/** Timers that end when the test says so. */
function newTimers() {
  let timers: { readonly ms: number; readonly run: () => void }[] = [];
  const end = (ms: number): boolean => {
    const due = timers.filter((timer) => timer.ms === ms);
    timers = timers.filter((timer) => timer.ms !== ms);
    for (const { run } of due) run();
    return due.length > 0;
  };
  return {
    end,
    settling: () => timers.some(({ ms }) => ms === WATCH_SETTLE_MS),
    after: (ms: number, run: () => void) => {
      const timer = { ms, run };
      timers.push(timer);
      return () => void (timers = timers.filter((other) => other !== timer));
    },
  };
}

/** A watch whose first report is over. */
async function watching(paths: () => readonly string[], more: Partial<WatchOptions> = {}) {
  const timers = newTimers();
  const reports = vi.fn<() => void | Promise<void>>();
  const errors = vi.fn<(error: unknown) => void>();
  open.push(watchPaths({ paths, onChange: reports, onError: errors, after: timers.after, ...more }));
  timers.end(WATCH_SETTLE_MS);
  await vi.waitFor(() => expect(timers.settling()).toBe(false));
  reports.mockClear();
  return { timers, reports, errors };
}

/** Lets the watch look, as it does now and then. */
async function looked({ timers }: Awaited<ReturnType<typeof watching>>): Promise<void> {
  timers.end(WATCH_LOOK_MS);
  await Promise.resolve();
}

test('a watch reports once at its start, because something may have changed since the paths were read', async () => {
  const timers = newTimers();
  const onChange = vi.fn<() => void>();
  open.push(watchPaths({ paths: () => [root], onChange, onError: () => undefined, after: timers.after }));
  expect(onChange).not.toHaveBeenCalled();
  timers.end(WATCH_SETTLE_MS);
  expect(onChange).toHaveBeenCalledTimes(1);
});

test('a changed file is reported once the change has settled, by the system alone', async () => {
  const file = join(root, 'a.json');
  writeFileSync(file, 'one');
  const { timers, reports } = await watching(() => [file]);
  writeFileSync(file, 'two');
  writeFileSync(file, 'three');
  await vi.waitFor(() => expect(timers.settling()).toBe(true));
  expect(reports).not.toHaveBeenCalled();
  timers.end(WATCH_SETTLE_MS);
  expect(reports).toHaveBeenCalledTimes(1);
});

const CHANGES: Readonly<Record<string, () => void>> = {
  'is written': () => writeFileSync(join(root, 'd', 'a.json'), 'changed'),
  'is replaced by another of the same size and time': () => {
    const [path, other] = [join(root, 'd', 'a.json'), join(root, 'other')];
    writeFileSync(other, 'ONE');
    utimesSync(other, 1_000, 1_000);
    renameSync(other, path);
  },
  'is removed': () => rmSync(join(root, 'd', 'a.json')),
  'becomes a symbolic link': () => {
    rmSync(join(root, 'd', 'a.json'));
    symlinkSync('/dev/null', join(root, 'd', 'a.json'));
  },
  'goes with its directory': () => rmSync(join(root, 'd'), { recursive: true }),
  'is hidden by another directory': () => {
    renameSync(join(root, 'd'), join(root, 'e'));
    mkdirSync(join(root, 'd'));
  },
};

test.each(Object.keys(CHANGES))('looking finds a file that %s', async (how) => {
  mkdirSync(join(root, 'd'));
  const file = join(root, 'd', 'a.json');
  writeFileSync(file, 'one');
  utimesSync(file, 1_000, 1_000);
  const watch = await watching(() => [file]);
  await looked(watch);
  expect(watch.reports).not.toHaveBeenCalled();
  CHANGES[how]?.();
  await looked(watch);
  expect(watch.reports).toHaveBeenCalledTimes(1);
});

test('a path that does not exist yet is waited for', async () => {
  const file = join(root, 'later', 'a.json');
  const watch = await watching(() => [join(root, 'later'), file]);
  mkdirSync(join(root, 'later'));
  writeFileSync(file, 'one');
  await looked(watch);
  expect(watch.reports).toHaveBeenCalledTimes(1);
});

test('other files beside a watched file are no change', async () => {
  const file = join(root, 'a.json');
  writeFileSync(file, 'one');
  const { timers, reports } = await watching(() => [file]);
  writeFileSync(join(root, 'b.json'), 'one');
  await vi.waitFor(() => expect(timers.settling()).toBe(true));
  timers.end(WATCH_SETTLE_MS);
  expect(reports).not.toHaveBeenCalled();
});

test('a change while one is handled is reported after it, and never beside it', async () => {
  const file = join(root, 'a.json');
  writeFileSync(file, 'one');
  let finish: () => void = () => undefined;
  let running = 0;
  let most = 0;
  const onChange = vi.fn<() => Promise<void>>(async () => {
    running += 1;
    most = Math.max(most, running);
    await new Promise<void>((resolve) => (finish = resolve));
    running -= 1;
  });
  const timers = newTimers();
  open.push(watchPaths({ paths: () => [file], onChange, onError: () => undefined, after: timers.after }));
  timers.end(WATCH_SETTLE_MS);
  writeFileSync(file, 'two');
  timers.end(WATCH_LOOK_MS);
  expect(onChange).toHaveBeenCalledTimes(1);
  finish();
  await vi.waitFor(() => expect(timers.settling()).toBe(true));
  timers.end(WATCH_SETTLE_MS);
  expect(onChange).toHaveBeenCalledTimes(2);
  expect(most).toBe(1);
  finish();
});

test('what a report throws is given to onError, and the watch goes on', async () => {
  const file = join(root, 'a.json');
  writeFileSync(file, 'one');
  const watch = await watching(() => [file]);
  watch.reports.mockImplementationOnce(() => Promise.reject(new Error('unreadable')));
  writeFileSync(file, 'longer');
  await looked(watch);
  await vi.waitFor(() => expect(watch.errors).toHaveBeenCalledWith(new Error('unreadable')));
  writeFileSync(file, 'longer still');
  await looked(watch);
  expect(watch.reports).toHaveBeenCalledTimes(2);
});

test('a closed watch reports nothing', async () => {
  const file = join(root, 'a.json');
  writeFileSync(file, 'one');
  const watch = await watching(() => [file]);
  await open[0]?.close();
  writeFileSync(file, 'two');
  await looked(watch);
  expect(watch.timers.end(WATCH_SETTLE_MS)).toBe(false);
  expect(watch.reports).not.toHaveBeenCalled();
});
