// Undoing a call restores every file, bytes and permission bits, or changes nothing.
import type { CallReport } from '../../../bridge/index.ts';
import { buildSync } from 'esbuild';
import * as fc from 'fast-check';
import { spawnSync } from 'node:child_process';
import { chmodSync, linkSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hostExecutor } from '../../../bridge/executors/host-executor.ts';
import type { ChangedFile, HostOutcome } from '../../../bridge/host/outcome.ts';
import type { RestorableFile } from '../../../bridge/host/undo/restore-files.ts';
import { digestText } from '../../../schemas/canonical.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import {
  CHANGES_CHARS_MAX,
  CHANGES_PER_CALL_MAX,
  LEDGER_LINE_CHARS_MAX,
  PATH_DEPTH_MAX,
  PREIMAGE_BYTES_MAX,
  RESULT_DATA_CHARS_MAX,
} from '../../../schemas/limits.ts';
import { FileChanges } from '../../../schemas/undo.ts';
import { type TestHost, type TestWorkspace, makeHost, makeWorkspace } from '../../support/host/workspace.ts';

type Files = Readonly<Record<string, string | Uint8Array>>;

/** Every file with its bytes and mode, and every directory. */
const snapshot = (files: TestWorkspace): readonly string[] =>
  files.list().map((name) => {
    if (name.endsWith('/')) return name;
    const mode = (statSync(files.at(name)).mode & 0o777).toString(8);
    return `${name} ${mode} ${Buffer.from(files.read(name), 'utf8').toString('hex')}`;
  });

const restorable = (changes: readonly ChangedFile[] = []): readonly RestorableFile[] =>
  changes.map(({ before, ...change }) => {
    if (before !== null && !Buffer.isBuffer(before)) throw new Error(`withheld: ${before.withheld}`);
    return { ...change, before };
  });

const withHost = async (files: Files, use: (host: TestHost) => Promise<void>, options = {}): Promise<void> => {
  const host = await makeHost(files, { sandbox: 'none', ...options });
  try {
    await use(host);
  } finally {
    await host.end();
  }
};

const FILES: Files = { 'a.txt': 'one\ntwo\n', 'd/b.txt': 'bee\n', 'd/c.txt': '' };
const patchOf = (...lines: readonly string[]): string => `*** Begin Patch\n${lines.join('\n')}\n*** End Patch`;

