// Calls of MCP tools that ask a person, and that become tasks of the server: in the protocol of 2026-07-28, and in the older one.
import { describe, expect, test } from 'vitest';
import { StopSwitch } from '../../../bridge/executors/stop-switch.ts';
import type { CallQuestion } from '../../../schemas/elicitation.ts';
import { open, raw } from '../../support/mcp/opened.ts';

const CITY = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

test('a server of 2026-07-28 is spoken to in its protocol', async () => {
  await using opened = await open({ s: raw('modern') });
  expect(await opened.logged('mcp_server_ready')).toMatchObject({ protocol: '2026-07-28' });
  expect(await opened.call('mcp.s.echo')).toEqual({ success: true, text: 'modern 2026-07-28' });
});

describe('a call that needs input', () => {
  test('ends with the question, and the next attempt brings the answer and the state of the server', async () => {
    await using opened = await open({ s: raw('asks_one') });
    await opened.logged('mcp_server_ready');
    const { ask, state = '' } = await opened.call('mcp.s.echo');
    expect(ask).toEqual({ message: 'Which city?', schema: CITY, from: 's' });
    const answer = { action: 'accept', content: { city: 'Rome' } } as const;
    expect(await opened.call('mcp.s.echo', {}, { resume: { state, answer } })).toEqual({
      success: true,
      text: 'opaque state: {"c":{"action":"accept","content":{"city":"Rome"}}}',
    });
  });

  test('several questions are one form, whose answer is split', async () => {
    await using opened = await open({ s: raw('asks_two') });
    await opened.logged('mcp_server_ready');
    const { ask, state = '' } = await opened.call('mcp.s.echo');
    expect(ask).toMatchObject({
      message: 'Which city?\nWhich day?',
      schema: { required: ['c', 'd'], properties: { c: CITY } },
    });
    const answer = { action: 'accept', content: { c: { city: 'Rome' }, d: { day: 'Monday' } } } as const;
    const report = await opened.call('mcp.s.echo', {}, { resume: { state, answer } });
    expect(JSON.parse(report.text)).toEqual({
      c: { action: 'accept', content: { city: 'Rome' } },
      d: { action: 'accept', content: { day: 'Monday' } },
    });
  });

  test('a declined question is answered without content; an address is shown', async () => {
    await using opened = await open({ s: raw('asks_url') });
    await opened.logged('mcp_server_ready');
    const { ask, state = '' } = await opened.call('mcp.s.echo');
    expect(ask).toEqual({ message: 'Sign in', url: 'https://example.com/in', from: 's' });
    const report = await opened.call('mcp.s.echo', {}, { resume: { state, answer: { action: 'decline' } } });
    expect(JSON.parse(report.text)).toEqual({ u: { action: 'decline' } });
  });

  test('a server that only wants to be called again is', async () => {
    await using opened = await open({ s: raw('asks_again', '3') });
    await opened.logged('mcp_server_ready');
    expect(await opened.call('mcp.s.echo')).toEqual({ success: true, text: 'round 3' });
  });

  test('an older server asks during the call, which goes on with the answer', async () => {
    await using opened = await open({ s: raw('elicits') });
    await opened.logged('mcp_server_ready');
    const asked: CallQuestion[] = [];
    const report = await opened.call(
      'mcp.s.echo',
      {},
      {
        ask(question) {
          asked.push(question);
          return Promise.resolve({ action: 'accept', content: { city: 'Oslo' } });
        },
      },
    );
    expect(asked).toEqual([{ message: 'Which city?', schema: CITY, from: 's' }]);
    expect(JSON.parse(report.text)).toEqual({ action: 'accept', content: { city: 'Oslo' } });
  });

  test('where nobody can be asked, the older server gets cancel', async () => {
    await using opened = await open({ s: raw('elicits') });
    await opened.logged('mcp_server_ready');
    expect((await opened.call('mcp.s.echo')).text).toBe('{"action":"cancel"}');
  });
});

describe('a task', () => {
  const noting = (notes: string[]) => ({
    note(handle: string) {
      notes.push(handle);
      return Promise.resolve(true);
    },
  });

  test.each(['task', 'old_task'])(
    'of %s is noted before it is waited for, and waited for until its end',
    async (trick) => {
      await using opened = await open({ s: raw(trick) });
      await opened.logged('mcp_server_ready');
      const notes: string[] = [];
      const report = await opened.call('mcp.s.echo', {}, noting(notes));
      expect(notes).toHaveLength(1);
      expect(report).toMatchObject({ success: true, text: expect.stringMatching(/-1 is done$/) as string });
    },
  );

  test('is waited for by the next bridge, which has only the note', async () => {
    await using opened = await open({ s: raw('task') });
    await opened.logged('mcp_server_ready');
    const report = await opened.call('mcp.s.echo', {}, { resume: { handle: 'extension task-77' } });
    expect(report).toEqual({ success: true, text: 'task-77 is done' });
  });

  test('that fails is a failure with what the server says', async () => {
    await using opened = await open({ s: raw('task', 'failed') });
    await opened.logged('mcp_server_ready');
    expect(await opened.call('mcp.s.echo')).toMatchObject({
      success: false,
      code: 'task_failed',
      text: expect.stringContaining('out of paper') as string,
    });
  });

  test('that asks ends the attempt; the next one, of any bridge, brings the answer once', async () => {
    await using opened = await open({ s: raw('task_asks') });
    await opened.logged('mcp_server_ready');
    const { ask, state = '' } = await opened.call('mcp.s.echo');
    expect(ask).toEqual({ message: 'Which city?', schema: CITY, from: 's' });
    const answer = { action: 'accept', content: { city: 'Bonn' } } as const;
    const resume = { handle: 'extension task-2', state, answer };
    expect(JSON.parse((await opened.call('mcp.s.echo', {}, { resume })).text)).toEqual([{ c: answer }]);
    // A bridge that was lost after it had told the task brings the answer again, and the task is not told again.
    expect(JSON.parse((await opened.call('mcp.s.echo', {}, { resume })).text)).toEqual([{ c: answer }]);
  });

  test.each([
    ['cancelled', true],
    ['stopping', false],
  ] as const)('of a call that is stopped because of %s: cancelled at the server: %s', async (why, isCancelled) => {
    await using opened = await open({ s: raw('task_endless') });
    await opened.logged('mcp_server_ready');
    const stop = new StopSwitch();
    const note = () => {
      stop.stop(why);
      return Promise.resolve(true);
    };
    expect(await opened.call('mcp.s.echo', {}, { signal: stop.signal, note })).toMatchObject({ code: 'cancelled' });
    const after = new StopSwitch();
    const later = opened.call('mcp.s.echo', {}, { signal: after.signal, resume: { handle: 'extension task-3' } });
    if (!isCancelled) after.stop('stopping');
    expect(await later).toMatchObject({ code: isCancelled ? 'task_cancelled' : 'cancelled' });
  });

  test('whose server does not answer its cancellation ends soon all the same', async () => {
    await using opened = await open({ s: raw('task_deaf') });
    await opened.logged('mcp_server_ready');
    const stop = new StopSwitch();
    const note = () => {
      stop.stop('cancelled');
      return Promise.resolve(true);
    };
    expect(await opened.call('mcp.s.echo', {}, { signal: stop.signal, note })).toMatchObject({ code: 'cancelled' });
  }, 30_000);
});
