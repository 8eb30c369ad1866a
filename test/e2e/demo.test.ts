// `refold demo`, which `npm start` runs: the first thing a new user sees.
import { upcast } from '../../schemas/upcast.ts';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { EventOfKind, IngressEvent } from '../../schemas/event.ts';
import type { StreamEvent } from '../../schemas/record.ts';
import {
  CLI,
  type Finished,
  ROOT,
  freshDirectory,
  jsonLines,
  refoldBuilt,
  refoldProcess,
} from '../support/e2e/refold.ts';

const SHIPPED = join(ROOT, 'replay-fixtures/demo/workspace');

/** Runs a line as a person would paste it; `npx refold` is the command under test. */
const runInShell = (line: string, directory: string): string =>
  execFileSync('sh', ['-c', `npx() { shift; "${process.execPath}" "${CLI}" "$@"; }; ${line}`], {
    cwd: directory,
    encoding: 'utf8',
  });

async function digestOfTree(folder: string): Promise<string> {
  const hash = createHash('sha256');
  for (const entry of (await readdir(folder, { recursive: true })).sort()) {
    hash.update(entry);
    hash.update(await readFile(join(folder, entry)).catch(() => ''));
  }
  return hash.digest('hex');
}

describe('refold demo', () => {
  let finished: Finished;
  let before: string;
  let events: readonly IngressEvent[];
  let summary: Readonly<Record<string, unknown>>;

  beforeAll(async () => {
    before = await digestOfTree(SHIPPED);
    finished = await refoldProcess(['demo', '--json']);
    const lines = jsonLines(finished.stdout);
    events = lines
      .filter((line) => line['event'] === 'folded')
      .map((line) => upcast((line['record'] as StreamEvent).event));
    summary = lines.find((line) => line['event'] === 'summary') ?? {};
    return async () => {
      if (typeof summary['workspace'] === 'string') await rm(dirname(summary['workspace']), { recursive: true });
    };
  });

  const of = <K extends IngressEvent['kind']>(kind: K): readonly EventOfKind<K>[] =>
    events.filter((event): event is EventOfKind<K> => event.kind === kind);

  test('succeeds, and its replay in a fresh process is byte-identical', () => {
    expect(finished).toMatchObject({ code: 0, stderr: '' });
    expect(summary).toMatchObject({ replay: 'byte-identical', events: events.length });
  });

  test('runs in two other processes', () => {
    const lines = jsonLines(finished.stdout);
    const pids = ['engine', 'bridge'].map((event) => lines.find((line) => line['event'] === event)?.['pid']);
    expect(new Set([...pids, process.pid]).size).toBe(3);
  });

  test('runs commands in the reported sandbox, and not as root', () => {
    const bridge = jsonLines(finished.stdout).find((line) => line['event'] === 'bridge');
    const [opened] = of('ToolCallSettled');
    expect(opened?.host_session).toMatchObject({ host_session_status: 'ready', sandbox: bridge?.['sandbox'] });
    const unprivileged = process.getuid?.() === 0 ? 'uid 65534' : `uid ${process.getuid?.()}`;
    expect(bridge?.['sandbox_note']).toContain(unprivileged);
  });

  test('runs the test command, which fails first and passes in the end', () => {
    const exits = of('ToolCallSettled').flatMap((event) => {
      const code = event.result.data?.['exit_code'];
      return typeof code === 'number' ? [code] : [];
    });
    expect(exits).toEqual([1, 0]);
  });

  test('rejects a call to a tool that is not available yet', () => {
    expect(of('ToolCallSettled').map((event) => event.call_id)).not.toContain('call_1_2');
    expect(of('ToolCallsObserved')[0]?.calls.map((call) => call.tool_name)).toEqual(['open_session', 'list_dir']);
  });

  test('runs edits of one file one after the other', () => {
    const order = events.flatMap((event) =>
      event.kind === 'ToolCallStarted' || event.kind === 'ToolCallSettled' ? [`${event.kind} ${event.call_id}`] : [],
    );
    expect(order.indexOf('ToolCallSettled call_4_2')).toBeLessThan(order.indexOf('ToolCallStarted call_4_3'));
    expect(order.indexOf('ToolCallStarted call_4_1')).toBeLessThan(order.indexOf('ToolCallStarted call_4_3'));
  });

  test('changes the copy, not the shipped workspace', async () => {
    expect(await digestOfTree(SHIPPED)).toBe(before);
    const copy = await readFile(join(String(summary['workspace']), 'src/tax.js'), 'utf8');
    expect(copy).toContain('reduced: 0.07');
  });

  test('prints turns, groups, results, rejections, and next commands that work as printed', async () => {
    const home = await freshDirectory();
    const data = join(home, 'its data');
    const { code, stdout } = await refoldBuilt(['demo'], { REFOLD_DATA_DIR: data });
    expect(code).toBe(0);
    expect(stdout).toMatch(/turn 2 .*\n {2}group 1 \(7 in parallel\)/);
    expect(stdout).toContain('list_dir rejected: tool_unavailable');
    expect(stdout).toMatch(/✓ g2 edit_file\(src\/tax\.js\) \d+ ms/);
    expect(stdout).toMatch(/replay {3}byte-identical/);
    expect(stdout).toContain(`log      ${join(data, 'journal')}\n`);
    const next = stdout.slice(stdout.indexOf('next:')).match(/npx refold .*/g) ?? [];
    expect(next).toHaveLength(4);
    const printed = next.map((line) => runInShell(line, home));
    expect(printed[0]).toMatch(/^s-\S+ {2}34 events/);
    expect(printed[3]).toContain('byte-identical');
    const files = /^files {4}(\S+)/m.exec(stdout)?.[1] ?? '';
    await rm(dirname(files), { recursive: true });
    await rm(home, { recursive: true });
  });
});
