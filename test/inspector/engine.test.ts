// The inspector over an engine, as two pages have it: what waits, answers and who was first, acts, and live news.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { digestText } from '../../schemas/canonical.ts';
import { type Digest, brand } from '../../schemas/ids.ts';
import type { ElicitationAnswer } from '../../schemas/elicitation.ts';
import type { JsonObject } from '../../schemas/json.ts';
import type { Question, QuestionAboutCall, QuestionOfCall } from '../../inspector/protocol.ts';
import { previewDigest } from '../../schemas/consent.ts';
import { type RequiredAction, requiredActions, stateDigest } from '../../src/core/index.ts';
import { must } from '../../src/client/must.ts';
import { ASKS_WRITE, SHOWS_WRITE, TIMED_PERSON, policyOf } from '../support/consent.ts';
import { type Served, TOKEN, serveClient } from '../support/engine/serving.ts';
import { SESSION, Talk, type World, newWorld, packageOf } from '../support/engine/world.ts';
import { callThatAsks, openQuestionOf } from '../support/engine/asking-call.ts';
import { eventsOf } from '../support/records.ts';
import { type Asking, newAsking } from '../support/inspector.ts';
import { FREE } from '../support/tools.ts';

let world: World;
let served: Served;
let talk: Talk;
let pages: Asking[] = [];

beforeEach(async () => {
  world = await newWorld();
  served = await serveClient(world.engine.client);
  talk = await new Talk(served.client).create(packageOf([ASKS_WRITE, TIMED_PERSON, FREE]), policyOf({}));
  await talk.run();
  const calls = [
    { call_id: 'w', tool_name: 'asks_write', arguments: { path: 'a.txt', text: 'new' } },
    { call_id: 'p', tool_name: 'timed_person', arguments: { path: 'b.txt' } },
  ];
  await talk.submit([{ kind: 'ToolCallsObserved', run_id: 'run-1', turn: 1, calls }]);
});

afterEach(async () => {
  for (const page of pages.splice(0)) await page.close();
  await served.close();
  await world.engine.close();
});

async function pageOf(by: string, scope: 'operator' | 'viewer' = 'operator'): Promise<Asking> {
  const page = newAsking();
  pages = [...pages, page];
  await page.ask('connect', { url: served.url, token: TOKEN, scope, by });
  return page;
}

const isAbout =
  (call_id: string) =>
  (question: Question): question is QuestionAboutCall =>
    question.kind === 'about_call' && question.action.call_id === call_id;

async function questionOf(page: Asking, call_id: string): Promise<QuestionAboutCall> {
  const { questions } = await page.ask('waiting', {});
  const found = questions.find(isAbout(call_id));
  if (found === undefined) throw new Error(`${call_id} does not wait`);
  return found;
}

const shownOf = ({ arguments: args }: QuestionAboutCall): JsonObject => args ?? {};

/** Resolves when a page was told something. */
async function told(page: Asking, kind: string): Promise<void> {
  while (!page.news.some((news) => news.kind === kind)) await new Promise((resolve) => void setImmediate(resolve));
}

describe('sessions', () => {
  test('are listed with what waits', async () => {
    const page = await pageOf('ann');
    const { sessions } = await page.ask('sessions', { limit: 50 });
    expect(sessions.map(({ session_id, waits }) => [session_id, waits?.map(({ call_id }) => call_id)])).toEqual([
      [SESSION, ['w', 'p']],
    ]);
    expect((await page.ask('sessions', { limit: 50, text: 'nothing like it' })).sessions).toEqual([]);
  });

  test('are followed: a page is told of new events, and folds them', async () => {
    const page = await pageOf('ann');
    const { source } = await page.ask('open', { kind: 'engine', session_id: SESSION });
    await page.ask('alternatives', { source });
    await talk.submit([{ kind: 'RunPaused', run_id: 'run-1' }]);
    await told(page, 'grown');
    const { state } = await must(served.client.session(SESSION));
    const { now, verdicts } = await page.ask('session', { source });
    expect(now).toMatchObject({ at: state.version, state_digest: stateDigest(state), status: 'requires_action' });
    expect(verdicts.fold).toMatchObject({ state: 'good', checked: state.version });
    expect(page.news.filter(({ kind }) => kind === 'grown')).toMatchObject([{ from: state.version - 1, waits: 2 }]);
  });

  test('that are not there are not opened', async () => {
    const page = await pageOf('ann');
    const given = { kind: 'engine', session_id: brand<'SessionId'>('nowhere') } as const;
    expect(await page.refusal('open', given)).toMatchObject({ code: 'unreadable' });
    expect(await page.ask('opened', {})).toEqual([]);
  });

  test('have their blobs checked', async () => {
    const page = await pageOf('ann');
    const { source } = await page.ask('open', { kind: 'engine', session_id: SESSION });
    expect((await page.ask('checkBlobs', { source })).blobs).toMatchObject({ state: 'good', fault: null });
  });
});

