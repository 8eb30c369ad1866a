// Compaction: when it is owed, what the window holds after it, and that every way on ends (docs/design.md, "Compaction").
import * as fc from 'fast-check';
import { isLeft } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import type { TranscriptEntry, TranscriptPage } from '../../schemas/state.ts';
import { COMPACT_ENTRIES_MIN } from '../../schemas/limits.ts';
import { type Session, ZERO_DIGEST, call, fold, say, session, textOf } from '../support/session.ts';
import { effects, initialState, stepNew } from '../../src/core/index.ts';
import { roundsOf } from '../support/random.ts';
import { walk } from '../support/streams.ts';

const MARK = 100;
const large = { usage: { input_tokens: MARK, output_tokens: 1 } };
const small = { usage: { input_tokens: 1, output_tokens: 1 } };
const started = (config: Parameters<Session['runRequested']>[0] = {}): Session =>
  session().runRequested({ context: { mark: MARK }, ...config });

/** `turns` turns of one call each: two entries in the conversation. */
function worked(of: Session, turns: number, last: object = small): Session {
  let now = of;
  for (let turn = 1; turn <= turns; turn += 1) {
    now = now.observed([call(`c${turn}`, 'free', { n: now.events.length })], turn === turns ? last : small).batchDone();
  }
  return now;
}

/** Enough entries for a page that is sealed early. */
const TURNS = COMPACT_ENTRIES_MIN / 2;
const aboveMark = (config: Parameters<Session['runRequested']>[0] = {}): Session =>
  worked(started(config), TURNS, large);
const kinds = (of: Session): readonly string[] => of.effects().map(({ kind }) => kind);

describe('a compaction is owed', () => {
  test('before the generate when the last one passed the mark, with the open page sealed early', () => {
    const run = aboveMark();
    expect(run.effects()).toMatchObject([
      {
        kind: 'llm.compact',
        effect_id: `run-1/turn-${TURNS + 1}/compact`,
        turn: TURNS + 1,
        through: run.state.transcript.sealed[0],
        transcript: { count: 1 + 2 * TURNS, open: [], sealed: run.state.transcript.sealed },
      },
    ]);
    expect(run.state.transcript).toMatchObject({ open: [], count: 1 + 2 * TURNS });
    expect(run.state.run?.offer).toBeNull();
  });

  test('only above the mark, with a policy, with known tokens, and with enough to compact', () => {
    const at = { usage: { input_tokens: MARK - 1, output_tokens: 1 } };
    expect(kinds(worked(started(), TURNS, at))).toEqual(['llm.generate']);
    expect(kinds(worked(session().runRequested(), TURNS, large))).toEqual(['llm.generate']);
    expect(kinds(worked(started({ context: null }), TURNS, large))).toEqual(['llm.generate']);
    expect(kinds(worked(started(), TURNS, {}))).toEqual(['llm.generate']);
    expect(kinds(worked(started(), TURNS - 1, large))).toEqual(['llm.generate']);
  });

  test('in the next run when the last generate of the one before passed the mark; its input stays as it is', () => {
    const next = worked(started(), TURNS)
      .observed([], { content: say('done'), ...large })
      .runRequested({ context: { mark: MARK } }, { input: say('and now') });
    expect(kinds(next)).toEqual(['llm.compact']);
    expect(next.transcript()).toEqual(['user and now']);
  });

  test('once after a generate that failed because the conversation is too long, as a turn of its own', () => {
    const failed = worked(started(), 1).generateFailed('context_length', 'too long');
    expect(failed.effects()).toMatchObject([{ kind: 'llm.compact', effect_id: 'run-1/turn-3/compact' }]);
    const again = failed.compacted('so far');
    expect(again.effects()).toMatchObject([{ kind: 'llm.generate', turn: 3 }]);
    const ended = again.generateFailed('context_length', 'still too long');
    expect(ended.ending()).toMatchObject({ outcome: 'failed', code: 'context_length', message: 'still too long' });
  });

  test('never without a policy, without anything to compact, or without a turn that is left', () => {
    const ends = (of: Session) => of.generateFailed('context_length', 'too long').ending()?.message;
    expect(ends(worked(session().runRequested(), 1))).toBe('too long');
    expect(ends(started())).toBe('too long');
    expect(ends(worked(started({ turns_max: 2 }), 1))).toBe('too long');
  });

  test('not while the run is paused, but its answer is taken', () => {
    const paused = aboveMark().paused();
    expect(paused.effects()).toEqual([]);
    expect(kinds(paused.resumed())).toEqual(['llm.compact']);
    const answered = paused.compacted('so far');
    expect(answered.effects()).toEqual([]);
    expect(kinds(answered.resumed())).toEqual(['llm.generate']);
  });
});

