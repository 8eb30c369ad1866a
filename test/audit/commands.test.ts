// `refold verify`, `diff` and `explain` over a data directory and over exported files.
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Digest, type SessionId, type SessionState, brand } from '../../schemas/index.ts';
import { openEngine } from '../../src/engine/engine.ts';
import { openLevelJournal } from '../../src/journal/level-journal.ts';
import { must } from '../../src/client/must.ts';
import { holding } from '../support/engine/holding.ts';
import { DEMO, DEMO_EVENTS, DEMO_LINES, callIn, commitIn, positionIn, turnIn } from '../support/e2e/recorded-demo.ts';
import { type Finished, freshDirectory, jsonLines, refold } from '../support/e2e/refold.ts';
import { call, session } from '../support/session.ts';
import { profileOf, testPackage, tool } from '../support/tools.ts';
import { linesOf, recordsOf } from './records.ts';

const COUNT = DEMO_EVENTS.length;
const LARGE = 'x'.repeat(5_000);

let home: string;
let data: string;
let blob: Digest;
const wordy = brand<'SessionId'>('wordy');

const onData = (...args: readonly string[]): Promise<Finished> => refold([...args, '--data-dir', data]);
const at = (name: string): string => join(home, name);

async function write(name: string, story: Parameters<typeof recordsOf>[0]): Promise<string> {
  await writeFile(at(name), linesOf(recordsOf(story)));
  return at(name);
}

/** A session whose events refer to a blob and whose transcript is long enough for a sealed page. */
async function makeSession(id: SessionId): Promise<void> {
  const engine = await must(openEngine({ dataDir: data }));
  const client = holding(engine.client);
  blob = await must(client.putBlob(new TextEncoder().encode(LARGE)));
  await must(client.createSession({ session_id: id }));
  const input = { ref: blob, bytes: LARGE.length, head: 'xx', tail: 'xx' };
  await must(client.submit(id, { events: [{ kind: 'RunRequested', input }] }));
  await must(client.submit(id, { events: [{ kind: 'SessionConfigured', config: { turns_max: 3 } }] }));
  await must(client.createSession({ session_id: brand('quiet') }));
  const lease = {
    owner: brand<'OwnerId'>('tester'),
    kinds: ['llm.generate' as const],
    tools: ['*'],
    max: 1,
    wait_ms: 0,
  };
  await must(client.lease(lease));
  const calls = Array.from({ length: 70 }, (_, index) => call(`c${index}`, 'nowhere', { index }));
  const observed = { kind: 'ToolCallsObserved' as const, run_id: brand<'RunId'>('run-1'), turn: 1, calls };
  await must(client.submit(id, { owner: lease.owner, events: [observed] }));
  const { state } = await must(client.session(id));
  const batch = state.active_tool_batch;
  if (batch === null) throw new Error('no batch is open');
  await must(client.lease({ ...lease, kinds: ['batch.settle'] }));
  const settled = { kind: 'ToolBatchSettled' as const, batch_id: batch.batch_id, plan_hash: batch.plan.plan_hash };
  await must(client.submit(id, { owner: lease.owner, events: [settled] }));
  await engine.close();
}

beforeAll(async () => {
  home = await freshDirectory();
  data = at('data');
  await mkdir(data);
  await makeSession(wordy);
});
afterAll(() => rm(home, { recursive: true }));

/** Removes a page from the journal, and returns its bytes. */
async function removePage(page: Digest): Promise<Uint8Array> {
  const journal = await must(openLevelJournal(join(data, 'journal')));
  const bytes = await must(journal.page(page));
  if (bytes === null) throw new Error(`the journal has no page ${page}`);
  const copy = bytes.slice();
  await must(journal.deletePages([page]));
  await journal.close();
  return copy;
}

const blobFile = (ref: Digest): string => {
  const hex = ref.slice('sha256:'.length);
  return join(data, 'blobs', hex.slice(0, 2), hex.slice(2, 4), hex);
};

