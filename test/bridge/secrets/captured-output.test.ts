// Secrets are replaced in everything that leaves the host, also where an output is cut; their mark is not written back.
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openCapture } from '../../../bridge/host/exec/output-capture.ts';
import { HEAD_BYTES, SPILL_BYTES_MAX, TAIL_BYTES } from '../../../schemas/limits.ts';
import { createRedactor } from '../../../bridge/secrets/redactor.ts';
import { type TestHost, makeHost, makeWorkspace } from '../../support/host/workspace.ts';

const SECRET = 'pä55word+/&x"y-0123';

describe('secrets', () => {
  test('a window shows no part of a secret that its edge divides', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('a', 'Sécr', 'Sécret1-of-sixteen', 'et1-of-sixteen', '1'), { maxLength: 20 }),
        fc.nat(120),
        fc.nat(120),
        (parts, a, b) => {
          const bytes = Buffer.from(parts.join(''));
          const [start, end] = [Math.min(a, b, bytes.length), Math.min(Math.max(a, b), bytes.length)];
          const shown = createRedactor(['Sécret1-of-sixteen']).window(bytes, start, end).toString('latin1');
          // The reference hides each byte that belongs to a secret, and shows the others.
          const text = bytes.toString('latin1');
          const secret = Buffer.from('Sécret1-of-sixteen').toString('latin1');
          const hidden = new Set<number>();
          for (let at = text.indexOf(secret); at !== -1; at = text.indexOf(secret, at + secret.length)) {
            for (let byte = at; byte < at + secret.length; byte += 1) hidden.add(byte);
          }
          const mark = Buffer.from('‹secret›').toString('latin1');
          const visible = Array.from(text)
            .filter((_, byte) => byte >= start && byte < end && !hidden.has(byte))
            .join('');
          expect(shown.replaceAll(mark, '')).toBe(visible);
        },
      ),
    );
  });
});

describe('captured output', () => {
  const place = makeWorkspace();
  afterAll(() => place.remove());
  let files = 0;
  const capture = (chunks: Iterable<Buffer>, secrets: readonly string[] = []): ReturnType<typeof openCapture> => {
    const opened = openCapture(join(place.path, `spool-${(files += 1)}`), createRedactor(secrets));
    for (const chunk of chunks) opened.push(chunk);
    return opened;
  };

  test('is returned whole, or as head and tail with the number of bytes between', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(90_000), { maxLength: 8 }), fc.nat(40), (sizes, secretBytes) => {
        const whole = Buffer.alloc(
          sizes.reduce((sum, size) => sum + size, 0),
          'abcdefghij',
        );
        let at = 0;
        const chunks = sizes.map((size) => whole.subarray(at, (at += size)));
        const opened = capture(chunks, secretBytes === 0 ? [] : ['#'.repeat(16 + secretBytes)]);
        const { text, bytesOmitted } = opened.excerpt(1_000_000);
        expect(opened.whole().equals(whole)).toBe(true);
        expect(opened.total()).toBe(whole.length);
        const omitted = Math.max(0, whole.length - HEAD_BYTES - TAIL_BYTES);
        const all = whole.toString();
        const cut = `${all.slice(0, HEAD_BYTES)}\n[… ${omitted} bytes left out …]\n${all.slice(-TAIL_BYTES)}`;
        expect(bytesOmitted).toBe(omitted);
        expect(text === (omitted === 0 ? all : cut)).toBe(true);
        opened.close();
      }),
      { numRuns: 40 },
    );
  });

  test('shows no part of a secret at a cut or across chunks', () => {
    const secret = 'correct-horse-battery';
    const filler = 'x'.repeat(HEAD_BYTES - 5);
    const opened = capture(
      [
        `${filler}corr`,
        `ect-horse-battery${'y'.repeat(200_000)}correct-ho`,
        `rse-battery${'z'.repeat(TAIL_BYTES - 6)}`,
      ].map((part) => Buffer.from(part)),
      [secret],
    );
    const { text } = opened.excerpt(1_000_000);
    expect(text).not.toMatch(/corr|orse|ect-|batt/);
    expect(text.match(/‹secret›/g)).toHaveLength(2);
    expect(opened.whole().toString()).not.toMatch(/corr|orse|batt/);
    opened.close();
  });

  test('is cut between characters', () => {
    const opened = capture([Buffer.from('é'.repeat(100_000))]);
    expect(opened.excerpt(1_001).text).toMatch(/^é+\n\[… \d+ bytes left out …\]\né+$/);
    opened.close();
  });

  test('is kept up to the limit, and counted above it', () => {
    const chunk = Buffer.alloc(1_048_576, 'k');
    const opened = capture(Array.from({ length: 18 }, () => chunk));
    expect(opened.whole().length).toBe(SPILL_BYTES_MAX);
    expect(opened.total()).toBe(18 * 1_048_576);
    opened.close();
  });

  test('still has head and tail when the file cannot be written', () => {
    const opened = openCapture(join(place.path, 'no-such-directory', 'spool'), createRedactor([]));
    for (const unit of 'abc') opened.push(Buffer.alloc(HEAD_BYTES, unit));
    const { text, bytesOmitted } = opened.excerpt(1_000_000);
    expect([opened.total(), bytesOmitted]).toEqual([3 * HEAD_BYTES, HEAD_BYTES]);
    expect(text).toMatch(/^a+\n\[… \d+ bytes left out …\]\nc+$/);
    expect(() => opened.whole()).toThrow('ENOENT');
    opened.close();
  });

  test('is returned once by takeNew, and not before a possible secret is complete', () => {
    const opened = capture([Buffer.from('begin tok')], ['token-1-of-sixteen']);
    expect(opened.takeNew()).toBe('begin ');
    opened.push(Buffer.from('en-1-of-sixteen end.'));
    expect(opened.takeNew()).toBe('‹secret› end.');
    expect(opened.takeNew()).toBe('');
    opened.close();
  });
});