describe('a compaction that was answered', () => {
  test('replaces the pages by the summary; what came after them stays', () => {
    const asked = aboveMark().steered('hurry');
    const through = asked.effectsOf('llm.compact')[0]?.through;
    const run = asked.compacted('so far', { usage: { input_tokens: 7, output_tokens: 2 } });
    expect(run.state.transcript).toMatchObject({
      count: 2 + 2 * TURNS,
      sealed: [],
      summary: { content: { text: 'so far' }, count: 1 + 2 * TURNS, through },
    });
    expect(run.transcript()).toEqual(['user hurry']);
    expect(run.state.run?.usage.input_tokens).toBe(TURNS - 1 + MARK + 7);
    expect(run.effects()).toMatchObject([{ kind: 'llm.generate', turn: TURNS + 1, transcript: run.state.transcript }]);
    expect(run.effectsOf('llm.generate')[0]?.tools.length).toBeGreaterThan(0);
  });

  test('is linked to the pages that are sealed later', () => {
    const first = aboveMark();
    const through = first.state.transcript.sealed[0];
    const stepped = lastSealed(worked(first.compacted('one'), TURNS - 1), [call('z', 'free')]);
    expect(stepped.page.prev).toBe(through);
    expect(stepped.session.compacted('two').state.transcript.summary?.count).toBe(1 + 4 * TURNS);
  });

  test('counts against the tokens of the run', () => {
    const run = aboveMark({ tokens_max: 200 }).compacted('so far', { usage: { input_tokens: 500, output_tokens: 0 } });
    expect(run.ending()).toMatchObject({ outcome: 'failed', code: 'tokens_exceeded' });
  });

  test('is not owed again in the same turn', () => {
    const run = aboveMark().compacted('so far');
    expect(run.refusal('ContextCompacted', compactedFields(run))).toMatchObject({ code: 'wrong_phase' });
    expect(run.refusal('CompactFailed', failedFields(run))).toMatchObject({ code: 'wrong_phase' });
  });
});

const compactedFields = (of: Session) => ({ ...of.turnFields(), through: ZERO_DIGEST, summary: say('x') });
const failedFields = (of: Session) => ({ ...of.turnFields(), code: 'no_answer', message: 'none' });

/** The session after a turn whose end seals a page, and that page. */
function lastSealed(of: Session, calls: Parameters<Session['observed']>[0]) {
  const ready = of.observed(calls, large).settled('z');
  const event = ready.next('ToolBatchSettled', ready.batchFields());
  const stepped = stepNew(ready.state, event);
  if (isLeft(stepped) || stepped.right.sealed === null) throw new Error('no page was sealed');
  return { session: ready.taking(event), page: JSON.parse(stepped.right.sealed.text) as TranscriptPage };
}

describe('a compaction that failed', () => {
  test('above the mark lets the generate go on', () => {
    const run = aboveMark().compactFailed();
    expect(run.effects()).toMatchObject([{ kind: 'llm.generate', turn: TURNS + 1 }]);
    expect(run.state.transcript.sealed).toHaveLength(1);
    expect(run.state.transcript).not.toHaveProperty('summary');
    expect(kinds(run.observed([call('z', 'free')], small).batchDone())).toEqual(['llm.generate']);
    expect(kinds(run.observed([call('z', 'free')], large).batchDone())).toEqual(['llm.compact']);
  });

  test('fails the run when the conversation is too long without it', () => {
    const run = worked(started(), 1).generateFailed('context_length', 'too long').compactFailed('no_answer');
    expect(run.ending()).toMatchObject({ outcome: 'failed', code: 'context_length' });
    expect(run.ending()?.message).toContain('no_answer');
  });

  test('is repeated as the retry policy of the run says, and no more', () => {
    const retry = { attempts_max: 2, base_ms: 10, cap_ms: 10 };
    const once = aboveMark({ retry }).compactFailed('busy', 'wait', { retryable: true });
    expect(once.effects()).toMatchObject([{ kind: 'wake' }]);
    expect(once.refusal('CompactFailed', failedFields(once))).toMatchObject({ code: 'wrong_phase' });
    const due = once.takes('TimeReached', { due_at_ms: once.state.run?.retry?.not_before_ms ?? 0 });
    expect(due.effects()).toMatchObject([{ effect_id: `run-1/turn-${TURNS + 1}/compact/retry-1` }]);
    const twice = due.compactFailed('busy', 'wait', { retryable: true });
    expect(twice.effects()).toMatchObject([{ effect_id: `run-1/turn-${TURNS + 1}` }]);
  });
});