describe('a preview', () => {
  const SHOWN = 'shown';

  /** A session of its own with a call that waits; its bridge says what it would do. */
  async function shown(diff: string): Promise<Digest> {
    const other = await new Talk(served.client, brand<'SessionId'>(SHOWN)).create(
      packageOf([SHOWS_WRITE]),
      policyOf({}),
    );
    await other.run();
    const calls = [{ call_id: 's', tool_name: 'shows_write', arguments: { path: 'a.txt' } }];
    await other.submit([{ kind: 'ToolCallsObserved', run_id: 'run-1', turn: 1, calls }]);
    const { questions } = await (await pageOf('ann')).ask('waiting', {});
    expect(questions.find(isAbout('s'))?.preview).toEqual({ state: 'awaited' });
    const text = new TextEncoder().encode(diff);
    const ref = await must(served.client.putBlob(text));
    const content = { ref, bytes: text.length, head: diff.slice(0, 512), tail: diff.slice(-512) };
    const preview = { diff: diff.length > 4_096 ? content : { text: diff }, files: [{ path: 'a.txt', before: null }] };
    const { batch_id, call_id, arguments_digest } = requiredActions(await other.state())[0] as RequiredAction;
    await other.submit([{ kind: 'CallPreviewed', batch_id, call_id, attempt: 1, arguments_digest, preview }]);
    return previewDigest(preview);
  }

  const DIFF = '» a.txt (+1 -1)\n@@ -1,1 +1,1 @@\n-old\u202e\n+new';

  test('is shown with the question, also from a blob, and named by the answer', async () => {
    const digest = await shown(`${DIFF}\n${'+x\n'.repeat(2_000)}`);
    const page = await pageOf('ann');
    const question = await questionOf(page, 's');
    expect(question.preview).toMatchObject({ state: 'shown', digest });
    expect(question.preview?.state === 'shown' ? question.preview.lines.slice(0, 4) : []).toEqual([
      { sign: '»', text: 'a.txt (+1 -1)' },
      { sign: '@', text: '-1,1 +1,1' },
      { sign: '-', text: 'old\u202e' },
      { sign: '+', text: 'new' },
    ]);
    const answer = { session_id: brand<'SessionId'>(SHOWN), digest: question.digest, shown: shownOf(question) };
    const allow = { kind: 'allow' } as const;
    const other = digestText('another preview');
    expect(await page.ask('answer', { ...answer, preview: other, answer: allow })).toMatchObject({
      taken: false,
      refused: { code: 'preview_mismatch' },
      first: null,
    });
    expect(await page.ask('answer', { ...answer, preview: digest, answer: allow })).toMatchObject({ taken: true });
    const { state } = await must(served.client.session(brand<'SessionId'>(SHOWN)));
    expect(state.active_tool_batch?.pages.flat()[0]?.previewed).toEqual([{ path: 'a.txt', before: null }]);
  });

  test('that a tool does not make is not spoken of', async () => {
    expect((await questionOf(await pageOf('ann'), 'w')).preview).toBeNull();
  });
});

