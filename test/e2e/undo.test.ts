// `refold undo` with real processes and files, with an engine started for the command or already running.
import { chmod, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Finished,
  type Started,
  freshDirectory,
  jsonLines,
  refold,
  refoldBuilt,
  refoldProcess,
  start,
  writeRecording,
} from '../support/e2e/refold.ts';

const PATCH = '*** Begin Patch\n*** Delete File: gone.sh\n*** Add File: new/deep/added.txt\n+added\n*** End Patch';

const AGAIN = '*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** End Patch';
const EDIT = '*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** End Patch';

let data: string;
let workspace: string;
let session: string;
let engine: Started | undefined;

const undoing = (call: string): readonly string[] => ['undo', session, '--call', call, '--data-dir', data];
const undo = (call: string, ...more: readonly string[]): Promise<Finished> => refoldBuilt([...undoing(call), ...more]);

beforeAll(async () => {
  const home = await freshDirectory();
  workspace = await freshDirectory(true);
  data = join(home, 'data');
  await writeFile(join(workspace, 'a.txt'), 'one\ntwo\n');
  await writeFile(join(workspace, 'gone.sh'), '#!/bin/sh\n');
  await chmod(join(workspace, 'gone.sh'), 0o755);
  const recording = await writeRecording(home, [
    { calls: [{ id: 'open', name: 'open_session', arguments: {} }] },
    {
      calls: [
        { id: 'edit', name: 'apply_patch', arguments: { patch: EDIT } },
        { id: 'patch', name: 'apply_patch', arguments: { patch: PATCH } },
        { id: 'look', name: 'read_file', arguments: { path: 'a.txt' } },
      ],
    },
    { calls: [{ id: 'again', name: 'apply_patch', arguments: { patch: AGAIN } }] },
    { content: 'Done.' },
  ]);
  const run = ['run', 'change things', '--workspace', workspace, '--recording', recording, '--sandbox', 'none'];
  const ran = await refoldBuilt([...run, '--data-dir', data, '--json']);
  if (ran.code !== 0) throw new Error(`refold run failed: ${ran.stdout}${ran.stderr}`);
  session = String(jsonLines((await refold(['sessions', '--data-dir', data, '--json'])).stdout)[0]?.['session_id']);
});

afterAll(() => engine?.kill());

describe('refold undo', () => {
  test('restores deleted files with their mode, and removes added files with their directories', async () => {
    const { code, stdout, stderr } = await refoldProcess(undoing('patch'));
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe('put back  gone.sh\nremoved   new/deep/added.txt\n');
    expect((await readdir(workspace)).sort()).toEqual(['a.txt', 'gone.sh']);
    expect(await readFile(join(workspace, 'gone.sh'), 'utf8')).toBe('#!/bin/sh\n');
    expect((await stat(join(workspace, 'gone.sh'))).mode & 0o777).toBe(0o755);
  });

  test('refuses a file that a later call changed; in reverse order it succeeds', async () => {
    // All later commands use this engine.
    engine = await start(['serve', '--data-dir', data, '--port', '0']);
    const early = await undo('edit');
    expect(early).toMatchObject({ code: 1, stderr: '' });
    expect(early.stdout).toContain('a.txt changed after the call');
    expect(await readFile(join(workspace, 'a.txt'), 'utf8')).toBe('1\n2\n');
    expect((await undo('again')).code).toBe(0);
    const [last] = jsonLines((await undo('edit', '--json')).stdout);
    expect(last).toMatchObject({ event: 'undo', settled: { success: true, call_id: 'edit' } });
    expect(await readFile(join(workspace, 'a.txt'), 'utf8')).toBe('one\ntwo\n');
  });

  test('names what cannot be undone, and why', async () => {
    for (const [call, says] of [
      ['patch', /put back already/],
      ['look', /recorded no changes/],
      ['absent', /no call "absent" has settled/],
    ] as const) {
      const { code, stderr } = await undo(call);
      expect(code).toBe(2);
      expect(stderr).toMatch(says);
    }
    const nowhere = ['--workspace', '/no/such/folder'];
    const elsewhere = await refold(['undo', session, '--call', 'patch', '--data-dir', data, ...nowhere]);
    expect(elsewhere).toMatchObject({ code: 2, stderr: expect.stringContaining('--workspace DIR') as string });
    expect((await refold(['undo', session, '--data-dir', data])).code).toBe(2);
  });

  test('leaves a log that verifies, with the blobs of the earlier files', async () => {
    const { code, stdout } = await refold(['verify', session, '--data-dir', data]);
    expect({ code, stdout }).toMatchObject({ code: 0 });
    expect(stdout).toContain(session);
  });
});
