// `refold fork`, `checkpoint` and `whatif` over a data directory and over exported files.
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { brand } from '../../schemas/index.ts';
import { openEngine } from '../../src/engine/engine.ts';
import { must } from '../../src/client/must.ts';
import { DEMO, DEMO_EVENTS, DEMO_LINES, callIn, commitIn, turnIn } from '../support/e2e/recorded-demo.ts';
import { type Finished, ROOT, freshDirectory, jsonLines, refold } from '../support/e2e/refold.ts';

const COUNT = DEMO_EVENTS.length;
const LEASE_LOST = join(ROOT, 'replay-fixtures/lease-lost/session.jsonl');

let home: string;
let data: string;
let demo: string;

const onData = (...args: readonly string[]): Promise<Finished> => refold([...args, '--data-dir', data]);
const at = (name: string): string => join(home, name);

beforeAll(async () => {
  home = await freshDirectory();
  data = at('data');
  const [imported] = jsonLines((await onData('import', DEMO, '--as-recorded', '--json')).stdout);
  demo = String(imported?.['session_id']);
});
afterAll(() => rm(home, { recursive: true }));

describe('refold fork', () => {
  test('creates a session and prints its source, the added events with reasons, and the next command', async () => {
    // Right after a call began.
    const version = callIn('ToolCallStarted', 'call_4_3') + 1;
    const { code, stdout } = await onData('fork', demo, '--at', `${version}`, '--to', 'middle');
    expect(code).toBe(0);
    expect(stdout).toContain(`middle  forked from ${demo} after ${version} events\n`);
    expect(stdout).toMatch(new RegExp(`added +position ${version} {2}RunPaused\n`));
    expect(stdout).toMatch(
      new RegExp(
        `added +position ${version + 1} {2}LeaseExpired {2}call_4_3: the source’s bridge runs it.* here it is unknown`,
      ),
    );
    expect(stdout).toMatch(/now +run-1 paused_executing, turn 4\nnext +refold resume middle, or/);
    const [object] = jsonLines((await onData('fork', demo, '--at', `${version}`, '--to', 'middle-2', '--json')).stdout);
    expect(object).toMatchObject({
      session_id: 'middle-2',
      version: version + 3,
      forked_from: { session_id: demo, position: version },
    });
  });

  test('with --run end, the fork takes the next prompt', async () => {
    const version = turnIn(4) + 1;
    const { stdout } = await onData('fork', demo, '--at', `${version}`, '--to', 'over', '--run', 'end');
    expect(stdout).toMatch(
      new RegExp(
        `added +position ${version} {2}RunCancelled\nadded +position ${version + 1} {2}ConsentPolicySet  the same policy: the grants of the source end here\nnow +idle\nnext +refold run "\\.{3}" --session over`,
      ),
    );
  });

  test('withdraws the question of a call that its attempt left behind, and says so', async () => {
    const file = join(ROOT, 'replay-fixtures/asked/session.jsonl');
    const [imported] = jsonLines((await onData('import', file, '--as-recorded', '--json')).stdout);
    // Right after a call has asked, and its attempt was over.
    const { stdout } = await onData('fork', String(imported?.['session_id']), '--at', '8', '--to', 'asked-copy');
    expect(stdout).toMatch(/user\.elicitation_result {2}\S+: what it asks is withdrawn, because/);
  });

  test('is verified against its source when that is available, and says so when it is not', async () => {
    await onData('fork', demo, '--at', '4', '--to', 'early');
    expect((await onData('verify', 'early')).stdout).toContain('the same 4 events and chain value');
    await onData('export', 'early', '-o', at('early.jsonl'));
    expect((await refold(['verify', at('early.jsonl'), DEMO])).stdout).toContain('the same 4 events');
    expect((await refold(['verify', at('early.jsonl')])).stdout).toContain(
      'the source is not available, so not compared',
    );
    const cut = (await readFile(at('early.jsonl'), 'utf8')).split('\n').slice(0, 4).join('\n');
    await writeFile(at('cut.jsonl'), cut);
    const found = await refold(['verify', at('cut.jsonl'), '--json']);
    expect(found.code).toBe(1);
    expect(jsonLines(found.stdout)[0]).toMatchObject({ fault: { position: 2, what: 'lineage' } });
  });

  test.each([
    [['absent'], /there is no session absent/],
    [['DEMO', '--at', `${COUNT + 1}`], new RegExp(`has ${COUNT} events, so it cannot be forked after ${COUNT + 1}`)],
    [['DEMO', '--at', 'x'], /--at takes a whole number/],
    [['DEMO', '--run', 'on'], /Allowed choices are pause, go, end/],
    [['DEMO', '--to', '../x'], /is not a session id .* List the sessions: refold sessions/],
  ])('misuse %j exits with 2 and says why', async (args, says) => {
    const { code, stderr } = await onData('fork', ...args.map((arg) => (arg === 'DEMO' ? demo : arg)));
    expect(code).toBe(2);
    expect(stderr).toMatch(says);
  });
});

