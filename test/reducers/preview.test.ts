// What a call would do, as a fact: owed once while the call waits for a person, never in the way of an answer, and binding
// when the answer names it (docs/consent.md).
import { describe, expect, test } from 'vitest';
import { PREVIEW_FILES_MAX, PREVIEW_MS, PREVIEW_PATHS_CHARS_MAX } from '../../schemas/limits.ts';
import { owesBridge } from '../../src/core/owed/owing.ts';
import { ASKS_WRITE, SHOWS_FREE, SHOWS_WRITE, asking, calling, owed, policyOf, statuses } from '../support/consent.ts';
import { FREE, PERSON, READ, WRITE } from '../support/tools.ts';
import { PREVIEW, PREVIEW_DIGEST, type Session, ZERO_DIGEST, call } from '../support/session.ts';

const TOOLS = [SHOWS_WRITE, SHOWS_FREE, ASKS_WRITE, WRITE, READ, FREE, PERSON];
const write = (id: string, path = 'a') => call(id, 'shows_write', { path });
const run = (...calls: ReturnType<typeof call>[]): Session => calling(asking({}, {}, TOOLS), ...calls);
const asked = run(write('w'));
const NONE = { code: 'not_found', message: 'there is no such file' };

/** The session when the wait for previews is over. */
const lapsed = (of: Session): Session => of.takes('TimeReached', { due_at_ms: of.effectsOf('wake')[0]?.at_ms ?? 0 });