describe('refold verify', () => {
  test('checks every digest and blob of every session, and prints a summary', async () => {
    const { code, stdout } = await onData('verify', '--all', '--json');
    const lines = jsonLines(stdout);
    expect(code).toBe(0);
    expect(lines.map((line) => line['source'])).toEqual(['quiet', wordy, undefined]);
    // The prompt and the one sealed page of the transcript.
    expect(lines[1]).toMatchObject({ verified: true, session_id: wordy, events: 4, blobs: { checked: 2, bad: [] } });
    expect(lines[2]).toEqual({ summary: { streams: 2, verified: 2, bad: 0, unreadable: 0, events: 4 } });
  });

  test('takes sessions and files together, and reports that a file contains no blobs', async () => {
    const { code, stdout } = await onData('verify', wordy, DEMO);
    expect(code).toBe(0);
    expect(stdout).toMatch(/verified +session wordy {2}4 events, 2 blobs in \d+ ms/);
    expect(stdout).toMatch(
      new RegExp(`verified +.*session\\.jsonl, session \\S+ {2}${COUNT} events in \\d+ ms; blobs not checked`),
    );
    expect(stdout).toContain(`2 streams, ${4 + COUNT} events in `);
  });

  test('needs no data directory for files', async () => {
    const elsewhere = at('never-created');
    expect(await refold(['verify', DEMO, '--data-dir', elsewhere])).toMatchObject({ code: 0 });
    await expect(readdir(elsewhere)).rejects.toThrow(/ENOENT/);
  });

  test.each<[string, (text: string) => string]>([
    ['is missing', () => ''],
    ['has other bytes', (text) => text.replace('x', 'y')],
  ])('a blob that %s makes its stream bad, at the event that refers to it', async (_, damage) => {
    const file = blobFile(blob);
    const text = await readFile(file, 'utf8');
    const damaged = damage(text);
    if (damaged === '') await rm(file);
    else await writeFile(file, damaged);
    try {
      const { code, stdout } = await onData('verify', '--all', '--json');
      expect(code).toBe(1);
      const lines = jsonLines(stdout);
      expect(lines[0]).toMatchObject({ source: 'quiet', verified: true });
      expect(lines[1]).toMatchObject({
        verified: false,
        fault: { position: 0, what: 'blob' },
        blobs: { bad: [{ ref: blob, path: '/event/input' }] },
      });
      expect((await onData('verify', wordy)).stdout).toContain(blob);
    } finally {
      await writeFile(file, text);
    }
  });

  test('a sealed page that is missing makes its stream bad, after its last event', async () => {
    const [view] = jsonLines((await onData('show', wordy, '--json')).stdout);
    const { state } = view as unknown as { readonly state: SessionState };
    const page = state.transcript.sealed[0] as Digest;
    const bytes = await removePage(page);
    const [line] = jsonLines((await onData('verify', wordy, '--json')).stdout);
    expect(line).toMatchObject({ verified: false, fault: { position: 4, what: 'blob' } });
    // As a directory of a release has it that stored pages as blobs.
    const file = blobFile(page);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, bytes);
    const [mended] = jsonLines((await onData('verify', wordy, '--json')).stdout);
    expect(mended).toMatchObject({ verified: true });
  });

  test('continues after a bad stream, names its first bad position, and exits with 1', async () => {
    const edited = DEMO_LINES.findIndex((line) => line.includes('"duration_ms":'));
    const { position, events } = commitIn(DEMO_LINES[edited]);
    const last = position + events.length - 1;
    const lines = DEMO_LINES.with(edited, String(DEMO_LINES[edited]).replace('"duration_ms":', '"duration_ms":1'));
    await writeFile(at('edited.jsonl'), lines.join('\n'));
    await writeFile(
      at('torn.jsonl'),
      lines
        .slice(0, edited + 1)
        .join('\n')
        .slice(0, -9),
    );
    const { code, stdout } = await refold(['verify', at('edited.jsonl'), at('torn.jsonl'), DEMO, '--json']);
    expect(code).toBe(1);
    expect(jsonLines(stdout)).toMatchObject([
      { verified: false, fault: { position: last, what: 'chain' }, events: position },
      { verified: false, fault: { position, what: 'record' }, events: position },
      { verified: true },
      { summary: { streams: 3, verified: 1, bad: 2, unreadable: 0 } },
    ]);
    expect((await refold(['verify', at('edited.jsonl')])).stdout).toMatch(
      new RegExp(`bad[^]*position ${last}: the chain differs`),
    );
  });

  test('exits with 2 when a stream cannot be read and none is bad', async () => {
    const { code, stdout } = await onData('verify', 'absent', wordy, '--json');
    expect(code).toBe(2);
    expect(jsonLines(stdout)).toMatchObject([
      { source: 'absent', verified: false, error: { code: 'unknown_session' } },
      { source: wordy, verified: true },
      { summary: { unreadable: 1, bad: 0 } },
    ]);
    expect(await onData('verify')).toMatchObject({ code: 2, stderr: expect.stringContaining('--all') });
  });
});

