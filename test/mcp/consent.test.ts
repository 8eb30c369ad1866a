// Calls that a person must answer, as a host meets them: in the old protocol as an error that names the command, in the new one
// as `input_required`, and through the host's person only where the server was told that their answers count.
import { afterEach, describe, expect, test, vi } from 'vitest';
import { allowing, denying } from '../../src/core/answers.ts';
import { type RequiredAction, requiredActions } from '../../src/core/status.ts';
import { type ConnectOptions, type Hosted, newHosted } from '../support/mcp/hosted.ts';

let hosted: Hosted;
afterEach(() => hosted.close());

const RISKY = { name: 'risky', arguments: { path: 'x' } };
const FORMS = { elicitation: { form: {} } } as const;

const actions = (): readonly RequiredAction[] => requiredActions(hosted.host.state());
const first = (): RequiredAction => actions()[0] ?? expect.fail('no call waits for a person');

type Text = { readonly content: readonly { readonly text: string }[]; readonly isError?: boolean };

/** A client whose person answers each form with these, one after the other. */
async function answering(answers: readonly object[], options: ConnectOptions = {}) {
  const client = await hosted.connect({ modern: true, capabilities: FORMS, ...options });
  const asked: unknown[] = [];
  const left = [...answers];
  client.setRequestHandler('elicitation/create', (request) => {
    asked.push(request.params);
    return (left.shift() ?? { action: 'cancel' }) as never;
  });
  return { client, asked };
}

describe('in the old protocol, without the answers of the host', () => {
  test('the call is an error that names the command; the answer at refold runs it, once', async () => {
    hosted = await newHosted();
    const client = await hosted.connect({ capabilities: FORMS });
    const called = client.callTool(RISKY);
    await hosted.passes();
    const { isError, content } = (await called) as Text;
    expect(isError).toBe(true);
    expect(content[0]?.text).toMatch(
      new RegExp(`refold approve ${first().call_id} --session ${hosted.host.session}, or refold deny`),
    );
    expect(hosted.ran).toEqual([]);
    await hosted.host.submit(allowing(first(), 'me'));
    await vi.waitUntil(() => hosted.ran.length === 1);
    await vi.waitUntil(() => hosted.host.state().active_tool_batch === null);
    expect(hosted.ran).toEqual(['risky {"path":"x"}']);
  });

  test('a later call is busy, names the waiting one, and is made only when the host calls again', async () => {
    hosted = await newHosted();
    const client = await hosted.connect();
    const waits = client.callTool(RISKY);
    await hosted.passes();
    await waits;
    const { call_id } = first();
    const later = (await client.callTool({ name: 'look', arguments: { at: 'a' } })) as Text;
    expect(later.isError).toBe(true);
    expect(later.content[0]?.text).toMatch(new RegExp(`^error: busy: .*${call_id}.*refold approve`));
    await hosted.host.submit(denying(first(), 'me'));
    await vi.waitUntil(() => hosted.host.state().active_tool_batch === null);
    expect(await hosted.recorded('ToolCallsObserved')).toHaveLength(1);
    const again = client.callTool({ name: 'look', arguments: { at: 'a' } });
    await hosted.passes();
    expect((await again).isError).toBeUndefined();
  });

  test('calls that wait in the queue when a call begins to ask are busy, too', async () => {
    hosted = await newHosted();
    const client = await hosted.connect();
    const both = [client.callTool({ name: 'slow', arguments: {} }), client.callTool(RISKY)];
    await hosted.passes(2);
    // It asks while the other one still runs.
    expect(((await both[1]) as Text).content[0]?.text).toContain('refold approve');
    const queued = client.callTool({ name: 'look', arguments: { at: 'a' } });
    await vi.waitUntil(() => hosted.host.calls.open() === 2);
    hosted.release();
    expect((await both[0])?.isError).toBeUndefined();
    expect(((await queued) as Text).content[0]?.text).toMatch(/^error: busy/);
  });
});

