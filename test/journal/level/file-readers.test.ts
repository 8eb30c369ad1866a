// The readers of single parts of LevelDB's files, against published vectors and malformed input.
import { Buffer } from 'node:buffer';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { must } from '../../../src/client/must.ts';
import { crc32c } from '../../../src/journal/level/crc32c.ts';
import { openLevelJournal } from '../../../src/journal/level-journal.ts';
import { readLog } from '../../../src/journal/level/log-format.ts';
import { expandSnappy } from '../../../src/journal/level/snappy.ts';
import { commitWith, createSample, idleHead, session, storedEvent } from '../../support/journal/samples.ts';
import { inTemporaryDirectory } from '../../support/journal/temporary-directory.ts';

const bytesOf = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex');

describe('the readers of LevelDB files', () => {
  test('compute the CRC-32C of RFC 3720', () => {
    expect(crc32c(Buffer.alloc(32))).toBe(0x8a9136aa);
    expect(crc32c(Buffer.alloc(32, 0xff))).toBe(0x62a8ab43);
    expect(crc32c(Buffer.from(Array.from({ length: 32 }, (_, n) => n)))).toBe(0x46dd794e);
    expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283);
    expect(crc32c(new Uint8Array())).toBe(0);
  });

  test('expand literals and copies of every kind', () => {
    const long = 'b'.repeat(100);
    const blocks: readonly [string, string][] = [
      ['00', ''],
      ['03 08 616263', 'abc'],
      // A copy of ten from one byte back repeats it.
      ['0b 00 61 1901', 'a'.repeat(11)],
      ['06 08 616263 0a0300', 'abcabc'],
      ['06 08 616263 0b03000000', 'abcabc'],
      [`64 f063 ${'62'.repeat(100)}`, long],
      [`64 f46300 ${'62'.repeat(100)}`, long],
    ];
    for (const [hex, text] of blocks) expect(expandSnappy(bytesOf(hex), 1_000).toString()).toBe(text);
  });

  test('refuse malformed compressed blocks', () => {
    const blocks = [
      '',
      '80808080808080808080 80',
      '05',
      '05 08 616263',
      '02 08 616263',
      '03 08 6162',
      '07 08 616263 0a0400',
      '07 08 616263 0a0000',
      '04 08 616263 0a0300',
      'e907 00 61',
    ];
    for (const hex of blocks) expect(() => expandSnappy(bytesOf(hex), 1_000)).toThrow(RangeError);
  });

  test('read records that span blocks of a log', () =>
    inTemporaryDirectory(async (directory) => {
      const id = session('s');
      const text = 'x'.repeat(100_000);
      const journal = await must(openLevelJournal(directory));
      await must(createSample(journal, id));
      for (let at = 0; at < 4; at += 1)
        await must(journal.append(id, [commitWith(at, [storedEvent(`e${at}`, text)])], idleHead));
      await journal.close();
      const log = (await readdir(directory)).find((name) => name.endsWith('.log')) ?? '';
      const { records, faults } = readLog(await readFile(join(directory, log)));
      expect(faults).toEqual([]);
      expect(records).toHaveLength(5);
      expect(records.slice(1).every(({ bytes }) => bytes.includes(text))).toBe(true);
    }));
});