describe('a call that waits for a person', () => {
  test('owes its preview beside the question, with its arguments, until a time', () => {
    expect(owed(asked)).toEqual(['agent.tool_use w', 'call.preview w', 'wake']);
    const until = asked.state.updated_at_ms + PREVIEW_MS;
    expect(asked.effectsOf('call.preview')).toMatchObject([
      { effect_id: 'batch-1/w/1/preview', attempt: 1, arguments: { path: 'a' }, until_ms: until },
    ]);
    expect(asked.effectsOf('agent.tool_use')[0]).toMatchObject({ preview_until_ms: until });
    expect(owesBridge(asked.state)).toBe(true);
  });

  test('owes none when its tool makes none, when nobody is asked, or when a person fulfils it', () => {
    expect(owed(run(call('q', 'asks_write', { path: 'a' })))).toEqual(['agent.tool_use q']);
    expect(owed(run(call('f', 'shows_free', { path: 'a' })))).toEqual(['tool.call f']);
    const fulfils = { ...PERSON, preview: true, permission_policy: 'always_ask' } as const;
    expect(owed(calling(asking({}, {}, [fulfils]), call('p', 'person')))).toEqual(['agent.tool_use p']);
  });

  test('gets it once, and shows it with the question; then nothing but the answer is owed', () => {
    const shown = asked.previewed('w');
    expect(owed(shown)).toEqual(['agent.tool_use w']);
    expect(shown.effectsOf('agent.tool_use')[0]?.preview).toEqual({ ...PREVIEW, digest: PREVIEW_DIGEST });
    expect(owesBridge(shown.state)).toBe(false);
    expect(shown.refusal('CallPreviewed', { ...shown.previewFields('w'), preview: PREVIEW })).toMatchObject({
      code: 'preview_not_owed',
      message: 'the call has a preview already',
    });
  });

  test('a reason in its place counts as one', () => {
    const none = asked.previewed('w', NONE);
    expect(none.effectsOf('agent.tool_use')[0]?.preview).toEqual(NONE);
    expect(owed(none)).toEqual(['agent.tool_use w']);
    expect(none.refusal('CallPreviewed', { ...none.previewFields('w'), preview: PREVIEW }).message).toContain(
      'not_found',
    );
  });

  test('has none after its time, and the session then waits for the person alone', () => {
    const late = lapsed(asked);
    expect(owed(late)).toEqual(['agent.tool_use w']);
    expect(late.effectsOf('agent.tool_use')[0]?.preview).toMatchObject({ code: 'preview_lapsed' });
    expect(owesBridge(late.state)).toBe(false);
    expect(late.refusal('CallPreviewed', { ...late.previewFields('w'), preview: PREVIEW }).code).toBe(
      'preview_not_owed',
    );
    expect(late.allowed('w').callState('w')?.status).toBe('queued');
  });

  test('that waits for others first owes it when they have settled, and its time begins then', () => {
    const behind = run(call('first', 'write', { path: 'a' }), write('w'));
    expect(owed(behind)).toEqual(['tool.call first', 'agent.tool_use w']);
    const ready = behind.settled('first');
    expect(owed(ready)).toEqual(['agent.tool_use w', 'call.preview w', 'wake']);
    expect(ready.effectsOf('call.preview')[0]?.until_ms).toBe(ready.state.updated_at_ms + PREVIEW_MS);
    expect(behind.refusal('CallPreviewed', { ...behind.previewFields('w'), preview: PREVIEW }).code).toBe(
      'preview_not_owed',
    );
  });

  test('owes it in a pause too', () => {
    const paused = asked.paused();
    expect(owed(paused)).toContain('call.preview w');
    expect(owesBridge(paused.state)).toBe(true);
    expect(owesBridge(paused.previewed('w').state)).toBe(false);
  });

  test.each<[string, (of: Session) => Session]>([
    ['an interrupt', (of) => of.interrupted()],
    ['the end of the run', (of) => of.cancelled()],
    ['an answer', (of) => of.allowed('w')],
    ['a denial', (of) => of.denied('w')],
  ])('%s ends what is owed, and the state holds nothing of it', (_, end) => {
    const ended = end(asked);
    expect(owed(ended)).not.toContain('call.preview w');
    expect(ended.state.active_tool_batch?.previews).toBeUndefined();
    expect(ended.state.active_tool_batch?.timed).toBeUndefined();
    expect(JSON.stringify(ended.state.active_tool_batch?.pages ?? [])).not.toContain('preview');
  });

  test('whose question expires first is denied then; its preview is not owed any more', () => {
    const short = calling(asking({ approval_ttl_ms: 5 }, {}, TOOLS), write('w'));
    expect(short.effectsOf('wake')[0]?.at_ms).toBe(short.state.updated_at_ms + 5);
    expect(statuses(lapsed(short))).toEqual(['denied']);
    const long = calling(asking({ approval_ttl_ms: PREVIEW_MS + 5 }, {}, TOOLS), write('w'));
    const late = lapsed(long);
    expect(statuses(late)).toEqual(['waiting']);
    expect(statuses(lapsed(late))).toEqual(['denied']);
    const same = calling(asking({ approval_ttl_ms: PREVIEW_MS }, {}, TOOLS), write('w'));
    expect(statuses(lapsed(same))).toEqual(['denied']);
    expect(statuses(lapsed(long.previewed('w')))).toEqual(['denied']);
  });

  test('many of them lapse with one time', () => {
    const many = run(...Array.from({ length: 9 }, (_, at) => write(`w${at}`, `p${at}`)));
    expect(many.state.active_tool_batch?.previews).toBe(9);
    expect(many.previewed('w3').state.active_tool_batch?.previews).toBe(8);
    const late = lapsed(many.previewed('w3'));
    expect(late.state.active_tool_batch?.previews).toBeUndefined();
    expect(late.callState('w3')?.preview).toHaveProperty('digest');
    expect(late.callState('w4')?.preview).toHaveProperty('code', 'preview_lapsed');
  });
});