describe('the recorded changes of a call', () => {
  /** Each move changes two files, so these are more than one call may change. */
  const MOVED = Array.from({ length: CHANGES_PER_CALL_MAX / 2 + 1 }, (_, index) => `f${index}`);

  test('a write, an edit and a patch record each file before the call and its digest after it', () =>
    withHost(FILES, async (host) => {
      chmodSync(host.workspace.at('a.txt'), 0o640);
      const write = await host.call('host.fs.write_file', { path: './new/x/y.txt', text: 'y', create_parents: true });
      expect(write.changes).toEqual([
        { path: 'new/x/y.txt', before: null, after_digest: digestText('y'), parents_made: 2 },
      ]);
      const edit = await host.call('host.fs.edit_file', { path: 'a.txt', old_string: 'two', new_string: '2' });
      const changed = { path: 'a.txt', before: Buffer.from('one\ntwo\n'), mode: 0o640 };
      expect(edit.changes).toEqual([{ ...changed, after_digest: digestText('one\n2\n') }]);
      const patch = patchOf(
        '*** Update File: d/b.txt',
        '*** Move to: e/b.txt',
        '@@',
        '-bee',
        '+BEE',
        '*** Delete File: d/c.txt',
      );
      expect((await host.call('host.fs.apply_patch', { patch, dry_run: true })).changes).toBeUndefined();
      expect((await host.call('host.fs.apply_patch', { patch })).changes).toEqual([
        { path: 'd/b.txt', before: Buffer.from('bee\n'), after_digest: null, mode: expect.any(Number) as number },
        { path: 'd/c.txt', before: Buffer.alloc(0), after_digest: null, mode: expect.any(Number) as number },
        { path: 'e/b.txt', before: null, after_digest: digestText('BEE\n'), parents_made: 1 },
      ]);
    }));

  test('a failed call, a read and a command record nothing', () =>
    withHost(FILES, async (host) => {
      const calls: readonly (readonly [string, JsonObject])[] = [
        ['host.fs.read_file', { path: 'a.txt' }],
        ['host.fs.edit_file', { path: 'a.txt', old_string: 'nowhere', new_string: '' }],
        ['host.fs.write_file', { path: 'a.txt', text: '', mode: 'create_new' }],
        ['host.exec', { argv: ['touch', 'z'] }],
      ];
      for (const [tool, args] of calls) expect((await host.call(tool, args)).changes).toBeUndefined();
    }));

  test('bytes that are too large or contain a secret are withheld; too many files are not recorded', () =>
    withHost(
      {
        'big.txt': 'x'.repeat(PREIMAGE_BYTES_MAX + 1),
        'env.txt': 'KEY=s3cret-value-of-16\n',
        ...Object.fromEntries(MOVED.map((name) => [name, 'x\n'])),
      },
      async (host) => {
        const write = async (path: string): Promise<HostOutcome> => host.call('host.fs.write_file', { path, text: '' });
        expect((await write('big.txt')).changes).toMatchObject([{ before: { withheld: 'too_large' } }]);
        expect((await write('env.txt')).changes).toMatchObject([{ before: { withheld: 'secret' } }]);
        expect((await write('s3cret-value-of-16')).changes).toEqual([]);
        const moves = MOVED.map((name) => `*** Update File: ${name}\n*** Move to: new-${name}\n@@\n-x\n+y`);
        const moved = await host.call('host.fs.apply_patch', { patch: patchOf(...moves) });
        expect(moved).toMatchObject({ success: true, changes: [] });
        expect(
          (await host.call('host.fs.apply_patch', { patch: patchOf('*** Delete File: new-f0') })).changes,
        ).toHaveLength(1);
      },
      { secrets: ['s3cret-value-of-16'] },
    ));

  test('the executor stores the bytes before the call as blobs; bytes that it cannot store are withheld', () =>
    withHost(FILES, async (host) => {
      const stored: string[] = [];
      const run = async (putBlob: (bytes: Uint8Array) => Promise<never>) =>
        (await hostExecutor(host).run(
          { tool_id: 'host.fs.write_file' } as never,
          { path: 'a.txt', text: 'new' },
          { signal: new AbortController().signal, timeoutMs: 1_000, outputBytesMax: 10_000, putBlob },
        )) as CallReport;
      const report = await run((bytes) => {
        stored.push(Buffer.from(bytes).toString());
        return Promise.resolve(digestText(stored.at(-1) ?? '') as never);
      });
      expect(stored).toEqual(['one\ntwo\n']);
      expect(report.changes).toMatchObject([{ before: { ref: digestText('one\ntwo\n'), bytes: 8 } }]);
      expect(FileChanges.is(report.changes)).toBe(true);
      const lost = await run(() => Promise.reject(new Error('the disk is full')));
      expect(lost).toMatchObject({ success: true, changes: [{ before: { withheld: 'not_kept' } }] });
    }));
});

const NAMES = ['a.txt', 'd/b.txt', 'd/c.txt', 'new/x.txt', 'new/deep/y.txt'];
const path = fc.constantFrom(...NAMES);
const text = fc.constantFrom('', 'one\n', 'one\ntwo\n', 'ä\r\nb', 'no feed');
const operation = fc.oneof(
  fc.tuple(path, text).map(
    ([name, given]) =>
      `*** Add File: ${name}\n${given
        .split('\n')
        .map((line) => `+${line}`)
        .join('\n')}`,
  ),
  path.map((name) => `*** Delete File: ${name}`),
  fc.tuple(path, path).map(([from, to]) => `*** Update File: ${from}\n*** Move to: ${to}`),
);
const toolCall = fc.oneof(
  fc.record({ path, text, create_parents: fc.boolean() }).map((args) => ['host.fs.write_file', args] as const),
  fc
    .record({ path, old_string: fc.constantFrom('one', 'o', '\n'), new_string: text, replace_all: fc.boolean() })
    .map((args) => ['host.fs.edit_file', args] as const),
  fc
    .array(operation, { minLength: 1, maxLength: 4 })
    .map((all) => ['host.fs.apply_patch', { patch: patchOf(...all) }] as const),
);

