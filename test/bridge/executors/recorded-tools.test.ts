// Calls answered from an exported session.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CallReport } from '../../../bridge/executors/call-report.ts';
import type { CallContext, CallTarget, Executor } from '../../../bridge/executors/executors.ts';
import { type RecordedToolsOptions, recordedTools } from '../../../bridge/executors/recorded-tools.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { linesOf, recordsOf } from '../../audit/records.ts';
import { temporaryDirectory } from '../../support/journal/temporary-directory.ts';
import { call, say, session } from '../../support/session.ts';

const context = {} as CallContext;
let file = '';
let remove: () => Promise<void> = () => Promise.resolve();

beforeAll(async () => {
  const { directory, remove: removed } = await temporaryDirectory();
  remove = removed;
  file = join(directory, 'session.jsonl');
  let story = session().runRequested();
  for (const turn of [1, 2, 3]) {
    story = story.observed([call(`c${turn}`, 'once', { n: turn === 3 ? 2 : 1 })]);
    story = story.takes('ToolCallStarted', { ...story.callFields(`c${turn}`), owner: 'b' });
    const fields = story.settlementFields(`c${turn}`, { outcome: turn === 2 ? 'failed' : 'succeeded' });
    const data = turn === 1 ? { data: { cents: 5 } } : {};
    const host = turn === 3 ? { host_session: { host_session_status: 'ready' as const, expires_at_ms: 9 } } : {};
    const result = { ...fields.result, ...data };
    story = story
      .takes('ToolCallSettled', { ...fields, ...host, result, output: say(`answer ${turn}`) })
      .batchSettled();
  }
  await writeFile(file, linesOf(recordsOf(story.answered('done'))));
});
afterAll(() => remove());

const target = (tool: string, session_id = 's-1'): CallTarget =>
  ({ session_id, call_id: 'c', tool_id: tool, executor: { kind: 'effect', effect_kind: tool } }) as never;
const ask = (executor: Executor, args: JsonObject, tool = 'once', of = 's-1'): Promise<CallReport> =>
  executor.run(target(tool, of), args, context) as Promise<CallReport>;
const opened = (options?: RecordedToolsOptions): Promise<Executor> => recordedTools(file, options);

describe('recordedTools', () => {
  test('answers the same call in recorded order, then with the last answer, in each session', async () => {
    const tools = await opened();
    expect(await ask(tools, { n: 1 })).toEqual({ success: true, text: 'answer 1', data: { cents: 5 } });
    expect(await ask(tools, { n: 1 })).toMatchObject({ success: false, text: 'answer 2', code: 'tool_failed' });
    expect(await ask(tools, { n: 1 })).toMatchObject({ text: 'answer 2' });
    expect(await ask(tools, { n: 1 }, 'once', 's-2')).toMatchObject({ text: 'answer 1' });
    expect(tools.tools).toEqual(['once']);
  });

  test('tells what a call told of its host session, but not when that expires', async () => {
    expect((await ask(await opened(), { n: 2 })).host_session).toEqual({ host_session_status: 'ready' });
  });

  test('fails what the log does not hold, by default', async () => {
    const tools = await opened();
    expect(await ask(tools, { n: 3 })).toMatchObject({ success: false, code: 'not_recorded' });
    expect(await ask(tools, { n: 1 }, 'test.other')).toMatchObject({ code: 'not_recorded' });
  });

  test('asks once for each tool and arguments', async () => {
    let asked = 0;
    const answer = (): Promise<CallReport> => Promise.resolve({ success: true, text: `asked ${(asked += 1)}` });
    const tools = await opened({ missing: { ask: answer } });
    expect(await ask(tools, { n: 3 })).toMatchObject({ text: 'asked 1' });
    expect(await ask(tools, { n: 3 })).toMatchObject({ text: 'asked 1' });
    expect(await ask(tools, { n: 4 })).toMatchObject({ text: 'asked 2' });
    expect(await ask(tools, { n: 1 })).toMatchObject({ text: 'answer 1' });
  });

  test('runs the rest with another executor, whose tools it takes too', async () => {
    const live: Executor = {
      tools: ['shop.*'],
      run: (_call, { n }) => Promise.resolve({ success: true, text: `live ${JSON.stringify(n)}` }),
    };
    const tools = await opened({ missing: { run: live } });
    expect(tools.tools).toEqual(['once', 'shop.*']);
    expect(await ask(tools, { n: 7 }, 'shop.buy')).toMatchObject({ text: 'live 7' });
    expect(await ask(tools, { n: 1 })).toMatchObject({ text: 'answer 1' });
  });

  test('opens the recorded host session', async () => {
    const tools = await recordedTools('replay-fixtures/host-session-expiry/session.jsonl');
    const report = await ask(tools, {}, 'host.session.open');
    expect(report).toMatchObject({ success: true, host_session: { host_session_status: 'ready' } });
    expect(report.host_session).not.toHaveProperty('expires_at_ms');
  });

  test('answers with outputs in blobs only where they can be read', async () => {
    const demo = 'replay-fixtures/demo/session.jsonl';
    const args = { argv: ['node', '--test'] };
    const shell = 'host.exec';
    const held = await recordedTools(demo, { readBlob: () => Promise.resolve(new TextEncoder().encode('the blob')) });
    expect(await ask(held, args, shell)).toMatchObject({ text: 'the blob' });
    expect(held.tools).toContain(shell);
    const unread = await ask(await recordedTools(demo), args, shell);
    expect(unread.text).not.toBe('the blob');
  });

  test('refuses a file that was changed, or is no export', async () => {
    const changed = `${file}.changed`;
    await writeFile(changed, linesOf(recordsOf(session().runRequested())).replace('"text":"go"', '"text":"no"'));
    await expect(recordedTools(changed)).rejects.toThrow('does not fold as recorded');
    await writeFile(changed, '{"kind":"other"}\n');
    await expect(recordedTools(changed)).rejects.toThrow('line 1');
  });
});
