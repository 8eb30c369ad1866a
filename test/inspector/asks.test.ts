// What the worker answers of every recorded session is what the commands say of it. `npm test` looks at a few turns and calls of
// each, `npm run soak -- inspector` at all of them.
import { readFile, readdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type FoldedEvent,
  type TurnTimeline,
  explain,
  newTimeline,
  personEffects,
  stateDigest,
} from '../../src/core/index.ts';
import type { StreamRecord } from '../../schemas/record.ts';
import { decodeStreamRecord } from '../../schemas/record.ts';
import { mustBe } from '../../src/client/must.ts';
import { foldedIn } from '../audit/records.ts';
import { jsonLines, refold } from '../support/e2e/refold.ts';
import { type Asking, newAsking } from '../support/inspector.ts';
import { roundsOf } from '../support/random.ts';

const FIXTURES = new URL('../../replay-fixtures/', import.meta.url);
const fixtures = (await readdir(FIXTURES, { withFileTypes: true }))
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

/** Turns and calls of each session that are looked at; a soak looks at many more. */
const TURNS = roundsOf(3, 1_000);
const CALLS = roundsOf(1, 40);

interface Opened {
  readonly asking: Asking;
  readonly source: number;
  readonly folded: readonly FoldedEvent[];
  readonly path: string;
}

async function opened(name: string): Promise<Opened> {
  const path = new URL(`${name}/session.jsonl`, FIXTURES).pathname;
  const text = await readFile(path, 'utf8');
  const records = text
    .trimEnd()
    .split('\n')
    .map((line): StreamRecord => mustBe(decodeStreamRecord(JSON.parse(line))));
  const asking = newAsking();
  const { source } = await asking.ask('open', { kind: 'embedded', name, text });
  const folded = foldedIn(records);
  await asking.ask('state', { source, at: folded.length, path: '', from: 0, limit: 0 });
  return { asking, source, folded, path };
}

/** So many of a list, from its first to its last. */
const spread = <T>(items: readonly T[], count: number): readonly T[] => {
  const step = Math.max(1, (items.length - 1) / Math.max(1, count - 1));
  return items.filter((_, index) => Math.floor(index / step) > Math.floor((index - 1) / step) || index === 0);
};

describe.each(fixtures)('replay-fixtures/%s', (name) => {
  let asked: Opened;
  beforeAll(async () => {
    asked = await opened(name);
  });
  afterAll(() => asked.asking.close());

  test('has the rows of its events, and the turns of its timeline', async () => {
    const { asking, source, folded } = asked;
    const { rows } = await asking.ask('rows', { source, from: 0, limit: 500 });
    expect(rows.map(({ position, kind, at_ms }) => ({ position, kind, at_ms }))).toEqual(
      folded.slice(0, 500).map(({ position, event: { kind, at_ms } }) => ({ position, kind, at_ms })),
    );

    const timeline = newTimeline();
    const expected = folded.flatMap((event) => timeline.add(event) ?? []);
    const open = timeline.open();
    if (open !== null) expected.push(open);
    const { turns, total } = await asking.ask('turns', { source, from: 0, limit: 500 });
    expect(turns.length).toBe(total);
    const shown = [];
    const sample = spread(turns, TURNS);
    const isSampled = ({ run_id, turn }: TurnTimeline): boolean =>
      sample.some((card) => card.run_id === run_id && card.turn === turn);
    for (const { run_id, turn } of sample) {
      const { timelines, plans } = await asking.ask('turn', { source, run_id, turn });
      shown.push(...timelines);
      for (const { calls, edges, groups } of plans) {
        expect(groups.flat().sort()).toEqual(calls.map(({ call_id }) => call_id).sort());
        expect(edges.filter(({ conflict }) => conflict === null)).toEqual([]);
      }
    }
    expect(shown).toEqual(expected.filter(isSampled));
  });

  test('explains each call as `refold explain --call` does', async () => {
    const { asking, source, path } = asked;
    const { turns } = await asking.ask('turns', { source, from: 0, limit: 500 });
    const all = turns.flatMap((turn) => turn.calls);
    const calls = spread(all, CALLS);
    expect(calls.length > 0).toBe(all.length > 0);
    for (const card of calls) {
      const detail = await asking.ask('call', { source, ...card });
      const first = jsonLines((await refold(['explain', path, '--call', card.call_id, '--json'])).stdout).find(
        (row) =>
          (row['observed'] as { position: number }).position === card.observed && row['index'] === detail.address.index,
      );
      const { session_id: _session, at: _at, ...explanation } = first ?? {};
      // A call may settle after its turn, when an interrupt left it running.
      expect(JSON.parse(JSON.stringify(detail.explanation))).toEqual(explanation);
      expect(detail.lines.length).toBeGreaterThan(3);
      expect(card.status).toBe(detail.explanation.status);
    }
  });

  test('has the state of every position, and its tools', async () => {
    const { asking, source, folded } = asked;
    const step = Math.max(1, Math.floor(folded.length / 5));
    for (let at = folded.length; at > 0; at -= step) {
      const after = (folded[at - 1] as FoldedEvent).after;
      const { node, children } = await asking.ask('state', { source, at, path: '', from: 0, limit: 500 });
      expect(node.digest).toBe(stateDigest(after));
      expect(children.map(({ name: key }) => key)).toEqual(Object.keys(after).sort());
      const { tools } = await asking.ask('tools', { source, at });
      expect(tools.map(({ tool }) => [tool?.tool_id, tool?.effective])).toEqual(
        explain(after).map(({ tool_id, effective }) => [tool_id, effective]),
      );
    }
  });

  test('ends with good verdicts, and what waits', async () => {
    const { asking, source, folded } = asked;
    const { now, verdicts } = await asking.ask('session', { source });
    const last = folded.at(-1)?.after;
    expect(now?.state_digest).toBe(last && stateDigest(last));
    expect(now?.waits.length).toBe(last && personEffects(last).length);
    expect(verdicts.chain).toMatchObject({ state: 'good', checked: folded.length, fault: null });
    expect(verdicts.fold).toMatchObject({ state: 'good', checked: folded.length, fault: null });
    expect(verdicts.head).toMatchObject({ state: 'none' });
    expect(verdicts.head.line).toContain('its writer could have written all of it');
    expect(verdicts.blobs).toMatchObject({ state: 'cannot' });
  });
});