describe('undo', () => {
  test('of several calls, last first, restores every state in between', async () => {
    const modes = fc.array(fc.constantFrom(0o600, 0o644, 0o755, 0o640), { minLength: 3, maxLength: 3 });
    const property = fc.asyncProperty(
      fc.array(toolCall, { minLength: 1, maxLength: 6 }),
      modes,
      async (calls, bits) => {
        await withHost(FILES, async (host) => {
          for (const [index, name] of Object.keys(FILES).entries())
            chmodSync(host.workspace.at(name), bits[index] ?? 0);
          const done: { readonly before: readonly string[]; readonly changes: readonly ChangedFile[] }[] = [];
          for (const [tool, args] of calls) {
            const before = snapshot(host.workspace);
            const { success, changes } = await host.call(tool, args);
            if (success && changes !== undefined) done.push({ before, changes });
            else if (tool !== 'host.fs.write_file') expect(snapshot(host.workspace)).toEqual(before);
            else for (const name of ['new/deep', 'new']) removeEmpty(host.workspace.at(name));
          }
          for (const { before, changes } of done.toReversed()) {
            expect(host.restore(restorable(changes))).toMatchObject({ success: true });
            expect(snapshot(host.workspace)).toEqual(before);
            // A second undo changes nothing.
            expect(host.restore(restorable(changes))).toMatchObject({ success: true, data: { restored: [] } });
            expect(snapshot(host.workspace)).toEqual(before);
          }
        });
      },
    );
    await fc.assert(property, { numRuns: 40 });
  });

  // A failed write may leave the directories it made with create_parents; these are not recorded changes.
  const removeEmpty = (folder: string): void => {
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true && readdirSync(folder).length === 0)
      rmSync(folder, { recursive: true });
  };

  const patch = patchOf(
    '*** Update File: a.txt',
    '@@',
    '-two',
    '+TWO',
    '*** Delete File: d/c.txt',
    '*** Add File: new/x.txt',
    '+x',
  );
  const patched = (use: (host: TestHost, files: readonly RestorableFile[]) => void): Promise<void> =>
    withHost(FILES, async (host) => {
      const { changes } = await host.call('host.fs.apply_patch', { patch });
      use(host, restorable(changes));
    });

  test.each([
    ['changed', 'a.txt', (host: TestHost) => host.workspace.write('a.txt', 'mine')],
    ['created again', 'd/c.txt', (host: TestHost) => host.workspace.write('d/c.txt', 'mine')],
    [
      'removed',
      'new/x.txt, a.txt',
      (host: TestHost) => {
        host.workspace.write('new/x.txt', 'mine');
        rmSync(host.workspace.at('a.txt'));
      },
    ],
  ])('is refused after a file was %s since: it names %s and changes nothing', (_how, names, change) =>
    patched((host, files) => {
      change(host);
      const before = snapshot(host.workspace);
      const outcome = host.restore(files);
      expect(outcome).toMatchObject({ success: false, code: 'changed_since' });
      expect([...((outcome.data?.['files'] ?? []) as string[])].sort()).toEqual(names.split(', ').sort());
      expect(snapshot(host.workspace)).toEqual(before);
    }),
  );

  test.each([
    [
      'a link to a file outside',
      (host: TestHost, outside: string) => {
        rmSync(host.workspace.at('a.txt'));
        symlinkSync(outside, host.workspace.at('a.txt'));
      },
    ],
    [
      'a link where a file was deleted',
      (host: TestHost, outside: string) => symlinkSync(outside, host.workspace.at('d/c.txt')),
    ],
    [
      'a directory that is a link',
      (host: TestHost, outside: string) => {
        rmSync(host.workspace.at('new'), { recursive: true });
        mkdirSync(`${outside}.d`);
        writeFileSync(`${outside}.d/x.txt`, 'x');
        symlinkSync(`${outside}.d`, host.workspace.at('new'));
      },
    ],
    [
      'a file with a second name',
      (host: TestHost, outside: string) => {
        writeFileSync(outside, 'one\nTWO\n');
        rmSync(host.workspace.at('a.txt'));
        linkSync(outside, host.workspace.at('a.txt'));
      },
    ],
  ])('is refused for %s, and changes nothing', (_what, attack) =>
    patched((host, files) => {
      const outside = join(host.workspace.path, '..', 'outside.txt');
      writeFileSync(outside, 'one\nTWO\n');
      attack(host, outside);
      const before = host.workspace.list();
      expect(host.restore(files)).toMatchObject({ success: false, code: 'forbidden' });
      expect(host.workspace.list()).toEqual(before);
      expect(statSync(outside).size).toBe(8);
    }),
  );

  test.each(['../x', '/etc/passwd', '.git/config', '.'])('is refused for the path %s', (name) =>
    withHost(FILES, async (host) => {
      const file = { path: name, before: null, after_digest: null };
      expect(host.restore([file])).toMatchObject({ success: false });
      await host.close();
      expect(host.restore([])).toMatchObject({ code: 'host_closed' });
    }),
  );

  test('is refused when a file is named twice', () =>
    patched((host, files) => {
      const before = snapshot(host.workspace);
      expect(host.restore([...files, ...files])).toMatchObject({ success: false, code: 'tool_invalid_args' });
      expect(snapshot(host.workspace)).toEqual(before);
    }));

  test('keeps a directory that the call made when it contains another file', () =>
    patched((host, files) => {
      host.workspace.write('new/mine.txt', 'mine');
      expect(host.restore(files)).toMatchObject({ success: true });
      expect(host.workspace.list()).toEqual(['a.txt', 'd/', 'd/b.txt', 'd/c.txt', 'new/', 'new/mine.txt']);
    }));

  describe('a crash', () => {
    const program = join(tmpdir(), `refold-undo-crash-${process.pid}.mjs`);
    beforeAll(() => {
      const from = (name: string): string =>
        JSON.stringify(fileURLToPath(new URL(`../../../bridge/host/${name}`, import.meta.url)));
      buildSync({
        stdin: {
          contents: `
            import { restoreFiles } from ${from('undo/restore-files.ts')};
            import { openWorkspace } from ${from('workspace/workspace.ts')};
            const [path, manifests, files, step] = process.argv.slice(2);
            const revived = JSON.parse(files).map((file) => ({
              ...file, before: file.before === null ? null : Buffer.from(file.before, 'base64') }));
            restoreFiles({ workspace: openWorkspace(path), manifests }, revived, (now) => {
              if (now === step) process.kill(process.pid, 'SIGKILL');
            });`,
          loader: 'ts',
          resolveDir: fileURLToPath(new URL('.', import.meta.url)),
        },
        bundle: true,
        platform: 'node',
        format: 'esm',
        outfile: program,
      });
    });
    afterAll(() => rmSync(program, { force: true }));

    test.each([
      'manifest written',
      'staged 1',
      'staged 2',
      'staged',
      'published 1',
      'published 2',
      'published 3',
      'done',
    ])('after "%s" is finished or rolled back by the next host, which can undo again', async (step) => {
      const files = makeWorkspace(FILES);
      const origin = snapshot(files);
      const options = { workspace: files.path, tempDir: files.tempDir, sandbox: 'none' as const, now: () => 0 };
      const { openHost } = await import('../../../bridge/host/open-host.ts');
      const first = await openHost(options);
      const call = { sessionId: 's-1', signal: new AbortController().signal, timeoutMs: 1_000, outputBytesMax: 10_000 };
      const { changes = [] } = await first.run('host.fs.apply_patch', { patch }, call);
      await first.close();
      const after = snapshot(files);
      const sent = restorable(changes).map((file) => ({
        ...file,
        before: file.before === null ? null : Buffer.from(file.before).toString('base64'),
      }));
      const manifests = join(files.tempDir, 'patches');
      const { signal } = spawnSync(process.execPath, [program, files.path, manifests, JSON.stringify(sent), step]);
      expect(signal).toBe('SIGKILL');
      const next = await openHost(options);
      const isFile = (line: string): boolean => !line.endsWith('/');
      const publishing = !['manifest written', 'staged 1', 'staged 2'].includes(step);
      expect(snapshot(files).filter(isFile)).toEqual((publishing ? origin : after).filter(isFile));
      expect(next.restore(restorable(changes))).toMatchObject({ success: true });
      expect(snapshot(files)).toEqual(origin);
      await next.close();
      files.remove();
    });
  });
});

