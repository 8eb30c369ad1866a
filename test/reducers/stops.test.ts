// Why the model stopped: what each reason does to the run, with calls and without, and what the conversation keeps.
import { describe, expect, test } from 'vitest';
import type { StopReason } from '../../schemas/model-turn.ts';
import { stateBytes } from '../../src/core/index.ts';
import { call, say, session } from '../support/session.ts';

const stopped = (reason: StopReason) => ({ stop: { reason } });
const layout = { api: 'anthropic.messages', model: 'claude', parts: say('[{"item":"{}"}]') } as const;
const BROKEN = [
  ['length', 'output_truncated'],
  ['filtered', 'content_filtered'],
  ['refusal', 'model_refused'],
] as const;

describe('an answer without calls', () => {
  test.each(BROKEN)('that stopped for %s fails the run with %s and keeps the output', (reason, code) => {
    const run = session()
      .runRequested()
      .steered('and this')
      .observed([], { content: say('half'), ...stopped(reason) });
    expect(run.ending()).toMatchObject({ outcome: 'failed', code, output: { text: 'half' } });
    expect(run.ending()?.message).not.toBe('');
    expect(run.transcript()).toEqual(['user go', 'assistant half']);
    expect(run.effects()).toEqual([]);
  });

  test.each(['end', 'calls', 'other'] as const)(
    'that stopped for %s ends the run as one without a reason',
    (reason) => {
      const asked = session().runRequested();
      const with_ = asked.observed([], { content: say('done'), ...stopped(reason) });
      expect(stateBytes(with_.state)).toEqual(stateBytes(asked.answered('done').state));
    },
  );

  test('that paused owes the next generate, with the paused message and the steers', () => {
    const run = session()
      .runRequested()
      .steered('also')
      .observed([], { content: say('so far'), layout, ...stopped('paused') });
    expect(run.effects()).toMatchObject([{ kind: 'llm.generate', turn: 2 }]);
    expect(run.transcript()).toEqual(['user go', 'assistant so far', 'user also']);
    expect(run.answered('all').ending()).toMatchObject({ outcome: 'completed', output: { text: 'all' } });
  });

  test('that pauses again and again ends with the turns of the run, or with its tokens', () => {
    const pause = stopped('paused');
    const turns = session().runRequested({ turns_max: 2 }).observed([], pause).observed([], pause);
    expect(turns.ending()).toMatchObject({ outcome: 'failed', code: 'turns_exceeded' });
    const usage = { input_tokens: 6, output_tokens: 0 };
    const tokens = session()
      .runRequested({ tokens_max: 5 })
      .observed([], { usage, ...pause });
    expect(tokens.ending()).toMatchObject({ outcome: 'failed', code: 'tokens_exceeded' });
  });

  test('that pauses while the run is paused owes its generate after the pause', () => {
    const run = session().runRequested().paused().observed([], stopped('paused'));
    expect(run.effects()).toEqual([]);
    expect(run.resumed().effects()).toMatchObject([{ kind: 'llm.generate', turn: 2 }]);
  });

  test('leaves no message when it is empty and says why it stopped, and one when it does not', () => {
    const asked = session().runRequested();
    expect(asked.observed([], stopped('end')).transcript()).toEqual(['user go']);
    expect(asked.observed([], stopped('end')).ending()).toMatchObject({ outcome: 'completed', output: null });
    expect(asked.observed([], { layout, ...stopped('end') }).transcript()).toHaveLength(2);
    expect(asked.observed([]).transcript()).toHaveLength(2);
  });
});

describe('an answer with calls', () => {
  test.each(BROKEN)('is judged as usual although it stopped for %s', (reason) => {
    const run = session()
      .runRequested()
      .observed([call('a', 'free')], stopped(reason));
    expect(run.phase()).toBe('executing');
    expect(run.batchDone().effects()).toMatchObject([{ kind: 'llm.generate', turn: 2 }]);
  });

  test('keeps its layout in the conversation, in canonical order', () => {
    const run = session()
      .runRequested()
      .observed([call('a', 'free')], { content: say('I look'), layout, ...stopped('calls') });
    const entry = run.state.transcript.open[1];
    expect(entry?.layout).toEqual(layout);
    expect(Object.keys(entry ?? {})).toEqual(['calls', 'content', 'layout', 'role']);
  });
});

describe('usage', () => {
  test('sums each count that is stated, and leaves the others out', () => {
    const run = session()
      .runRequested()
      .observed([call('a', 'free')], { usage: { input_tokens: 10, output_tokens: 3, cached_tokens: 4 } })
      .batchDone()
      .observed([], {
        usage: { input_tokens: 1, output_tokens: 1, cached_tokens: Number.MAX_SAFE_INTEGER, reasoning_tokens: 2 },
      });
    const usage = run.state.run_history[0]?.usage;
    expect(usage).toEqual({
      cached_tokens: Number.MAX_SAFE_INTEGER,
      input_tokens: 11,
      output_tokens: 4,
      reasoning_tokens: 2,
    });
    expect(Object.keys(usage ?? {})).toEqual(Object.keys(usage ?? {}).toSorted());
  });
});

describe('what the config says to the model', () => {
  test('reaches the generate when it is given, and is absent otherwise', () => {
    const settings = { tool_choice: { tool: 'free' }, parallel_calls: false, reasoning: { effort: 'low' } } as const;
    const run = session()
      .takes('SessionConfigured', { config: { temperature: 0.5 } })
      .runRequested({ ...settings, temperature: null, context: { mark: 5 } });
    expect(run.effects()[0]).toMatchObject(settings);
    expect(run.effects()[0]).not.toHaveProperty('temperature');
    expect(run.effects()[0]).not.toHaveProperty('context');
    expect(session().runRequested().effects()[0]).not.toHaveProperty('tool_choice');
    const { config } = run.state.run ?? {};
    expect(Object.keys(config ?? {})).toEqual(Object.keys(config ?? {}).toSorted());
  });
});
