// The time spans of the turns of a session. The events of the tests are one second apart, the first at 1,000 ms.
import { describe, expect, test } from 'vitest';
import { isTerminal } from '../../reducers/call-status.ts';
import { type CallExplanation, type TurnTimeline, newCallHistory, newTimeline } from '../../src/core/index.ts';
import { ASKS_WRITE, asking, calling } from '../support/consent.ts';
import { roundsOf } from '../support/random.ts';
import { type Session, call, session } from '../support/session.ts';
import { walk } from '../support/streams.ts';
import { foldedIn, recordsOf } from './records.ts';

interface Turns {
  readonly over: readonly TurnTimeline[];
  readonly open: TurnTimeline | null;
}

function turnsOf(story: Session): Turns {
  const timeline = newTimeline();
  const over: TurnTimeline[] = [];
  // How events were committed together changes no time.
  for (const folded of foldedIn(recordsOf(story, [2, 5]))) {
    const turn = timeline.add(folded);
    if (turn !== null) over.push(turn);
  }
  return { over, open: timeline.open() };
}

const spansOf = (turn: TurnTimeline | null | undefined, id: string): readonly string[] =>
  turn?.calls
    .find(({ call: { call_id } }) => call_id === id)
    ?.spans.map(({ what, from_ms, to_ms }) => `${what} ${from_ms}..${to_ms ?? ''}`) ?? [];

const took = (story: Session, id: string, duration_ms: number): Session =>
  story.takes('ToolCallSettled', { ...story.settlementFields(id), duration_ms });

const begun = session().runRequested();

describe('a turn', () => {
  test('lasts from the request to the model until its results are recorded', () => {
    const story = begun
      .observed([call('r', 'read', { path: 'x' })])
      .settled('r')
      .batchSettled()
      .answered('done');
    expect(turnsOf(story)).toMatchObject({
      over: [
        { run_id: 'run-1', turn: 1, asked_ms: 1_000, observed_ms: 2_000, over_ms: 4_000 },
        { run_id: 'run-1', turn: 2, asked_ms: 4_000, observed_ms: 5_000, over_ms: 5_000, calls: [] },
      ],
      open: null,
    });
  });

  test('stays open until then', () => {
    const { over, open } = turnsOf(begun.observed([call('r', 'read', { path: 'x' })]));
    expect(over).toEqual([]);
    expect(open).toMatchObject({ turn: 1, over_ms: null });
    expect(spansOf(open, 'r')).toEqual(['queue 2000..']);
  });

  test('counts a retried request to the model from the first attempt', () => {
    const again = begun.takes('GenerateFailed', {
      ...begun.turnFields(),
      code: 'overloaded',
      message: 'busy',
      retryable: true,
      jitter_permille: 1_000,
    });
    const due_at_ms = again.state.run?.retry?.not_before_ms ?? 0;
    const asked = again.takes('TimeReached', { due_at_ms });
    expect(turnsOf(asked.answered('at last')).over).toMatchObject([{ asked_ms: 1_000, observed_ms: 4_000 }]);
  });

  test('begins after its compaction, which is measured by itself; one that is given up is forgotten', () => {
    const asked = session()
      .runRequested({ context: { mark: 100 } })
      .observed([call('r', 'read', { path: 'x' })])
      .batchDone()
      .generateFailed('context_length', 'too long');
    const { over } = turnsOf(asked.steered('and y').compacted('so far').answered('done'));
    const compacted = { from_ms: 5_000, to_ms: 7_000 };
    expect(over.at(-1)).toMatchObject({ turn: 3, compacted, asked_ms: 7_000, observed_ms: 8_000 });
    expect(over[0]).not.toHaveProperty('compacted');
    const next = turnsOf(asked.cancelled().runRequested().answered('done')).over.at(-1);
    expect(next).toMatchObject({ run_id: 'run-2' });
    expect(next).not.toHaveProperty('compacted');
  });
});

