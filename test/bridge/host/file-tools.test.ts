// host.fs.read_file, write_file, stat, exists and list_dir, and what all file tools refuse.
import { chmodSync, chownSync, linkSync, mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../schemas/json.ts';
import type { HostOutcome } from '../../../bridge/host/outcome.ts';
import { ATTACHMENT_BYTES_MAX } from '../../../schemas/limits.ts';
import { PDF, PNG, ZIP } from '../../support/attachments.ts';
import { type TestHost, makeHost } from '../../support/host/workspace.ts';

let host: TestHost;
beforeAll(async () => {
  host = await makeHost({}, { sandbox: 'none', secrets: ['hunter2-hunter2!'] });
});
afterAll(() => host.end());
const at = (name: string): string => host.workspace.at(name);

describe('host.fs.read_file', () => {
  const read = (args: JsonObject, outputBytesMax = 262_144): Promise<HostOutcome> =>
    host.call('host.fs.read_file', args, { outputBytesMax });

  test('returns the whole file when it fits', async () => {
    host.workspace.write('r/plain.txt', 'alpha-9421\n');
    expect(await read({ path: 'r/plain.txt' })).toEqual({
      success: true,
      text: 'alpha-9421\n',
      data: { path: 'r/plain.txt', size_bytes: 11, offset_bytes: 0, read_bytes: 11, truncated: false },
      hostSession: expect.anything() as unknown,
    });
  });

  test('an absolute path inside the workspace reads the same file', async () => {
    expect(await read({ path: at('r/../r/plain.txt') })).toMatchObject({ success: true, text: 'alpha-9421\n' });
  });

  test('a file larger than the output limit can be read in parts with offset_bytes, without losing a byte', async () => {
    const whole = Array.from({ length: 3_000 }, (_, n) => `line ${n} äöü €uro 🜁\n`).join('');
    host.workspace.write('r/long.txt', whole);
    let text = '';
    const notes: string[] = [];
    const offsets: number[] = [0];
    for (let offset = 0, more = true; more;) {
      const outcome = await read({ path: 'r/long.txt', offset_bytes: offset }, 4_099);
      const { truncated, offset_bytes: start, read_bytes: bytes } = outcome.data as Record<string, number>;
      expect(start).toBe(offset);
      more = Boolean(truncated);
      const cut = more ? outcome.text.lastIndexOf('\n') : outcome.text.length;
      text += outcome.text.slice(0, cut);
      notes.push(outcome.text.slice(cut));
      offset += bytes ?? 0;
      offsets.push(offset);
    }
    expect(notes.slice(0, -1).map((note) => note.replace(/^.*offset_bytes (\d+)\]$/s, '$1'))).toEqual(
      offsets.slice(1, -1).map(String),
    );
    expect(text).toBe(whole);
  });

  test('a window of one byte returns a whole multi-byte character', async () => {
    host.workspace.write('r/wide.txt', '🜁x');
    expect(await read({ path: 'r/wide.txt', max_bytes: 1 })).toMatchObject({
      data: { offset_bytes: 0, read_bytes: 4 },
    });
    expect(await read({ path: 'r/wide.txt', offset_bytes: 2 })).toMatchObject({ text: 'x', data: { offset_bytes: 4 } });
  });

  test('an offset after the end and an empty file are reported as text', async () => {
    host.workspace.write('r/empty.txt', '');
    expect((await read({ path: 'r/empty.txt' })).text).toBe('(the file is empty)');
    expect((await read({ path: 'r/plain.txt', offset_bytes: 99 })).text).toContain('the file has 11 bytes');
  });

  test('bytes are returned as base64; a file that is not UTF-8 is refused as text', async () => {
    host.workspace.write('r/raw.bin', new Uint8Array([0, 159, 255, 10]));
    expect(await read({ path: 'r/raw.bin', encoding: 'bytes' })).toMatchObject({ success: true, text: 'AJ//Cg==' });
    const refused = await read({ path: 'r/raw.bin' });
    expect(refused).toMatchObject({ success: false, code: 'invalid_utf8' });
    expect(refused.text).toContain('encoding "bytes"');
  });

  test('a whole image or PDF is shown to the model', async () => {
    host.workspace.write('r/pics/a.png', PNG);
    const outcome = await read({ path: 'r/pics/a.png' });
    expect(outcome).toMatchObject({
      success: true,
      text: `[r/pics/a.png: image/png, ${PNG.length} bytes; attached]`,
      data: { size_bytes: PNG.length, read_bytes: PNG.length, truncated: false },
      shown: [{ bytes: Buffer.from(PNG), media_type: 'image/png', name: 'a.png' }],
    });
    host.workspace.write('r/b.pdf', PDF);
    expect((await read({ path: 'r/b.pdf' })).shown).toMatchObject([{ media_type: 'application/pdf' }]);
  });

  test('a part of one, one with a secret, a large one and any other file are not', async () => {
    host.workspace.write('r/s.png', Buffer.concat([PNG, Buffer.from('hunter2-hunter2!')]));
    const large = Buffer.alloc(ATTACHMENT_BYTES_MAX + 1);
    large.set(PNG);
    host.workspace.write('r/l.png', large);
    host.workspace.write(
      'r/z.png',
      ZIP.map((byte) => byte | 0x80),
    );
    for (const args of [
      { path: 'r/s.png' },
      { path: 'r/l.png' },
      { path: 'r/z.png' },
      { path: 'r/pics/a.png', offset_bytes: 0 },
      { path: 'r/pics/a.png', max_bytes: 4 },
    ]) {
      expect(await read(args)).toMatchObject({ success: false, code: 'invalid_utf8' });
    }
    const asked = await read({ path: 'r/pics/a.png', encoding: 'bytes' });
    expect(asked).toMatchObject({ success: true, text: Buffer.from(PNG).toString('base64') });
    expect(asked).not.toHaveProperty('shown');
  });

  test('a byte order mark is kept', async () => {
    host.workspace.write('r/bom.txt', '\ufeffhello');
    expect((await read({ path: 'r/bom.txt' })).text).toBe('\ufeffhello');
  });

  test('no part of a secret at the edge of a window is returned', async () => {
    host.workspace.write('r/secret.txt', `${'x'.repeat(10)}hunter2-hunter2!${'y'.repeat(10)}`);
    const texts: string[] = [];
    for (let start = 0; start < 35; start += 7) {
      texts.push((await read({ path: 'r/secret.txt', offset_bytes: start, max_bytes: 7 })).text);
    }
    expect(texts.join('').replaceAll(/\n\[bytes.*\]/g, '')).not.toMatch(/hunt|nter2|r2-h/);
    expect((await read({ path: 'r/secret.txt' })).text).toBe('xxxxxxxxxx‹secret›yyyyyyyyyy');
  });

  test.each([
    ['r/none.txt', 'not_found'],
    ['r', 'is_directory'],
    ['.', 'is_directory'],
    ['', 'invalid_path'],
    ['a\0b', 'invalid_path'],
    ['../outside', 'forbidden'],
    ['r/../../outside', 'forbidden'],
    ['/etc/passwd', 'forbidden'],
    ['r/plain.txt/below', 'not_directory'],
    ['n'.repeat(300), 'invalid_path'],
    ['d/'.repeat(70), 'invalid_path'],
  ])('refuses %j with %s', async (path, code) => {
    const outcome = await read({ path });
    expect(outcome).toMatchObject({ success: false, code });
    expect(outcome.text.length).toBeGreaterThan(code.length + 10);
  });
});

