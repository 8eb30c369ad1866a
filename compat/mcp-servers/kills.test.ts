// The public MCP servers as real processes (they speak 2025-11-25) under a bridge and an engine, all killed at random moments: no
// repeatable call is lost, nothing else runs twice, no question is asked twice. `npm run compat` kills a few times from a fixed
// seed; with REFOLD_TEST_ROUNDS=10 150 times from a new one.
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Call } from '../../test/support/e2e/crash-model.ts';
import { type EndedCall, MCP_KILLS_SAMPLE, killAll } from '../../test/support/e2e/mcp-kills.ts';
import { roundsOf } from '../../test/support/random.ts';
import { COMPAT } from '../support/consumer.ts';

const script = (name: string): string => join(COMPAT, 'node_modules/@modelcontextprotocol', name, 'dist/index.js');
const ROUNDS = roundsOf(MCP_KILLS_SAMPLE, 150);
const IS_SAMPLE = ROUNDS === MCP_KILLS_SAMPLE;
const SEED = Number(process.env['REFOLD_TEST_SEED'] ?? (IS_SAMPLE ? 1 : Date.now() % 1_000_000));

/** Every run has a file of its own, in which each call that changes it leaves a line. */
function callsOf(workspace: string, run: string, turn: number): readonly Call[] {
  const path = join(workspace, `${run}.txt`);
  const idOf = (at: number): string => `${run}-${turn}-${at}`;
  const turns: readonly (readonly [name: string, args: object])[][] = [
    [
      ['everything__echo', { message: run }],
      ['files__write_file', { path, content: 'begun\n' }],
      ['files__edit_file', { path, edits: [{ oldText: 'begun\n', newText: `begun\nedit_file ${idOf(2)}\n` }] }],
    ],
    [
      ['everything__trigger-elicitation-request', {}],
      ['files__move_file', { source: path, destination: join(workspace, `${run}-moved.txt`) }],
      ['files__list_directory', { path: workspace }],
      ...(run.endsWith('_0') ? [['everything__simulate-research-query', { topic: run }] as const] : []),
    ],
  ];
  return (turns[turn - 1] ?? []).map(([name, given], at) => ({ id: idOf(at), name: `mcp__${name}`, arguments: given }));
}

/** What each of the tools may end as beside success: a cut off call must not be made again unless it is repeatable. */
const CUT_OFF = ['cancelled', 'lease_lost', 'server_unavailable', 'unknown'];
const ENDS: Readonly<Record<string, readonly string[]>> = {
  echo: [],
  write_file: [],
  list_directory: [],
  edit_file: CUT_OFF,
  move_file: CUT_OFF,
  'trigger-elicitation-request': CUT_OFF,
  // Its tasks are in its memory: after a restart it knows none of them.
  'simulate-research-query': [...CUT_OFF, 'server_refused'],
};

function faultsOf({ id, tool, end, text, asked, answered }: EndedCall, world: readonly string[]): string[] {
  const done = world.filter((line) => line === `${tool} ${id}`).length;
  const ends = end === 'succeeded';
  const asks = tool === 'trigger-elicitation-request';
  const rules: readonly (readonly [broken: boolean, fault: string])[] = [
    [!ends && ENDS[tool]?.includes(end) !== true, 'a repeatable call is lost, or a call failed'],
    [done > 1, `it was done ${done} times`],
    [tool === 'edit_file' && ends && done === 0, 'it succeeded, and was never done'],
    [asked > (asks ? 1 : 0), `it asked ${asked} times`],
    [answered > asked, `its question has ${answered} answers`],
    [ends && asked === 1 && !(answered === 1 && text.includes('Ada')), 'its server was not told the answer'],
  ];
  return rules.flatMap(([broken, fault]) => (broken ? [fault] : []));
}

async function worldOf(workspace: string): Promise<readonly string[]> {
  const files = await Promise.all((await readdir(workspace)).map((name) => readFile(join(workspace, name), 'utf8')));
  return files.flatMap((content) => content.split('\n'));
}

test(
  `nothing is lost and nothing is repeated: ${ROUNDS} kills`,
  async () => {
    const started = { command: process.execPath, trust: 'first', trust_hints: true };
    const { summary, faults } = await killAll({
      name: 'kills of public MCP servers',
      rounds: ROUNDS,
      seed: SEED,
      sessions: roundsOf(2, 8),
      servers: ({ workspace }) => ({
        everything: { ...started, args: [script('server-everything'), 'stdio'] },
        files: { ...started, args: [script('server-filesystem'), workspace], sandbox: { write: [workspace] } },
      }),
      callsOf,
      answerTo: () => ({ action: 'accept', content: { name: 'Ada' } }),
      faultsOf,
      worldOf,
    });
    process.stdout.write(`${summary}\n`);
    expect(faults).toEqual([]);
  },
  60_000 + ROUNDS * 15_000,
);