describe('an answer', () => {
  test('counts once: the later one is told who was first', async () => {
    const [ann, bob] = [await pageOf('ann'), await pageOf('bob')];
    const [first, second] = [await questionOf(ann, 'w'), await questionOf(bob, 'w')];
    expect(second.digest).toBe(first.digest);
    const answer = { session_id: SESSION, digest: first.digest, shown: shownOf(first) };
    const [one, other] = [
      await ann.ask('answer', { ...answer, answer: { kind: 'allow' } }),
      await bob.ask('answer', { ...answer, answer: { kind: 'deny', message: 'no' } }),
    ];
    expect(one).toMatchObject({ taken: true });
    expect(other).toMatchObject({ taken: false, first: { by: 'ann', what: 'allowed' } });
    expect((await talk.state()).active_tool_batch?.pages.flat()[0]).toMatchObject({ status: 'queued' });
  });

  test('is for the arguments that were shown, and for no others', async () => {
    const page = await pageOf('ann');
    const question = await questionOf(page, 'w');
    const shown = { ...shownOf(question), path: 'other.txt' };
    const answer = { session_id: SESSION, digest: question.digest, shown, answer: { kind: 'allow' } as const };
    expect(await page.ask('answer', answer)).toMatchObject({ taken: false, refused: { code: 'arguments_mismatch' } });
    expect((await talk.state()).active_tool_batch?.pages.flat()[0]).toMatchObject({ status: 'waiting' });
  });

  test('is given again until the engine that was away has it, and counts once', async () => {
    const page = await pageOf('ann');
    const question = await questionOf(page, 'w');
    const { port } = served;
    await served.close();
    const given = page.ask('answer', {
      session_id: SESSION,
      digest: question.digest,
      shown: shownOf(question),
      answer: { kind: 'allow' },
    });
    served = await serveClient(world.engine.client, port);
    talk = new Talk(served.client);
    expect(await given).toMatchObject({ taken: true });
    expect(page.news.flatMap((news) => (news.kind === 'engine' ? [news.link] : []))).toEqual(['lost', 'up']);
    const allowed = (await must(served.client.records(SESSION, 0))).flatMap((record) =>
      record.kind === 'commit' ? record.events.filter(({ kind }) => kind === 'user.tool_confirmation') : [],
    );
    expect(allowed).toHaveLength(1);
  });

  test.each([
    ['for the session', { kind: 'allow_for_session' }, { result: 'allow', grant: {} }],
    [
      'by a pattern',
      { kind: 'allow_by_pattern', argument: 'path', pattern: '*.txt' },
      { result: 'allow', grant: { argument: 'path', pattern: '*.txt' } },
    ],
    ['with words', { kind: 'deny', message: 'not there' }, { result: 'deny', message: 'not there' }],
    [
      'with other arguments',
      { kind: 'run_instead', arguments: { path: 'c.txt' }, message: '' },
      { result: 'deny', instead: { arguments: { path: 'c.txt' } } },
    ],
  ] as const)('%s is recorded as the commands record it', async (_, answer, recorded) => {
    const page = await pageOf('ann');
    const question = await questionOf(page, 'w');
    const given = { session_id: SESSION, digest: question.digest, shown: shownOf(question), answer };
    const outcome = await page.ask('answer', given);
    expect(outcome).toMatchObject({ taken: true });
    const { source } = await page.ask('open', { kind: 'engine', session_id: SESSION });
    const position = outcome.taken ? (outcome.position ?? -1) : -1;
    const { event } = await page.ask('event', { source, position });
    expect(JSON.parse(event.text)).toMatchObject({ kind: 'user.tool_confirmation', by: 'ann', ...recorded });
  });

  test('of a custom call carries its result', async () => {
    const page = await pageOf('ann');
    const question = await questionOf(page, 'p');
    const answer = { kind: 'fulfil', success: true, text: 'done by hand', data: { ok: true } } as const;
    const given = { session_id: SESSION, digest: question.digest, shown: shownOf(question), answer };
    expect(await page.ask('answer', given)).toMatchObject({ taken: true });
    expect((await talk.state()).active_tool_batch?.pages.flat()[1]).toMatchObject({
      status: 'succeeded',
      output: { text: 'done by hand' },
    });
  });
});