describe('host.fs.write_file', () => {
  const write = (args: JsonObject): Promise<HostOutcome> => host.call('host.fs.write_file', args);

  test('creates a file, and its parents only with create_parents', async () => {
    expect(await write({ path: 'w/src/lib.rs', text: 'x' })).toMatchObject({ code: 'parent_not_found' });
    expect(await write({ path: 'w/src/lib.rs', text: 'fn main() {}\n', create_parents: true })).toMatchObject({
      success: true,
      data: { written_bytes: 13, created: true },
    });
    expect(host.workspace.read('w/src/lib.rs')).toBe('fn main() {}\n');
  });

  test('create_new refuses to replace an existing file', async () => {
    expect(await write({ path: 'w/src/lib.rs', text: 'other', mode: 'create_new' })).toMatchObject({
      success: false,
      code: 'file_exists',
    });
    expect(host.workspace.read('w/src/lib.rs')).toBe('fn main() {}\n');
    expect(await write({ path: 'w/src/new.rs', text: '', mode: 'create_new' })).toMatchObject({ success: true });
    expect(statSync(at('w/src/new.rs')).nlink).toBe(1);
  });

  test('overwriting keeps the mode bits, and the owner when the host is root', async () => {
    host.workspace.write('w/tool.sh', 'old');
    chmodSync(at('w/tool.sh'), 0o750);
    const owner =
      process.getuid?.() === 0 ? [12_345, 54_321] : [statSync(at('w/tool.sh')).uid, statSync(at('w/tool.sh')).gid];
    chownSync(at('w/tool.sh'), owner[0] ?? 0, owner[1] ?? 0);
    expect(await write({ path: 'w/tool.sh', text: 'new' })).toMatchObject({ data: { created: false } });
    const stats = statSync(at('w/tool.sh'));
    expect(stats.mode & 0o777).toBe(0o750);
    expect([stats.uid, stats.gid]).toEqual(owner);
    expect(host.workspace.read('w/tool.sh')).toBe('new');
  });

  test('new files and directories belong to the owner of the workspace', async () => {
    await write({ path: 'w/mine/deep/file', text: 'x', create_parents: true });
    const owner = statSync(host.workspace.path).uid;
    expect(['w/mine', 'w/mine/deep', 'w/mine/deep/file'].map((name) => statSync(at(name)).uid)).toEqual([
      owner,
      owner,
      owner,
    ]);
  });

  test('leaves no temporary file behind when it fails', async () => {
    mkdirSync(at('w/dir'));
    expect(await write({ path: 'w/dir', text: 'x' })).toMatchObject({ code: 'is_directory' });
    expect(host.workspace.list().filter((name) => name.includes('.tmp'))).toEqual([]);
  });

  test.each(['.git/config', 'sub/.git/hooks/pre-commit', '.GIT/config', '.git'])(
    'refuses to write %s',
    async (path) => {
      for (const [id, args] of [
        ['host.fs.write_file', { path, text: 'x', create_parents: true }],
        ['host.fs.edit_file', { path, old_string: 'a', new_string: 'b' }],
      ] as const) {
        expect(await host.call(id, args)).toMatchObject({ success: false, code: 'forbidden' });
      }
      expect(statSync(at('.git'), { throwIfNoEntry: false })).toBeUndefined();
    },
  );

  test('files in .git can be read', async () => {
    host.workspace.write('sub/.git/HEAD', 'ref: main\n');
    expect(await host.call('host.fs.read_file', { path: 'sub/.git/HEAD' })).toMatchObject({ text: 'ref: main\n' });
  });
});

