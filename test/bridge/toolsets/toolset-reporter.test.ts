// The toolsets of a session are reported in few commits; what an engine refuses is told, bounded, and tried again only when it helps.
import { type Either, left, right } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import type { BridgeLogLine } from '../../../bridge/log.ts';
import { newToolsetReporter } from '../../../bridge/toolsets/toolset-reporter.ts';
import { digestText } from '../../../schemas/canonical.ts';
import type { EventOfKind, Ingress } from '../../../schemas/event.ts';
import { brand } from '../../../schemas/ids.ts';
import { TOOLSET_REFUSALS_MAX, TOOLSET_REPORTS_MAX } from '../../../schemas/limits.ts';
import { type Rejection, reject } from '../../../schemas/rejection.ts';
import { mcpTool } from '../../../src/toolsets/mcp-tools.ts';
import { session } from '../../support/session.ts';

type Set = EventOfKind<'ToolsetSet'>;
type Answer = Either<Rejection, void>;

const EFFECT = { kind: 'llm.generate', effect_id: 'e', session_id: 's', run_id: 'run-1', turn: 1 } as never;

function toolOf(server: string, name: string) {
  const made = mcpTool({ server }, { name, inputSchema: { type: 'object' } });
  if (made._tag === 'Left') throw new Error(made.left.reason);
  return made.right;
}

/** A reporter whose engine answers as given; `now` counts the reports under way. */
function reporterOf(count: number, answer: (set: Set) => Answer | Promise<Answer>) {
  const sent: Set[] = [];
  const log: BridgeLogLine[] = [];
  const { state } = session();
  const names = Array.from({ length: count }, (_, at) => `s${at}`);
  let [now, most] = [0, 0];
  const reporter = newToolsetReporter({
    sources: [
      {
        owner: brand('o'),
        version: () => 1,
        names: () => names.map((name) => `mcp.${name}`),
        ready: () => Promise.resolve(),
        toolsets: () =>
          names.map((name) => ({
            toolset: `mcp.${name}`,
            trust: null,
            tools: Array.from({ length: 12 }, (_, at) => toolOf(name, `t${at}`)),
          })),
      },
    ],
    client: { session: () => undefined as never },
    link: { ask: () => Promise.resolve(right({ state })) } as never,
    outbox: {
      async report(_session: unknown, event: Ingress) {
        sent.push(event as Set);
        now += 1;
        most = Math.max(most, now);
        const answered = await answer(event as Set);
        now -= 1;
        return answered;
      },
    },
    putBlob: (bytes) => Promise.resolve(digestText(bytes)),
    log: (line) => log.push(line),
  });
  return { reporter, sent, log, most: () => most };
}

const refusedAt = (index: number): Answer => left(reject('registry_invalid', `/events/0/tools/${index}/spec`, 'no'));
const has = (set: Set, name: string): number => set.tools.findIndex(({ spec }) => spec.tool_id.endsWith(`.${name}`));

test('50 toolsets are reported some at a time, each once', async () => {
  const { reporter, sent, most } = reporterOf(50, () => Promise.resolve(right(undefined)));
  await reporter.inStep(EFFECT);
  expect(new Set(sent.map(({ toolset }) => toolset)).size).toBe(50);
  expect(sent).toHaveLength(50);
  expect(most()).toBe(TOOLSET_REPORTS_MAX);
  await reporter.inStep(EFFECT);
  expect(sent).toHaveLength(50);
});

describe('a tool that the engine refuses', () => {
  test('is left out and named, and the others stay', async () => {
    const { reporter, sent, log } = reporterOf(2, (set) => {
      const at = set.toolset === 'mcp.s0' ? has(set, 't3') : -1;
      return at === -1 ? right(undefined) : refusedAt(at);
    });
    await reporter.inStep(EFFECT);
    expect(sent.map(({ toolset, tools }) => `${toolset} ${tools.length}`).toSorted()).toEqual([
      'mcp.s0 11',
      'mcp.s0 12',
      'mcp.s1 12',
    ]);
    expect(log.filter(({ event }) => event === 'toolset_refused')).toMatchObject([
      { toolset: 'mcp.s0', left_out: 'mcp.s0.t3', code: 'registry_invalid' },
    ]);
  });

  test('is one of few: with more the toolset is not set, and the log says so', async () => {
    const { reporter, sent, log } = reporterOf(1, () => refusedAt(0));
    await reporter.inStep(EFFECT);
    await reporter.inStep(EFFECT);
    expect(sent).toHaveLength(TOOLSET_REFUSALS_MAX + 1);
    const refused = log.filter(({ event }) => event === 'toolset_refused');
    expect(refused).toHaveLength(TOOLSET_REFUSALS_MAX + 1);
    expect(refused.filter((line) => 'left_out' in line)).toHaveLength(TOOLSET_REFUSALS_MAX);
  });

  test('is not looked for at a place that no tool has', async () => {
    const { reporter, sent } = reporterOf(1, () => refusedAt(99));
    await reporter.inStep(EFFECT);
    expect(sent).toHaveLength(1);
  });
});

test('a toolset of another owner is not tried again; one that came too late is, with the next generate', async () => {
  const owned = reporterOf(1, () => left(reject('toolset_owned', '/events/0/owner', 'no')));
  await owned.reporter.inStep(EFFECT);
  await owned.reporter.inStep(EFFECT);
  expect(owned.sent).toHaveLength(1);
  let isLate = true;
  const late = reporterOf(1, () =>
    isLate ? left(reject('wrong_turn', '/events/0/generate/turn', 'no')) : right(undefined),
  );
  await late.reporter.inStep(EFFECT);
  isLate = false;
  await late.reporter.inStep(EFFECT);
  await late.reporter.inStep(EFFECT);
  expect(late.sent).toHaveLength(2);
});
