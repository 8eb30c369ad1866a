// Attachments in the fold: with which message or result each one goes to the model.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalText, digestJson, inCanonicalOrder } from '../../schemas/canonical.ts';
import type { Attachments } from '../../schemas/content.ts';
import type { TranscriptEntry } from '../../schemas/state.ts';
import { resultsDigest } from '../../src/core/index.ts';
import { PDF, PNG, attachmentOf } from '../support/attachments.ts';
import { calling } from '../support/consent.ts';
import { type Session, call, fold, session, textOf } from '../support/session.ts';

const FILES: Attachments = [attachmentOf(PNG, 'image/png', 'a.png'), attachmentOf(PDF, 'application/pdf')];
const IMAGE: Attachments = FILES.slice(0, 1);

const entries = (of: Session): readonly TranscriptEntry[] => of.state.transcript.open;
/** The texts of the conversation, each with the number of its attachments. */
const attached = (of: Session): readonly string[] =>
  entries(of).map(({ content, attachments }) => {
    const text = content !== undefined && 'text' in content ? content.text : '';
    return `${text} ${attachments?.length ?? 0}`;
  });

const running = (): Session => session().takes('RunRequested', { input: { text: 'go' }, attachments: FILES });

describe('attachments of people', () => {
  test('go with the input of a run', () => {
    expect(entries(running())).toEqual([{ role: 'user', content: { text: 'go' }, attachments: FILES }]);
  });

  test('go with their own steer when the next turn takes it', () => {
    const steered = calling(session(), call('a', 'free'))
      .steered('none')
      .takes('RunSteered', { run_id: 'run-1', input: { text: 'one' }, attachments: IMAGE })
      .steered('none again')
      .takes('RunSteered', { run_id: 'run-1', input: { text: 'two' }, attachments: FILES })
      .steered('last');
    expect(steered.state.run?.steer_attachments).toEqual([[], IMAGE, [], FILES]);
    const taken = steered.settled('a').batchDone();
    expect(attached(taken).slice(-5)).toEqual(['none 0', 'one 1', 'none again 0', 'two 2', 'last 0']);
    expect(taken.state.run).not.toHaveProperty('steer_attachments');
    expect(taken.state.run?.steers).toEqual([]);
  });

  test('go with a follow-up when its run starts', () => {
    const follow_up = { input: { text: 'next' }, attachments: IMAGE };
    const waits = session().runRequested().takes('FollowUpQueued', { follow_up });
    expect(attached(waits.answered('done')).at(-1)).toBe('next 1');
    expect(attached(session().takes('FollowUpQueued', { follow_up }))).toEqual(['next 1']);
  });

  test('go with the input of an interrupt, when the running calls have settled', () => {
    const busy = calling(session(), call('a', 'once')).started('a');
    const ending = busy.takes('user.interrupt', { run_id: 'run-1', input: { text: 'rather' }, attachments: FILES });
    expect(ending.state.run?.redirect_attachments).toEqual(FILES);
    const on = ending.settled('a');
    expect(attached(on).at(-1)).toBe('rather 2');
    expect(on.state.run).not.toHaveProperty('redirect_attachments');
    const over = ending.takes('RunCancelled', { run_id: 'run-1' });
    expect(over.state.run).not.toHaveProperty('redirect_attachments');
  });

  test('need an input in an interrupt', () => {
    const refused = session().runRequested().refusal('user.interrupt', { run_id: 'run-1', attachments: FILES });
    expect(refused).toMatchObject({ code: 'invalid_shape', path: '/attachments' });
  });
});

describe('attachments of results', () => {
  const settle = (of: Session, fields: object): Session =>
    of.takes('ToolCallSettled', {
      ...of.callFields('a'),
      result: { success: true },
      output: { text: 'seen' },
      attachments: FILES,
      ...fields,
    });
  const open = (): Session => calling(session(), call('a', 'once')).started('a');

  test('go with the output', () => {
    const settled = settle(open(), {});
    const results = [{ attachments: FILES, call_id: 'a', code: null, output: { text: 'seen' }, status: 'succeeded' }];
    expect(resultsDigest(settled.state.active_tool_batch as never)).toBe(digestJson(results));
    const done = settled.batchDone();
    expect(entries(done).at(-1)).toEqual({
      role: 'tool',
      call_id: 'a',
      tool_name: 'once',
      is_error: false,
      content: { text: 'seen' },
      attachments: FILES,
    });
  });

  test('go with a failure too', () => {
    const done = settle(open(), { result: { success: false } }).batchDone();
    expect(entries(done).at(-1)).toMatchObject({ is_error: true, attachments: FILES });
  });

  test('are left out with a result that does not fit its schema', () => {
    const done = settle(open(), { output_verdict: { valid: false, message: 'no' } }).batchDone();
    expect(entries(done).at(-1)).not.toHaveProperty('attachments');
  });

  test('go with the answer of a person', () => {
    const asked = calling(session(), call('a', 'person'));
    const arguments_digest = asked.state.active_tool_batch?.plan.planned_calls[0]?.arguments_digest;
    const answer = { batch_id: 'batch-1', call_id: 'a', arguments_digest, result: { success: true } };
    const done = asked
      .takes('user.custom_tool_result', { ...answer, output: { text: 'here' }, attachments: IMAGE } as never)
      .batchDone();
    expect(entries(done).at(-1)).toMatchObject({ content: { text: 'here' }, attachments: IMAGE });
  });
});

describe('laws', () => {
  const files = fc.option(fc.subarray([...FILES], { minLength: 1 }), { nil: undefined });
  const said = fc.record({ text: fc.string({ unit: 'grapheme-ascii', maxLength: 4 }), files });

  const field = (attachments: Attachments | undefined) => (attachments === undefined ? {} : { attachments });

  test('each message keeps its attachments, in any order of steers; the fold is the same twice, its fields in order', () => {
    const turns = fc.array(fc.array(said, { maxLength: 5 }), { maxLength: 4 });
    fc.assert(
      fc.property(said, turns, (first, steered) => {
        let of = session().takes('RunRequested', { input: { text: first.text }, ...field(first.files) });
        const expected = [first];
        for (const [index, steers] of steered.entries()) {
          of = of.observed([inCanonicalOrder(call(`c${index}`, 'read', { path: `x${index}` }))]);
          for (const { text, files: some } of steers) {
            of = of.takes('RunSteered', { run_id: 'run-1', input: { text }, ...field(some) });
          }
          // A state is written without sorting, so its fields must be in canonical order.
          expect(JSON.stringify(of.state)).toBe(canonicalText(of.state));
          of = of.settled(`c${index}`).batchDone();
          expected.push(...steers);
        }
        const users = entries(of).filter(({ role }) => role === 'user');
        expect(users).toEqual(
          expected.map(({ text, files: some }) => ({ role: 'user', content: { text }, ...field(some) })),
        );
        expect(textOf(fold(of, of.events))).toBe(textOf(of.state));
        expect(JSON.stringify(of.state)).toBe(canonicalText(of.state));
      }),
    );
  });
});