describe('what a call asks', () => {
  const ASKED = 'asked';
  const SCHEMA = { type: 'object', properties: { size: { type: 'string', enum: ['S', 'XL'] } }, required: ['size'] };

  /** A session of its own whose running call asks, and its question as a page has it. */
  async function asked(page: Asking): Promise<{ readonly asking: Talk; readonly question: QuestionOfCall }> {
    const asking = await callThatAsks(world.engine.client, ASKED, {
      message: 'Which size?',
      from: 'shop',
      schema: SCHEMA,
    });
    const { questions } = await page.ask('waiting', {});
    const question = questions.find((one): one is QuestionOfCall => one.kind === 'of_call');
    return { asking, question: question ?? expect.fail('the question does not wait') };
  }

  const given = ({ digest, action }: QuestionOfCall, result: ElicitationAnswer) => ({
    session_id: action.session_id,
    digest,
    shown: action.asked,
    answer: { kind: 'elicitation', result } as const,
  });

  test('waits among all questions, with the fields of its answer, and is named with its session', async () => {
    const page = await pageOf('ann');
    const { asking, question } = await asked(page);
    expect(question).toMatchObject({
      action: { asked: { message: 'Which size?', from: 'shop' } },
      fields: [{ name: 'size', kind: 'choice', required: true }],
    });
    const { sessions } = await page.ask('sessions', { limit: 50 });
    expect(sessions.find(({ session_id }) => session_id === asking.id)?.waits).toMatchObject([
      { kind: 'agent.elicitation', call_id: 'a', tool_name: 'once' },
    ]);
    const { source } = await page.ask('open', { kind: 'engine', session_id: asking.id });
    await page.ask('alternatives', { source });
    expect((await page.ask('session', { source })).now?.waits).toHaveLength(1);
  });

  test.each([{ action: 'accept', content: { size: 'XL' } }, { action: 'decline' }, { action: 'cancel' }] as const)(
    'is answered with %j, once',
    async (result) => {
      const [ann, bob] = [await pageOf('ann'), await pageOf('bob')];
      const { asking, question } = await asked(ann);
      await bob.ask('waiting', {});
      expect(await ann.ask('answer', given(question, result))).toMatchObject({ taken: true });
      const { batch_id, call_id, attempt } = question.action;
      expect(eventsOf(await must(asking.client.records(asking.id, 0))).at(-1)).toMatchObject({
        kind: 'user.elicitation_result',
        batch_id,
        call_id,
        attempt,
        question: question.action.question,
        by: 'ann',
        ...result,
      });
      const what = { accept: 'answered', decline: 'declined', cancel: 'dismissed' }[result.action];
      expect(await bob.ask('answer', given(question, { action: 'cancel' }))).toMatchObject({
        taken: false,
        first: { by: 'ann', what },
      });
    },
  );

  test('takes no answer that does not fit, and none to something else than was shown', async () => {
    const page = await pageOf('ann');
    const { asking, question } = await asked(page);
    const accept = (size: string) => given(question, { action: 'accept', content: { size } });
    expect(await page.ask('answer', accept('M'))).toMatchObject({
      taken: false,
      refused: { code: 'answer_invalid' },
      first: null,
    });
    const other = { ...accept('S'), shown: { ...question.action.asked, message: 'Go on?' } };
    expect(await page.refusal('answer', other)).toMatchObject({ code: 'question_mismatch' });
    const allow = { ...accept('S'), answer: { kind: 'allow' } as const };
    expect(await page.refusal('answer', allow)).toMatchObject({ code: 'question_mismatch' });
    const about = await questionOf(page, 'w');
    const elicit = { session_id: SESSION, digest: about.digest, shown: shownOf(about), answer: accept('S').answer };
    expect(await page.refusal('answer', elicit)).toMatchObject({ code: 'question_mismatch' });
    expect(await openQuestionOf(asking)).toMatchObject({ call_id: 'a' });
  });
});

describe('an act', () => {
  test('pauses, resumes, sets the policy, interrupts and forks', async () => {
    const page = await pageOf('ann');
    const phaseOf = async (): Promise<string | undefined> => (await talk.state()).run?.phase;
    expect(await page.ask('act', { session_id: SESSION, kind: 'pause' })).toMatchObject({ taken: true });
    expect(await phaseOf()).toBe('paused_executing');
    expect(await page.ask('act', { session_id: SESSION, kind: 'resume' })).toMatchObject({ taken: true });
    expect(await phaseOf()).toBe('executing');
    const policy = { session_id: SESSION, kind: 'policy', policy: 'careful' } as const;
    expect(await page.ask('act', policy)).toMatchObject({ taken: true });
    const fork = { session_id: SESSION, kind: 'fork', at: 2, run: 'pause', to: null } as const;
    const forked = await page.ask('act', fork);
    expect(forked.taken && forked.session_id).not.toBe(SESSION);
    const interrupt = { session_id: SESSION, kind: 'interrupt', input: null, reason: 'enough' } as const;
    expect(await page.ask('act', interrupt)).toMatchObject({ taken: true });
    expect(await phaseOf()).toBeUndefined();
    expect(await page.refusal('act', { session_id: SESSION, kind: 'pause' })).toMatchObject({ code: 'run_not_active' });
  });
});

test('without an engine, what needs one is refused', async () => {
  const page = newAsking();
  expect(await page.refusal('waiting', {})).toMatchObject({ code: 'no_engine' });
  expect(await page.refusal('open', { kind: 'engine', session_id: SESSION })).toMatchObject({ code: 'no_engine' });
  expect(await page.refusal('session', { source: 7 })).toMatchObject({ code: 'no_source' });
});