describe('in the new protocol', () => {
  test('a host that shows no forms comes back with the state, and gets the result once a person has answered', async () => {
    hosted = await newHosted();
    const client = await hosted.connect({ modern: true });
    const called = client.callTool(RISKY);
    await hosted.passes();
    await vi.waitUntil(() => actions().length === 1);
    await hosted.host.submit(allowing(first(), 'me'));
    expect((await called) as Text).toMatchObject({ content: [{ text: 'ran risky' }] });
    expect(hosted.ran).toHaveLength(1);
  });

  test('without --host-answers the form only says how to answer, and what is filled in counts for nothing', async () => {
    hosted = await newHosted();
    const { client, asked } = await answering([{ action: 'accept', content: { decision: 'allow' } }]);
    const called = client.callTool(RISKY);
    await hosted.passes();
    await vi.waitUntil(() => asked.length === 1);
    expect(asked[0]).toMatchObject({ message: expect.stringContaining('refold approve') as string });
    expect(asked[0]).toMatchObject({ requestedSchema: { properties: {} } });
    await vi.waitUntil(() => hosted.clock.pending() === 1);
    expect(await hosted.recorded('user.tool_confirmation')).toEqual([]);
    expect(hosted.ran).toEqual([]);
    await hosted.host.submit(denying(first(), 'operator'));
    expect((await called).isError).toBe(true);
  });

  test.each([
    ['allow', { action: 'accept', content: { decision: 'allow' } }, 'allow', ['risky {"path":"x"}']],
    ['deny', { action: 'accept', content: { decision: 'deny' } }, 'deny', []],
    ['decline', { action: 'decline' }, 'deny', []],
  ] as const)('with --host-answers: %s', async (_name, answer, result, ran) => {
    hosted = await newHosted({ hostAnswers: true });
    const { client, asked } = await answering([answer]);
    const called = client.callTool(RISKY);
    await hosted.passes();
    const { isError } = await called;
    expect(isError === true).toBe(result === 'deny');
    const confirmed = await hosted.recorded('user.tool_confirmation');
    expect(confirmed).toMatchObject([{ result, by: 'mcp-host:test-host' }]);
    const digest = (confirmed[0] as { readonly arguments_digest?: string }).arguments_digest ?? 'none';
    expect(asked).toMatchObject([{ message: expect.stringContaining(digest) as string }]);
    expect(hosted.ran).toEqual(ran);
  });

  test('with --host-answers the old protocol asks, too', async () => {
    hosted = await newHosted({ hostAnswers: true });
    const { client } = await answering([{ action: 'accept', content: { decision: 'allow' } }], { modern: false });
    const called = client.callTool(RISKY);
    await hosted.passes();
    expect((await called) as Text).toMatchObject({ content: [{ text: 'ran risky' }] });
  });

  test.each([
    ['longer than its form shows', { path: 'x', rest: `${' '.repeat(2_500)}; rm -rf src` }],
    ['stored beside the log', { path: 'x', rest: 'y'.repeat(20_000) }],
    ['made longer by marks that a person does not see', { path: '\u202e'.repeat(300) }],
  ])('with --host-answers, arguments that are %s are allowed at refold alone', async (_name, args) => {
    hosted = await newHosted({ hostAnswers: true });
    const { client, asked } = await answering([{ action: 'accept', content: { decision: 'allow' } }]);
    const called = client.callTool({ name: 'risky', arguments: args });
    await hosted.passes();
    await vi.waitUntil(() => asked.length === 1);
    expect(asked[0]).toMatchObject({
      message: expect.stringContaining('refold approve') as string,
      requestedSchema: { properties: {} },
    });
    await vi.waitUntil(() => hosted.clock.pending() === 1);
    expect(await hosted.recorded('user.tool_confirmation')).toEqual([]);
    expect(hosted.ran).toEqual([]);
    await hosted.host.submit(denying(first(), 'operator'));
    expect((await called).isError).toBe(true);
  });

  test('with --host-answers, marks that a person does not see are shown', async () => {
    hosted = await newHosted({ hostAnswers: true });
    const { client, asked } = await answering([{ action: 'decline' }]);
    const called = client.callTool({ name: 'risky', arguments: { path: 'a\u202eb' } });
    await hosted.passes();
    await called;
    expect(asked).toMatchObject([{ message: expect.stringContaining('a<U+202E>b') as string }]);
  });

  test('a call for a person is filled in at the host, as its output schema says', async () => {
    hosted = await newHosted({ hostAnswers: true });
    const { client, asked } = await answering([{ action: 'accept', content: { name: 'Ada' } }]);
    const called = client.callTool({ name: 'ask_user', arguments: { message: 'Who are you?' } });
    await hosted.passes();
    expect(await called).toMatchObject({ structuredContent: { name: 'Ada' } });
    expect(asked[0]).toMatchObject({ message: 'Who are you?', requestedSchema: { required: ['name'] } });
  });
});

describe('what a host brings back', () => {
  const raw = async (params: object) => {
    const client = await hosted.connect({ modern: true, autoFulfil: false });
    return await client.callTool({ ...RISKY, ...params }, { allowInputRequired: true });
  };

  async function waiting(): Promise<string> {
    const asked = raw({});
    await hosted.passes();
    return asked.then((result) => (result as unknown as { requestState: string }).requestState);
  }

  test('a changed state is refused, and nothing is recorded', async () => {
    hosted = await newHosted({ hostAnswers: true });
    const state = await waiting();
    const inputResponses = { answer: { action: 'accept', content: { decision: 'allow' } } };
    const { version } = hosted.host.state();
    for (const requestState of [`${state}x`, state.slice(1), 'v1.e30.AAAA', '']) {
      await expect(raw({ requestState, inputResponses })).rejects.toThrow('Invalid or expired requestState');
    }
    expect(hosted.host.state().version).toBe(version);
    expect(hosted.ran).toEqual([]);
  });

  test('an answer to a call that was answered meanwhile changes nothing: the host gets its result', async () => {
    hosted = await newHosted({ hostAnswers: true });
    const requestState = await waiting();
    await hosted.host.submit(denying(first(), 'operator'));
    await vi.waitUntil(() => hosted.host.state().active_tool_batch === null);
    const inputResponses = { answer: { action: 'accept', content: { decision: 'allow' } } };
    expect((await raw({ requestState, inputResponses })).isError).toBe(true);
    expect(await hosted.recorded('user.tool_confirmation')).toHaveLength(1);
    expect(hosted.ran).toEqual([]);
  });

  test('a restarted server goes on with it', async () => {
    hosted = await newHosted();
    const requestState = await waiting();
    const before = hosted;
    hosted = await before.reopened();
    await hosted.host.submit(allowing(first(), 'operator'));
    expect((await raw({ requestState })) as unknown as Text).toMatchObject({ content: [{ text: 'ran risky' }] });
    expect(hosted.ran).toHaveLength(1);
  });

  test('a call that still waits after the hold is asked for again', async () => {
    hosted = await newHosted();
    const requestState = await waiting();
    const again = raw({ requestState });
    await vi.waitUntil(() => hosted.clock.pending() === 1);
    await hosted.clock.advance(60_000);
    expect(await again).toMatchObject({ resultType: 'input_required' });
  });
});