describe('a call', () => {
  test('waits, then runs from its start to its report', () => {
    const story = begun
      .observed([call('w', 'write', { path: 'x' }), call('r', 'read', { path: 'x' }), call('n', 'absent')])
      .started('w')
      .settled('w');
    const { open } = turnsOf(took(story, 'r', 300));
    expect(spansOf(open, 'w')).toEqual(['queue 2000..3000', 'run 3000..4000']);
    expect(spansOf(open, 'r')).toEqual(['queue 2000..4700', 'run 4700..5000']);
    expect(open?.calls).toMatchObject([
      { group: 0, status: 'succeeded' },
      { group: 1, status: 'succeeded' },
      { group: null, status: 'rejected', code: 'tool_unknown', spans: [] },
    ]);
  });

  test('whose report has no duration has only a waiting span', () => {
    const story = begun.observed([call('r', 'read', { path: 'x' })]).settled('r');
    expect(spansOf(turnsOf(story).open, 'r')).toEqual(['queue 2000..3000']);
  });

  test('whose reported duration exceeds the available time ran all of that time', () => {
    const story = took(begun.observed([call('r', 'read', { path: 'x' })]), 'r', 60_000);
    expect(spansOf(turnsOf(story).open, 'r')).toEqual(['queue 2000..2000', 'run 2000..3000']);
  });

  test('whose bridge was lost waits again', () => {
    const story = begun
      .observed([call('r', 'read', { path: 'x' })])
      .started('r')
      .leaseExpired('r');
    expect(spansOf(turnsOf(story).open, 'r')).toEqual(['queue 2000..3000', 'run 3000..4000', 'queue 4000..']);
  });

  test('that asks waits for a person first', () => {
    const story = calling(asking(), call('a', ASKS_WRITE.tool_name, { path: 'x' }))
      .allowed('a')
      .started('a');
    expect(spansOf(turnsOf(took(story, 'a', 0)).open, 'a')).toEqual([
      'person 2000..3000',
      'queue 3000..4000',
      'run 4000..5000',
    ]);
  });

  test.each([undefined, 'state'])('that itself asks waits for a person meanwhile (resumes with: %s)', (resume) => {
    const story = begun
      .observed([call('o', 'once')])
      .started('o')
      .asked('o', {}, resume)
      .elicited('o');
    expect(spansOf(turnsOf(story).open, 'o').slice(0, 3)).toEqual([
      'queue 2000..3000',
      'run 3000..4000',
      'person 4000..5000',
    ]);
    expect(spansOf(turnsOf(story).open, 'o').at(3)).toBe(resume === undefined ? 'run 5000..' : 'queue 5000..');
  });

  test('that is cut off by the end of its run ends with it', () => {
    const { over } = turnsOf(begun.observed([call('r', 'read', { path: 'x' })]).cancelled());
    expect(over).toMatchObject([{ over_ms: 3_000, calls: [{ status: 'cancelled' }] }]);
    expect(spansOf(over[0], 'r')).toEqual(['queue 2000..3000']);
  });
});

test('in any session, each turn has its calls once, as explained, in spans without gaps', () => {
  for (let seed = 1; seed <= roundsOf(6, 250); seed += 1) {
    const story = walk(seed, 80).session;
    const explained = explainedIn(story);
    const { over, open } = turnsOf(story);
    const turns = [...over, ...(open === null ? [] : [open])];
    const calls = turns.flatMap((turn) => turn.calls.map((timeline, index) => ({ turn, index, ...timeline })));
    expect(calls.length).toBe(explained.length);
    for (const { turn, index, call: made, status, code, spans } of calls) {
      const explanation = explained.find(
        (row) => row.observed.at_ms === turn.observed_ms && row.index === index && row.turn === turn.turn,
      );
      expect(explanation).toMatchObject({ call: made, status });
      expect(code).toBe(explanation?.settled?.code ?? null);
      expect(spans.at(-1)?.to_ms === null).toBe(!isTerminal(status));
      for (const [at, span] of spans.entries()) {
        expect(span.from_ms).toBe(at === 0 ? turn.observed_ms : spans[at - 1]?.to_ms);
        expect(span.to_ms ?? Infinity).toBeGreaterThanOrEqual(span.from_ms);
      }
    }
  }
});

/** The explanation of every call of a session. */
function explainedIn(story: Session): readonly CallExplanation[] {
  const ids = new Set(
    story.events.flatMap((event) => {
      if (event.kind === 'ToolCallsObserved') return event.calls.map(({ call_id }) => call_id);
      return event.kind === 'user.tool_confirmation' && event.instead !== undefined ? [event.instead.call_id] : [];
    }),
  );
  const histories = Array.from(ids, newCallHistory);
  for (const folded of foldedIn(recordsOf(story))) for (const history of histories) history.add(folded);
  return histories.flatMap((history) => history.result());
}