describe('host.fs.stat, exists and list_dir', () => {
  test('stat reports kind and size', async () => {
    host.workspace.write('s/file.txt', '12345');
    expect(await host.call('host.fs.stat', { path: 's/file.txt' })).toMatchObject({
      success: true,
      data: { exists: true, kind: 'file', is_dir: false, size_bytes: 5, mtime_ms: expect.any(Number) as number },
    });
    expect(await host.call('host.fs.stat', { path: '.' })).toMatchObject({ data: { kind: 'directory' } });
    expect(await host.call('host.fs.stat', { path: 's/none' })).toMatchObject({
      success: false,
      code: 'not_found',
      data: { exists: false },
    });
  });

  test('exists returns false for a missing path, and refuses links and paths outside', async () => {
    symlinkSync('/etc', at('s/link'));
    const exists = (path: string): Promise<HostOutcome> => host.call('host.fs.exists', { path });
    expect((await exists('s/file.txt')).data).toMatchObject({ exists: true });
    expect((await exists('s/none/deeper')).data).toMatchObject({ exists: false });
    expect((await exists('s/file.txt/deeper')).data).toMatchObject({ exists: false });
    for (const path of ['../x', 's/link', 's/link/passwd']) {
      expect(await exists(path)).toMatchObject({ success: false, code: 'forbidden' });
    }
  });

  test('list_dir sorts by name, marks directories and links, and reports how many entries it left out', async () => {
    for (const name of ['b.txt', 'a.txt', 'B.txt', '.hidden']) host.workspace.write(`l/${name}`, 'x');
    mkdirSync(at('l/dir'));
    symlinkSync('a.txt', at('l/link'));
    const list = (args: JsonObject): Promise<HostOutcome> => host.call('host.fs.list_dir', args);
    expect((await list({ path: 'l' })).text.split('\n')).toEqual([
      '.hidden',
      'B.txt',
      'a.txt',
      'b.txt',
      'dir/',
      'link@',
    ]);
    const two = await list({ path: 'l', max_results: 2 });
    expect(two).toMatchObject({ data: { count: 2, total: 6, truncated: true } });
    expect(two.text).toContain('[2 of 6 entries');
    expect((await list({ path: 'l/dir' })).text).toBe('l/dir is empty.');
    expect(await list({ path: 'l/none' })).toMatchObject({ code: 'not_found' });
    expect(await list({ path: 'l/a.txt' })).toMatchObject({ code: 'not_directory' });
    expect((await list({})).text).toContain('l/');
  });

  test('a name with a line break is quoted on one line', async () => {
    host.workspace.write('odd/two\nlines', 'needle');
    expect((await host.call('host.fs.list_dir', { path: 'odd' })).text).toBe('"two\\nlines"');
    expect((await host.call('host.fs.grep', { path: 'odd', pattern: 'needle' })).text).toBe(
      '"odd/two\\nlines":1:needle',
    );
  });
});