describe('refold diff', () => {
  const base = session({ session_id: 'one' })
    .runRequested()
    .observed([call('a', 'read', { path: 'x' })]);
  const other = session({ session_id: 'two' })
    .runRequested()
    .observed([call('a', 'write', { path: 'x' })]);

  test('finds no difference between two recordings of one story, and lists what it did not compare', async () => {
    const [a, b] = [
      await write('one.jsonl', base),
      await write('same.jsonl', { genesis: other.genesis, tool_package: other.tool_package, events: base.events }),
    ];
    const { code, stdout } = await refold(['diff', a, b]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/not compared without --strict, in the events: .*\/event\/at_ms/);
    expect(stdout).toMatch(/events {2}the same\nstate at the end {2}the same/);
    const strict = await refold(['diff', a, b, '--strict', '--json']);
    expect(strict.code).toBe(1);
    expect(jsonLines(strict.stdout)[0]).toMatchObject({ same: false, ignored: null, first: { position: -1 } });
  });

  test('names the first position that differs, and the differing paths of events and states', async () => {
    const [a, b] = [await write('one.jsonl', base), await write('two.jsonl', other)];
    const { code, stdout } = await refold(['diff', a, b, '--max', '2']);
    expect(code).toBe(1);
    expect(stdout).toContain('events  differ first at position 1: ToolCallsObserved\n');
    expect(stdout).toContain('  /event/calls/0/tool_name\n    a "read"\n    b "write"\n');
    expect(stdout).toMatch(/state right after it {2}\d+ paths differ/);
    expect(stdout).toMatch(/and \d+ more/);
    const [object] = jsonLines((await refold(['diff', a, b, '--json'])).stdout);
    expect(object).toMatchObject({
      same: false,
      a: { source: a, events: 2 },
      first: { position: 1, paths: { differences: [{ path: '/event/calls/0/tool_name', a: '"read"', b: '"write"' }] } },
      state_after_first: { rest: expect.any(Number) },
    });
  });

  test('takes a session and a file, and clips long values', async () => {
    const { code, stdout } = await onData('diff', wordy, DEMO);
    expect(code).toBe(1);
    expect(stdout).toMatch(new RegExp(`a {2}session wordy {2}4 events\nb {2}file .*${COUNT} events`));
    for (const line of stdout.split('\n').filter((line) => /^ {4}[ab] /.test(line)))
      expect(line.length).toBeLessThan(80);
  });

  test('finds no difference between a session and itself', async () => {
    expect(await onData('diff', wordy, wordy, '--strict')).toMatchObject({ code: 0 });
  });

  test('refuses a stream that does not fold', async () => {
    await writeFile(at('hole.jsonl'), DEMO_LINES.toSpliced(3, 1).join('\n'));
    const { code, stderr } = await refold(['diff', DEMO, at('hole.jsonl')]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/hole\.jsonl does not fold as recorded, position 1.*refold verify/);
  });
});

