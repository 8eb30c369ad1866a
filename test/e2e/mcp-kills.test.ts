// A server of ours with tasks and questions, its bridge and the engine are killed at random moments, as real processes. No
// repeatable or noted call is lost, nothing else runs twice, no question is lost or asked twice. `npm test` kills a few times
// from a fixed seed; `npm run soak -- mcp-kills` 150 times from a new one.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type EndedCall, MCP_KILLS_SAMPLE, killAll } from '../support/e2e/mcp-kills.ts';
import { ROOT } from '../support/e2e/refold.ts';
import { roundsOf } from '../support/random.ts';

const SERVER = join(ROOT, 'test/support/mcp/lasting-server.mjs');
const ROUNDS = roundsOf(MCP_KILLS_SAMPLE, 150);
const IS_SAMPLE = ROUNDS === MCP_KILLS_SAMPLE;
const SEED = Number(process.env['REFOLD_TEST_SEED'] ?? (IS_SAMPLE ? 1 : Date.now() % 1_000_000));

/** The tools that the model calls, turn by turn. */
const TURNS = [
  ['look', 'append', 'work'],
  ['ask', 'look', 'ask_again', 'order'],
];

const sizeOf = (key: string): string => `size-of-${key}`;

/** How a call may end whose bridge or server was killed, when it must not be made again. */
const CUT_OFF = new Set(['cancelled', 'lease_lost', 'server_unavailable', 'unknown']);
const REPEATABLE = new Set(['look', 'ask_again']);
const ASKS = new Set(['ask', 'ask_again', 'order']);

function faultsOf({ id, tool, end, text, noted, asked, answered }: EndedCall, world: readonly string[]): string[] {
  const times = (what: string): number => world.filter((line) => line === `${what} ${id}`).length;
  const done = times(tool);
  const ends = end === 'succeeded';
  const rules: readonly (readonly [broken: boolean, fault: string])[] = [
    [!ends && (REPEATABLE.has(tool) || noted), 'a repeatable or noted call is lost'],
    [!ends && !CUT_OFF.has(end), 'it failed'],
    [ends && done === 0, 'it succeeded, and was never done'],
    [done > 1 && !REPEATABLE.has(tool), `it was done ${done} times`],
    [asked > 1 || (asked === 1 && !ASKS.has(tool)), `it asked ${asked} times`],
    [answered !== asked, `its question has ${answered} answers`],
    [
      ends && ASKS.has(tool) && !text.endsWith(`accept ${sizeOf(id)}`),
      'its server was not told the answer, or its own state',
    ],
    [tool === 'ask' && times('answered') > asked, 'its server was told an answer twice'],
    [tool === 'order' && times('told') !== asked, `its task was told the answer ${times('told')} times`],
  ];
  return rules.flatMap(([broken, fault]) => (broken ? [fault] : []));
}

test(
  `nothing is lost and nothing is repeated: ${ROUNDS} kills`,
  async () => {
    const { summary, faults } = await killAll({
      name: 'mcp kills',
      rounds: ROUNDS,
      seed: SEED,
      sessions: roundsOf(2, 8),
      servers: ({ workspace }) => ({
        lasting: {
          command: process.execPath,
          args: [SERVER, workspace],
          trust: 'first',
          trust_hints: true,
          sandbox: { write: [workspace] },
        },
      }),
      callsOf: (_workspace, run, turn) =>
        (TURNS[turn - 1] ?? []).map((tool, at) => {
          const id = `${run}-${turn}-${at}`;
          return { id, name: `mcp__lasting__${tool}`, arguments: { key: id } };
        }),
      answerTo: ({ asked }) => {
        const [, key = ''] = /^Which size for (.*)\?$/.exec(asked.message) ?? [];
        return { action: 'accept', content: { size: sizeOf(key) } };
      },
      faultsOf,
      worldOf: async (workspace) => (await readFile(join(workspace, 'world.txt'), 'utf8')).trimEnd().split('\n'),
    });
    process.stdout.write(`${summary}\n`);
    expect(faults).toEqual([]);
  },
  60_000 + ROUNDS * 10_000,
);