test('a session that is imported as recorded is exported byte for byte, and a fork of it verifies', async () => {
  const file = join(ROOT, 'replay-fixtures/interrupted-batch/session.jsonl');
  const [imported] = jsonLines((await onData('import', file, '--as-recorded', '--json')).stdout);
  const id = String(imported?.['session_id']);
  const { stdout } = await onData('export', id);
  expect(stdout).toBe(await readFile(file, 'utf8'));
  expect(await onData('fork', id, '--to', 'of-imported')).toMatchObject({ code: 0 });
  expect(await onData('verify', id, 'of-imported')).toMatchObject({ code: 0 });
});

test.each(['import', 'replay', 'verify'])(
  'an export made before 0.2 is refused by %s, which says what to do',
  async (command) => {
    const file = at('before-0.2.jsonl');
    const genesis = { config: {}, session_id: 's', v: 2 };
    await writeFile(file, `${JSON.stringify({ chain: '', format: 1, genesis, kind: 'genesis', state_digest: '' })}\n`);
    const { code, stdout, stderr } = await refold([command, file, '--data-dir', at(`before-0.2-${command}`)]);
    expect(code).toBe(1);
    expect(stdout + stderr).toMatch(
      /line 1: made before 0\.2; record the session anew, or use the refold that made it/,
    );
  },
);

const [gone, next] = [DEMO_LINES[5], DEMO_LINES[6]].map((line) => commitIn(line).position);

test.each([
  [
    'what came before it',
    5,
    new RegExp(
      `position ${gone}: the position is ${next}; it must be ${gone}; an incomplete copy of what comes before it is stored`,
    ),
  ],
  ['nothing', 0, /position -1: .*; nothing is stored/],
])('an import of a file that does not verify exits with 1 and stores %s', async (_, missing, says) => {
  const file = at(`without-${missing}.jsonl`);
  await writeFile(file, DEMO_LINES.toSpliced(missing, 1).join('\n'));
  const { code, stderr } = await refold(['import', file, '--data-dir', at('imported')]);
  expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringMatching(says) });
  expect(stderr).toContain(`For details: refold verify ${file}\n`);
});