describe('a report is refused', () => {
  const refused = (of: Session, change: object = {}): string =>
    of.refusal('CallPreviewed', { ...of.previewFields('w'), preview: PREVIEW, ...change }).code;

  test.each([
    ['of another batch', { batch_id: 'batch-9' }, 'wrong_batch'],
    ['of a call that the batch does not have', { call_id: 'x' }, 'unknown_call'],
    ['of another attempt', { attempt: 2 }, 'stale_attempt'],
    ['of other arguments', { arguments_digest: ZERO_DIGEST }, 'arguments_mismatch'],
    [
      'that names a file twice',
      { preview: { ...PREVIEW, files: [...PREVIEW.files, ...PREVIEW.files] } },
      'invalid_shape',
    ],
    [
      'of too long paths',
      {
        preview: {
          ...PREVIEW,
          files: [0, 1, 2].map((at) => ({ path: `${at}${'p'.repeat(PREVIEW_PATHS_CHARS_MAX / 2 - 1)}`, before: null })),
        },
      },
      'too_large',
    ],
  ])('%s', (_, change, code) => {
    expect(refused(asked, change)).toBe(code);
  });

  test('when the call was answered, denied, or its batch is over', () => {
    expect(refused(asked.allowed('w'))).toBe('preview_not_owed');
    expect(refused(asked.denied('w'))).toBe('call_already_settled');
    expect(refused(asked.denied('w').batchSettled(), { batch_id: 'batch-1' })).toBe('batch_not_active');
    expect(refused(asked.interrupted(), { batch_id: 'batch-1' })).toBe('batch_not_active');
    const stopping = run(write('w'), call('once', 'write', { path: 'b' }))
      .started('once')
      .interrupted();
    expect(refused(stopping)).toBe('wrong_phase');
  });

  test("from another place than the session's", () => {
    const here = asked.host({ host_session_status: 'ready', workspace: '/here', workspace_name: 'here' });
    expect(refused(here, { place: { workspace: '/there', workspace_name: 'there' } })).toBe('other_place');
    expect(
      here
        .takes('CallPreviewed', { ...here.previewFields('w'), preview: PREVIEW, place: { workspace_name: 'here' } })
        .callState('w')?.preview,
    ).toHaveProperty('digest');
  });

  test('of more files than the limit', () => {
    const files = Array.from({ length: PREVIEW_FILES_MAX + 1 }, (_, at) => ({ path: `${at}`, before: null }));
    expect(asked.previewed('w', { ...PREVIEW, files: files.slice(1) }).callState('w')?.preview).toHaveProperty(
      'digest',
    );
    expect(() => asked.previewed('w', { ...PREVIEW, files })).toThrow('invalid_shape');
  });
});

describe('an answer that names the preview', () => {
  const shown = asked.previewed('w');

  test('has the call run only with these files as they were', () => {
    const allowed = shown.allowed('w', { preview: PREVIEW_DIGEST });
    expect(allowed.effectsOf('tool.call')[0]?.previewed).toEqual(PREVIEW.files);
    // Also while it runs, and after its bridge was lost.
    expect(allowed.started('w').effectsOf('tool.call')[0]?.previewed).toEqual(PREVIEW.files);
    expect(allowed.settled('w').callState('w')).not.toHaveProperty('previewed');
    const again = calling(asking({ tools: { shows_free: 'always_ask' } }, {}, TOOLS), call('f', 'shows_free'))
      .previewed('f')
      .allowed('f', { preview: PREVIEW_DIGEST })
      .started('f')
      .leaseExpired('f');
    expect(again.effectsOf('tool.call')[0]).toMatchObject({ attempt: 2, previewed: PREVIEW.files });
  });

  test('without its name nothing is compared', () => {
    expect(shown.allowed('w').effectsOf('tool.call')[0]).not.toHaveProperty('previewed');
  });

  test.each<[string, Session]>([
    ['another one', shown],
    ['one before there is one', asked],
    ['one where there is none', asked.previewed('w', NONE)],
  ])('must name no other: %s', (_, of) => {
    const answer = { ...of.answerFields('w'), result: 'allow', preview: ZERO_DIGEST } as const;
    expect(of.refusal('user.tool_confirmation', answer).code).toBe('preview_mismatch');
  });

  test('counts for its call alone: a grant that it gives compares nothing for the others', () => {
    const two = run(write('w'), write('v', 'b')).previewed('w').previewed('v');
    const granted = two.allowed('w', { preview: PREVIEW_DIGEST, grant: {} });
    expect(granted.effectsOf('tool.call').map(({ call_id, previewed }) => [call_id, previewed?.length])).toEqual([
      ['w', 1],
      ['v', undefined],
    ]);
  });
});

describe('a call that asks again', () => {
  test('in another place has another preview, and its answer counts no more', () => {
    const here = asked.host({ host_session_status: 'ready', workspace: '/here' }).previewed('w');
    const there = here.host({ workspace: '/there' });
    expect(owed(there)).toContain('call.preview w');
    expect(there.callState('w')).not.toHaveProperty('preview');
    const moved = here.allowed('w', { preview: PREVIEW_DIGEST }).host({ workspace: '/there' });
    expect(statuses(moved)).toEqual(['waiting']);
    expect(moved.callState('w')).not.toHaveProperty('previewed');
    expect(owed(moved)).toContain('call.preview w');
  });

  test('because the policy asks now, owes a preview then', () => {
    const free = run(call('f', 'shows_free'));
    const asks = free.takes('ConsentPolicySet', { policy: policyOf({ tools: { shows_free: 'always_ask' } }) });
    expect(owed(asks)).toEqual(['agent.tool_use f', 'call.preview f', 'wake']);
  });
});