describe('while a compaction is owed', () => {
  test('a summary of another page, run or turn is refused, and so is an answer of the model', () => {
    const run = aboveMark();
    const fields = { ...compactedFields(run), through: run.state.run?.compact?.through ?? ZERO_DIGEST };
    expect(run.refusal('ContextCompacted', compactedFields(run))).toMatchObject({ code: 'wrong_page' });
    expect(run.refusal('ContextCompacted', { ...fields, turn: 1 })).toMatchObject({ code: 'wrong_turn' });
    expect(run.refusal('ContextCompacted', { ...fields, run_id: 'run-9' })).toMatchObject({ code: 'wrong_run' });
    expect(run.refusal('ToolCallsObserved', { ...run.turnFields(), calls: [] })).toMatchObject({ code: 'wrong_phase' });
  });

  test('an interrupt or a cancellation ends the run, and a late summary is refused', () => {
    for (const ended of [aboveMark().interrupted(), aboveMark().cancelled()]) {
      expect(ended.effects()).toEqual([]);
      expect(ended.refusal('ContextCompacted', compactedFields(ended))).toMatchObject({ code: 'run_not_active' });
      expect(kinds(ended.runRequested({ context: { mark: MARK } }))).toEqual(['llm.compact']);
      expect(kinds(ended.runRequested())).toEqual(['llm.generate']);
    }
  });

  test('an interrupt with an input begins the next turn, which owes its own compaction', () => {
    const run = aboveMark();
    const next = run.takes('user.interrupt', { run_id: 'run-1', input: say('rather this') });
    expect(next.effects()).toMatchObject([{ kind: 'llm.compact', turn: TURNS + 2 }]);
    expect(next.compacted('so far').transcript()).toEqual(['user rather this']);
  });
});

/** All entries of a conversation, by folding the stream and reading the pages that it sealed. */
function conversationOf(of: Session): readonly TranscriptEntry[] {
  const entries: TranscriptEntry[] = [];
  let before = initialState(of.genesis, of.tool_package);
  for (const event of of.events) {
    const stepped = stepNew(before, event);
    if (isLeft(stepped)) throw new Error(`${event.kind} was refused`);
    if (stepped.right.sealed !== null) {
      const page = JSON.parse(stepped.right.sealed.text) as TranscriptPage;
      // A window never begins between a call and its result.
      expect(page.entries[0]?.role).not.toBe('tool');
      entries.push(...page.entries);
    }
    before = stepped.right.state;
  }
  return [...entries, ...before.transcript.open];
}

test('random histories: a summary stands for whole turns, pages and open entries follow it, and folding twice is the same', () => {
  let compactions = 0;
  fc.assert(
    fc.property(fc.nat(), (seed) => {
      const of = walk(seed, 80).session;
      const { transcript, run } = of.state;
      expect(textOf(fold(of, of.events))).toBe(textOf(of.state));
      expect(effects(of.state)).toEqual(effects(fold(of, of.events)));
      const all = conversationOf(of);
      expect(all).toHaveLength(transcript.count);
      expect(all.slice(all.length - transcript.open.length)).toEqual(transcript.open);
      const { summary } = transcript;
      compactions += of.events.filter(({ kind }) => kind === 'ContextCompacted').length;
      if (summary !== undefined) expect(all[summary.count]?.role).not.toBe('tool');
      if (transcript.open.length > 0) expect(transcript.open[0]?.role).not.toBe('tool');
      const owed = of.effectsOf('llm.compact');
      expect(owed.length === 1 && of.effectsOf('llm.generate').length === 1).toBe(false);
      if (owed[0] !== undefined) {
        expect(run?.phase).toBe('generating');
        expect(transcript.sealed).toContain(owed[0].through);
        expect(of.state.active_tool_batch).toBeNull();
      }
    }),
    { numRuns: roundsOf(30), seed: 7 },
  );
  expect(compactions).toBeGreaterThan(8);
});