describe('refold checkpoint', () => {
  const key = (): string => at('key');
  const kept = (): string => at('kept.json');
  let signing: Finished;

  beforeAll(async () => {
    await refold(['checkpoint', '--new-key', key()]);
    signing = await onData('checkpoint', '--key', key(), '-o', kept());
  });

  test('signs for every session and prints their number', () => {
    expect(signing).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d sessions, \d+ events, signed into/) });
  });

  test('creates a key that only its owner can read, and overwrites no file', async () => {
    expect((await stat(key())).mode & 0o777).toBe(0o600);
    expect(await refold(['checkpoint', '--new-key', key()])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('it exists already'),
    });
  });

  test('is verified with the given key, and verify reports when none is given', async () => {
    const trusted = await refold(['verify', DEMO, '--checkpoint', kept(), '--public-key', `${key()}.pub`]);
    expect(trusted.stdout).toMatch(
      new RegExp(`by the given key\nverified[^]*matches what was signed at ${COUNT} events; 0 more since`),
    );
    expect((await onData('verify', demo, '--checkpoint', kept())).stdout).toContain('its author chose that key');
    await refold(['checkpoint', '--new-key', at('other')]);
    const wrong = await refold(['verify', DEMO, '--checkpoint', kept(), '--public-key', `${at('other')}.pub`]);
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('another key') });
  });

  test('accepts a session that has grown since, or is new', async () => {
    const engine = await must(openEngine({ dataDir: data }));
    const grown = { events: [{ kind: 'SessionConfigured' as const, config: { turns_max: 9 } }] };
    await must(engine.client.submit(brand('early'), grown));
    await must(engine.client.createSession({ session_id: brand('new') }));
    await engine.close();
    const { stdout } = await onData('verify', 'early', 'new', '--checkpoint', kept());
    expect(stdout).toMatch(/matches what was signed at 5 events; 1 more since/);
    expect(stdout).toContain('does not contain this session');
  });

  test('reports a session that is missing and one that was truncated', async () => {
    const elsewhere = at('elsewhere');
    const nowhere = await refold(['verify', '--checkpoint', kept(), '--data-dir', elsewhere]);
    expect(nowhere).toMatchObject({ code: 2, stderr: expect.stringContaining('there is no data directory at ') });
    await (await must(openEngine({ dataDir: elsewhere }))).close();
    const gone = await refold(['verify', '--checkpoint', kept(), '--data-dir', elsewhere, '--json']);
    expect(gone.code).toBe(1);
    expect(jsonLines(gone.stdout).filter((line) => line['source'] === demo)).toMatchObject([
      { fault: { position: -1, what: 'deleted' } },
    ]);
    // An import keeps the id of the session, so the fixture is its export.
    await writeFile(at('short.jsonl'), DEMO_LINES.slice(0, 9).join('\n'));
    expect(
      jsonLines((await refold(['verify', at('short.jsonl'), '--checkpoint', kept(), '--json'])).stdout),
    ).toMatchObject([
      { trusted_key: false },
      { fault: { position: commitIn(DEMO_LINES[9]).position, what: 'truncated' } },
      { summary: { bad: 1 } },
    ]);
  });

  test('proves one session without the others', async () => {
    const proving = await refold(['checkpoint', '--prove', demo, '--checkpoint', kept(), '-o', at('proof.json')]);
    expect(proving).toMatchObject({ code: 0, stdout: expect.stringContaining(`at ${COUNT} events: `) });
    const checked = await refold(['verify', DEMO, '--checkpoint', at('proof.json'), '--public-key', `${key()}.pub`]);
    expect(checked).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`matches what was signed at ${COUNT} events`),
    });
    const other = await refold(['checkpoint', '--prove', 'absent', '--checkpoint', kept()]);
    expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining('does not contain session absent') });
  });

  test('refuses a key that other users may read, and files that are neither a key nor a checkpoint', async () => {
    await writeFile(at('loose'), await readFile(key()), { mode: 0o644 });
    expect((await onData('checkpoint', '--key', at('loose'))).stderr).toContain('chmod 600');
    await writeFile(at('garbage'), 'hello', { mode: 0o600 });
    expect((await onData('checkpoint', '--key', at('garbage'))).stderr).toContain('private Ed25519 key');
    expect((await onData('verify', demo, '--checkpoint', at('garbage'))).stderr).toContain('is not a checkpoint');
    expect((await onData('verify', demo, '--checkpoint', at('nowhere'))).stderr).toContain('cannot read');
    expect(await refold(['checkpoint'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('give exactly one of'),
    });
  });
});

