import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CallReport } from '../../../bridge/executors/call-report.ts';
import {
  type CallContext,
  type CallTarget,
  type Executor,
  combineExecutors,
} from '../../../bridge/executors/executors.ts';
import { hostExecutor } from '../../../bridge/executors/host-executor.ts';
import { wantedBy } from '../../../bridge/executors/lease-request.ts';
import type { HostOutcome } from '../../../bridge/host/outcome.ts';
import { digestText } from '../../../schemas/canonical.ts';
import { brand } from '../../../schemas/ids.ts';
import { PNG, attachmentOf } from '../../support/attachments.ts';

const executor = (name: string, ...tools: readonly string[]): Executor & { readonly name: string } => ({
  name,
  tools,
  run: () => Promise.resolve({ success: true, text: name }),
});

const target = (tool: string): CallTarget => ({
  session_id: brand('s'),
  call_id: brand('c'),
  tool_id: brand(tool),
  executor: { kind: 'effect', effect_kind: tool },
});

const context = (kept: string[] = []): CallContext => ({
  signal: new AbortController().signal,
  timeoutMs: 1_000,
  outputBytesMax: 10_000,
  putBlob: (bytes) => {
    kept.push(Buffer.from(bytes).toString());
    return Promise.resolve(digestText(bytes));
  },
});

describe('the registry', () => {
  test('prefers an exact id to a prefix, and a longer prefix to a shorter one', () => {
    const all = combineExecutors([executor('any', '*'), executor('host', 'host.*'), executor('exec', 'host.exec')]);
    const names = ['host.exec', 'host.fs.read_file', 'mcp.x'].map((tool) => (all.find(tool) as { name?: string }).name);
    expect(names).toEqual(['exec', 'host', 'any']);
    expect(all.tools).toEqual(['*', 'host.*', 'host.exec']);
  });

  test('finds no executor for a tool that none lists', () => {
    expect(combineExecutors([executor('host', 'host.*')]).find('mcp.x')).toBeNull();
  });
});

test('the host executor names its workspace: in what it asks to undo, and with the files that a call changed', async () => {
  const changes = [{ path: 'a', before: null, after_digest: null }];
  const run = (): Promise<HostOutcome> => Promise.resolve({ success: true, text: 'done', changes });
  const restore = (): HostOutcome => ({ success: true, text: 'put back' });
  const host = hostExecutor({ run, has: () => true, restore, workspaceName: 'project@1' });
  const executors = combineExecutors([executor('any', 'mcp.*'), host]);
  expect(wantedBy({ owner: brand('b'), executors }, 1)).toMatchObject({ workspace: 'project@1' });
  expect(await host.run(target('host.fs.write_file'), {}, context())).toMatchObject({
    changes,
    workspace: 'project@1',
  });
  const none = combineExecutors([executor('any', 'mcp.*')]);
  expect(wantedBy({ owner: brand('b'), executors: none }, 1)).not.toHaveProperty('workspace');
});

describe('the files that a call shows', () => {
  const shown = [{ bytes: Buffer.from(PNG), media_type: 'image/png' as const, name: 'a.png' }];
  const host = hostExecutor({
    has: () => true,
    run: () => Promise.resolve({ success: true, text: 'attached', shown }),
  });

  test('are stored, and reported as attachments', async () => {
    const report = await host.run(target('host.fs.read_file'), {}, context());
    const attachments = [attachmentOf(PNG, 'image/png', 'a.png')];
    expect(report).toEqual({ success: true, text: 'attached', attachments });
    expect(CallReport.is(report)).toBe(true);
  });

  test('fail the call when they cannot be stored', async () => {
    const putBlob = () => Promise.reject(new Error('a secret'));
    await expect(host.run(target('host.fs.read_file'), {}, { ...context(), putBlob })).rejects.toThrow('a secret');
  });
});

describe('a pattern', () => {
  test.each(['', 'my.*.x', '*.x', 'two words', 'x'.repeat(129)])('%j that matches no tool is refused', (pattern) => {
    expect(() => combineExecutors([executor('any', pattern)])).toThrow('matches no tool');
  });

  test('that two executors list is refused; one executor may list it twice', () => {
    expect(() => combineExecutors([executor('one', 'a.*'), executor('two', 'a.*')])).toThrow(
      'two executors list "a.*"',
    );
    expect(combineExecutors([executor('one', 'a.*', 'a.*')]).tools).toEqual(['a.*']);
  });
});

describe('the host executor', () => {
  test("returns the host's outcome as a report", async () => {
    const hostSession = { host_session_status: 'ready' as const, host_session_id: brand<'HostSessionId'>('hs-1') };
    const host = {
      has: () => true,
      run: () => Promise.resolve({ success: true, text: 'hi', data: { n: 1 }, hostSession }),
    };
    const report = await hostExecutor(host).run(target('host.exec'), {}, context());
    expect(report).toEqual({ success: true, text: 'hi', data: { n: 1 }, host_session: hostSession });
    expect(CallReport.is(report)).toBe(true);
  });

  test('stores a spilled output as a blob and deletes the file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'refold-spill-'));
    const path = join(folder, 'spill');
    await writeFile(path, 'the whole output');
    const kept: string[] = [];
    const host = {
      has: () => true,
      run: () => Promise.resolve({ success: false, code: 'exit_1', text: 'the … put', spill: { path, bytes: 16 } }),
    };
    const report = await hostExecutor(host).run(target('host.exec'), {}, context(kept));
    expect(report).toMatchObject({
      success: false,
      code: 'exit_1',
      whole: { ref: digestText('the whole output'), bytes: 16 },
    });
    expect(kept).toEqual(['the whole output']);
    expect(existsSync(path)).toBe(false);
    await rm(folder, { recursive: true });
  });

  test('does not fail the call when the whole output cannot be kept, and says so', async () => {
    const spill = { path: '/nowhere/at/all', bytes: 1 };
    const host = { has: () => true, run: () => Promise.resolve({ success: true, text: 'x', spill }) };
    const text = 'x\n[the whole output was not kept: no such file]';
    expect(await hostExecutor(host).run(target('host.exec'), {}, context())).toEqual({ success: true, text });
    const full = { has: () => true, run: () => Promise.resolve({ success: true, text: 'x', unkept: 'no such file' }) };
    expect(await hostExecutor(full).run(target('host.exec'), {}, context())).toEqual({ success: true, text });
  });

  test('fails a call of a tool that the host does not have', async () => {
    const host = { has: () => false, run: () => Promise.reject(new Error('unused')) };
    expect(await hostExecutor(host).run(target('host.new'), {}, context())).toMatchObject({ code: 'executor_missing' });
  });
});