describe('refold explain', () => {
  const opened = callIn('ToolCallSettled', 'call_1_1');
  const started = callIn('ToolCallStarted', 'call_4_3');

  test('explains why each tool is in or out, at a position', async () => {
    const before = await refold(['explain', DEMO, '--at', '0']);
    expect(before.stdout).toMatch(
      /out {2}shell host\.exec, from the start\n +\+ in_profile: .*\n +- host_session_not_ready: /,
    );
    const after = await refold(['explain', DEMO]);
    expect(after.stdout).toContain(`in   shell host.exec, since position ${opened}, ToolCallSettled`);
    expect(after.stdout).toMatch(/profile {2}anthropic/);
  });

  test('explains one tool by name or id', async () => {
    const rows = await Promise.all(
      ['shell', 'host.exec'].map((name) => refold(['explain', DEMO, '--tool', name, '--json'])),
    );
    for (const { stdout } of rows) {
      expect(jsonLines(stdout)).toMatchObject([
        { at: COUNT, tool: { tool_name: 'shell', effective: true, since: { position: opened } } },
      ]);
    }
  });

  test('lists what is not checked of a tool whose schemas do not compile', async () => {
    const odd = tool('odd', { input_schema: { type: 'strng' }, output_schema: { $ref: '#/nowhere' } });
    const tool_package = { ...testPackage(), registry: [odd], profiles: [profileOf('all', [odd])] };
    const file = await write('odd.jsonl', session({ tool_package }));
    const [line] = jsonLines((await refold(['explain', file, '--json'])).stdout);
    expect(line).toMatchObject({
      tool: {
        unchecked: [
          { what: 'arguments', why: expect.stringMatching('strng') as string },
          { what: 'results', why: expect.stringMatching('nowhere') as string },
        ],
      },
    });
    expect((await refold(['explain', file])).stdout).toMatch(/! arguments are not checked: .*\n +! results are not/);
    expect((await refold(['explain', DEMO])).stdout).not.toMatch(/not checked/);
  });

  test('explains which calls a call waited for and why, which bridge ran it and how it ended', async () => {
    const { code, stdout } = await refold(['explain', DEMO, '--call', 'call_4_3']);
    expect(code).toBe(0);
    expect(stdout).toContain(`as call 3 of turn 4 of run-1, position ${turnIn(4)} `);
    expect(stdout).toMatch(/group +2 of 3: it follows group 1, /);
    const before = callIn('ToolCallSettled', 'call_4_2');
    expect(stdout).toContain(
      `waited for call_4_2 (edit_file, group 1, settled at position ${before}): that call claims write fs/src/tax.js, this one write fs/src/tax.js`,
    );
    const settled = callIn('ToolCallSettled', 'call_4_3');
    const answered = positionIn((event) => event.kind === 'ToolBatchSettled' && event.batch_id === 'batch-4');
    expect(stdout).toMatch(new RegExp(`started +position ${started} .* by bridge-\\S+, attempt 1`));
    expect(stdout).toMatch(new RegExp(`settled +position ${settled} .* by ToolCallSettled: succeeded`));
    expect(stdout).toMatch(new RegExp(`answered +the model received the result at position ${answered} `));
  });

  test('explains a call as of a position', async () => {
    const version = started + 1;
    const [object] = jsonLines(
      (await refold(['explain', DEMO, '--call', 'call_4_3', '--at', `${version}`, '--json'])).stdout,
    );
    expect(object).toMatchObject({ at: version, status: 'running', settled: null, starts: [{ position: started }] });
  });

  test('shows what a result tells people, whole', async () => {
    const message = `Saved ${'x'.repeat(500)} at last`;
    const result = { success: false, message, error: 'EDOM', nextAction: 'try x' };
    const file = await write(
      'told.jsonl',
      session()
        .runRequested()
        .observed([call('a', 'free')])
        .settled('a', { result, outcome: 'failed', code: 'odd' }),
    );
    const { stdout } = await refold(['explain', file, '--call', 'a']);
    expect(stdout).toMatch(/ {2}message {4}Saved x{500} at last\n {2}error {6}EDOM\n {2}next {7}try x\n/);
  });

  test('explains a rejected call by its code and message', async () => {
    const { stdout } = await onData('explain', wordy, '--call', 'c3');
    expect(stdout).toMatch(/tool +no tool had this name\n +rejected +tool_unknown: There is no tool "nowhere"/);
    expect(stdout).toMatch(/c3 +nowhere +rejected/);
  });

  test.each([
    [['--tool', 'nothing'], /there is no tool "nothing".*shell/],
    [['--call', 'absent'], /no call "absent".*refold events/],
    [['--at', '99'], new RegExp(`has only ${COUNT} events`)],
    [['--at', 'x'], /--at takes a whole number/],
    [['--tool', 'a', '--call', 'b'], /cannot be used with/],
  ])('misuse %j exits with 2 and says what to do', async (args, says) => {
    const { code, stderr } = await refold(['explain', DEMO, ...args]);
    expect(code).toBe(2);
    expect(stderr).toMatch(says);
  });
});

test.each(['verify', 'diff', 'explain'])('%s --help lists its options', async (command) => {
  const { code, stdout } = await refold([command, '--help']);
  expect(code).toBe(0);
  expect(stdout).toContain('--json');
});