describe('refold whatif', () => {
  interface Tool {
    readonly tool_name: string;
    readonly [field: string]: unknown;
  }
  const tools = async (): Promise<readonly Tool[]> => {
    const { tool_package } = JSON.parse(String(DEMO_LINES[0])) as { tool_package: { registry: readonly Tool[] } };
    return tool_package.registry;
  };
  const write = async (name: string, value: unknown): Promise<string> => {
    await writeFile(at(name), JSON.stringify(value));
    return at(name);
  };

  test('reports no change under the same tools, and exits with 0', async () => {
    const { code, stdout } = await refold(['whatif', DEMO, '--registry', await write('same.json', await tools())]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/same .*6 turns, 15 calls: nothing changes\n1 session: none decides differently/);
  });

  test('lists the calls that are decided differently, and exits with 1', async () => {
    const other = (await tools()).filter(({ tool_name }) => tool_name !== 'shell');
    const args = ['--registry', await write('other.json', other)];
    const { code, stdout } = await refold(['whatif', DEMO, ...args]);
    expect(code).toBe(1);
    expect(stdout).toMatch(new RegExp(`position ${turnIn(2)}, turn 2 of run-1\n +offer {2}-shell\n`));
    expect(stdout).toMatch(/call_3_1 shell {2}runs in group 1 → rejected, tool_unknown/);
    const lines = jsonLines((await refold(['whatif', DEMO, ...args, '--json'])).stdout);
    expect(lines).toMatchObject([
      { changed: true, rejections: 2, plans: 0, offers: 5 },
      { summary: { sessions: 1, changed: 1, unreadable: 0, rejections: 2 } },
    ]);
  });

  test('checks arguments against another schema, whose author need not know any digest', async () => {
    const strict = (await tools()).map((tool) =>
      tool.tool_name === 'grep' ? { ...tool, input_schema: { type: 'object', required: ['nothing'] } } : tool,
    );
    const { stdout } = await refold(['whatif', DEMO, '--registry', await write('strict.json', strict)]);
    expect(stdout).toMatch(/call_2_7 grep {2}runs in group 1 → rejected, tool_invalid_args/);
  });

  test('counts a changed offer alone only with --strict', async () => {
    const redefined = (await tools()).map((tool) =>
      tool.tool_name === 'grep' ? { ...tool, description: 'Look.' } : tool,
    );
    const args = ['whatif', DEMO, '--registry', await write('redefined.json', redefined)];
    expect(await refold(args)).toMatchObject({ code: 0, stdout: expect.stringContaining('~grep') });
    expect(await refold([...args, '--strict'])).toMatchObject({ code: 1 });
  });

  test('reports which calls another policy would ask about, given as a file or a preset', async () => {
    const careful = await refold(['whatif', DEMO, '--policy', 'careful']);
    expect(careful).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/edit_file {2}runs without asking → asks a person/),
    });
    const modes = { read: 'allow', safe_write: 'deny', destructive: 'ask', local: 'allow', external: 'allow' };
    const file = await write('policy.json', { modes, tools: {} });
    expect((await refold(['whatif', DEMO, '--policy', file])).stdout).toContain('rejected, permission_denied');
    expect((await refold(['whatif', DEMO, '--policy', 'nothing'])).stderr).toMatch(/nor a preset.*careful/);
  });

  test('takes many sessions, files and --all, and continues after an unreadable one', async () => {
    const all = await onData('whatif', '--all', '--profile', 'openai', '--json');
    expect(all.code).toBe(1);
    expect(jsonLines(all.stdout).length).toBeGreaterThan(3);
    await writeFile(at('torn.jsonl'), (await readFile(DEMO, 'utf8')).split('\n').slice(0, 3).join('\n').slice(0, -9));
    const some = await refold(['whatif', at('torn.jsonl'), LEASE_LOST, '--registry', at('same.json')]);
    expect(some.stdout).toMatch(
      /unreadable .*torn[^]*changes .*lease-lost[^]*2 sessions: 1 decides differently, 1 unreadable/,
    );
    expect(await refold(['whatif', at('torn.jsonl'), '--profile', 'openai'])).toMatchObject({ code: 2 });
  });

  test.each([
    [[DEMO], /no alternative is given/],
    [['--profile', 'openai'], /name sessions/],
    [[DEMO, '--profile', '../x'], /--profile/],
    [[DEMO, '--registry', 'GARBAGE'], /not JSON/],
    [[DEMO, '--registry', 'NUMBER'], /neither a list of tools nor/],
    [[DEMO, '--registry', 'TWICE'], /occurs twice/],
    [[DEMO, '--registry', 'nowhere.json'], /cannot read/],
  ])('misuse %j exits with 2 and says what to do', async (args, says) => {
    const [first] = await tools();
    await writeFile(at('GARBAGE'), 'hello');
    await write('NUMBER', 7);
    await write('TWICE', [first, first]);
    const { code, stderr } = await refold(['whatif', ...args.map((arg) => (/^[A-Z]+$/.test(arg) ? at(arg) : arg))]);
    expect(code).toBe(2);
    expect(stderr).toMatch(says);
  });
});

test.each(['fork', 'checkpoint', 'whatif'])('%s --help lists its options', async (command) => {
  const { code, stdout } = await refold([command, '--help']);
  expect(code).toBe(0);
  expect(stdout).toContain('--json');
});