test('the largest recorded changes of a call fit into a ledger line with the rest of the settlement', () => {
  const path = 'p'.repeat(Math.floor(CHANGES_CHARS_MAX / CHANGES_PER_CALL_MAX) - 2);
  const change = {
    path,
    before: { ref: digestText(''), bytes: PREIMAGE_BYTES_MAX },
    after_digest: digestText(''),
    mode: 0o777,
    parents_made: PATH_DEPTH_MAX,
  };
  const changes = Array.from({ length: CHANGES_PER_CALL_MAX }, () => change);
  expect(FileChanges.is(changes)).toBe(true);
  // Output and data have at most a few thousand characters each.
  expect(JSON.stringify(changes).length + 3 * RESULT_DATA_CHARS_MAX).toBeLessThan(LEDGER_LINE_CHARS_MAX);
});

test('a recorded change with a wrong shape is refused', () => {
  const change = { path: 'a', before: null, after_digest: null };
  expect(FileChanges.is([change])).toBe(true);
  for (const wrong of [
    [],
    [{ ...change, mode: 0o1000 }],
    [{ ...change, before: { withheld: 'lazy' } }],
    [{ ...change, path: '' }],
  ]) {
    expect(FileChanges.is(wrong)).toBe(false);
  }
  expect(FileChanges.is(Array.from({ length: CHANGES_PER_CALL_MAX + 1 }, () => change))).toBe(false);
});