describe('a host with secrets', () => {
  let host: TestHost;
  beforeAll(async () => {
    host = await makeHost({ 'has.txt': `before ${SECRET} after\n` }, { sandbox: 'none', secrets: [SECRET] });
  });
  afterAll(() => host.end());

  test('returns no secret from any tool: not in text, data, file names or spilled outputs', async () => {
    host.workspace.write('pass/other-file', SECRET.repeat(3_000));
    const outcomes = [
      await host.call('host.fs.read_file', { path: 'has.txt' }),
      await host.call('host.fs.read_file', { path: 'has.txt', encoding: 'bytes' }),
      await host.call('host.fs.grep', { pattern: 'bef[o]re' }),
      await host.call('host.fs.grep', { pattern: 'ä', path: 'pass' }, { outputBytesMax: 1_024 }),
      await host.call('host.exec', { argv: ['cat', 'has.txt'] }),
      await host.call('host.exec', { argv: ['cat', 'pass/other-file'] }, { outputBytesMax: 4_096 }),
      await host.call('host.fs.stat', { path: SECRET.replace('/', '') }),
    ];
    const leaks = (text: string): boolean =>
      text.includes(SECRET) || text.includes(Buffer.from(SECRET).toString('base64'));
    for (const { text, data, spill } of outcomes) {
      expect(leaks(text)).toBe(false);
      expect(leaks(JSON.stringify(data ?? {}))).toBe(false);
      expect(leaks(spill === undefined ? '' : readFileSync(spill.path, 'utf8'))).toBe(false);
    }
    expect(outcomes[2]?.text).toContain('before ‹secret› after');
    expect(outcomes[5]?.spill).toBeDefined();
    expect(Buffer.from(outcomes[1]?.text ?? '', 'base64').toString()).toBe('before ‹secret› after\n');
  });

  test('searches files without their secrets: a line is not cut in one, and no pattern finds out what it is', async () => {
    host.workspace.write('long.txt', `${'x'.repeat(490)} ${SECRET} found here\n`);
    const cut = await host.call('host.fs.grep', { pattern: 'found here', path: 'long.txt' });
    expect(cut.text).not.toContain('pä5');
    const guess = await host.call('host.fs.grep', { pattern: 'pä5', path: 'has.txt' });
    expect(guess.data).toMatchObject({ match_count: 0 });
  });

  test('refuses to write the mark of a secret back, and says what to do', async () => {
    host.workspace.write('env.txt', `KEY=${SECRET}\nMODE=fast\n`);
    const refused = [
      await host.call('host.fs.write_file', { path: 'env.txt', text: 'KEY=‹secret›\nMODE=slow\n' }),
      await host.call('host.fs.edit_file', { path: 'env.txt', old_string: 'fast', new_string: '‹secret›' }),
      await host.call('host.fs.apply_patch', {
        patch: '*** Begin Patch\n*** Add File: new.txt\n+KEY=‹secret›\n*** End Patch',
      }),
      await host.call('host.exec', { argv: ['sh', '-c', 'echo KEY=‹secret› > env.txt'] }),
      await host.call('host.exec', { argv: ['tee', 'env.txt'], stdin: 'KEY=‹secret›' }),
    ];
    for (const { code, text } of refused) {
      expect(code).toBe('secret_mark');
      expect(text).toMatch(/Edit around it|Let the command read the secret/);
    }
    const missed = await host.call('host.fs.edit_file', {
      path: 'env.txt',
      old_string: 'KEY=‹secret›',
      new_string: 'a',
    });
    expect(missed.text).toContain('choose a passage without it');
    expect(host.workspace.read('env.txt')).toBe(`KEY=${SECRET}\nMODE=fast\n`);
    expect(host.workspace.list()).not.toContain('new.txt');
    const around = await host.call('host.fs.edit_file', { path: 'env.txt', old_string: 'fast', new_string: 'slow' });
    expect(around.success).toBe(true);
    expect(host.workspace.read('env.txt')).toBe(`KEY=${SECRET}\nMODE=slow\n`);
  });

  test('a file that has the mark as text can be changed around it', async () => {
    host.workspace.write('doc.txt', 'outputs have ‹secret› in place\n');
    const edited = await host.call('host.fs.edit_file', { path: 'doc.txt', old_string: 'have', new_string: 'show' });
    expect(edited.success).toBe(true);
    expect(host.workspace.read('doc.txt')).toBe('outputs show ‹secret› in place\n');
  });
});