describe('outputs that are too long', () => {
  beforeEach(() => {
    for (let n = 0; n < 300; n += 1) host.workspace.write(`many/file-with-a-rather-long-name-${n}.txt`, '');
  });

  test('are cut in the middle between characters, and kept whole in a file', async () => {
    const outcome = await host.call('host.fs.list_dir', { path: 'many', max_results: 300 }, { outputBytesMax: 2_000 });
    expect(Buffer.byteLength(outcome.text)).toBeLessThanOrEqual(2_000);
    expect(outcome.text).toMatch(/\[… \d+ bytes left out …\]/);
    const whole = readFileSync(outcome.spill?.path ?? '', 'utf8');
    expect(whole.split('\n')).toHaveLength(300);
    expect(outcome.spill?.bytes).toBe(Buffer.byteLength(whole));
    expect(whole.startsWith(outcome.text.slice(0, 500))).toBe(true);
  });
});

describe('hard links', () => {
  test('a file with a second name is not read, searched, written, edited or patched', async () => {
    host.workspace.write('h/one.txt', 'SECRET');
    linkSync(at('h/one.txt'), at('h/two.txt'));
    const path = 'h/two.txt';
    const patch = `*** Begin Patch\n*** Update File: ${path}\n@@\n-SECRET\n+x\n*** End Patch`;
    for (const [id, args, code] of [
      ['host.fs.read_file', { path }, 'forbidden'],
      ['host.fs.write_file', { path, text: 'x' }, 'forbidden'],
      ['host.fs.edit_file', { path, old_string: 'S', new_string: 'x' }, 'forbidden'],
      ['host.fs.apply_patch', { patch }, 'path_forbidden'],
      ['host.fs.grep', { path, pattern: 'S' }, 'forbidden'],
    ] as const) {
      const outcome = await host.call(id, args);
      expect(outcome).toMatchObject({ success: false, code });
      expect(outcome.text).not.toContain('SECRET');
    }
    expect(await host.call('host.fs.grep', { path: 'h', pattern: 'SECRET' })).toMatchObject({
      data: { match_count: 0 },
    });
    expect(host.workspace.read('h/one.txt')).toBe('SECRET');
  });
});
