import { constants } from 'node:os';
import { describe, expect, test } from 'vitest';
import { codeOf, fileFailure, reasonOf, storageCode, whatFailed } from '../../src/files/file-failure.ts';

const thrown = (code: string, message: string): Error => Object.assign(new Error(message), { code, syscall: 'write' });

describe('what the file system throws', () => {
  test.each([
    ['ENOSPC', 'ENOSPC: no space left on device, write', 'storage_full'],
    ['EDQUOT', 'EDQUOT: disk quota exceeded, write', 'storage_full'],
    ['EIO', 'EIO: i/o error, write', 'storage_failed'],
  ])('becomes a rejection: %s', (code, message, expected) => {
    expect(fileFailure('writing', thrown(code, message))).toEqual({
      code: expected,
      path: '',
      message: `writing: ${message}`,
    });
  });

  test.each([
    ['EACCES: permission denied, open', 'run it as the user whose files these are'],
    ['IO error: /data/LOCK: Permission denied', 'run it as the user whose files these are'],
    [
      'EROFS: read-only file system, mkdir',
      'even what only reads needs a directory that can be written: work on a copy',
    ],
    [
      'IO error: /data/LOCK: Read-only file system',
      'even what only reads needs a directory that can be written: work on a copy',
    ],
  ])('says what to do where no disk is at fault: %s', (message, remedy) => {
    expect(fileFailure('opening', thrown('EACCES', message)).message).toBe(`opening: ${message}; ${remedy}`);
  });

  test('is told from what is a fault of ours, which is thrown again', () => {
    const ours = new TypeError('ours');
    expect(codeOf(ours)).toBeNull();
    expect(() => fileFailure('writing', ours)).toThrow(ours);
  });

  test('is known as LevelDB words it', () => {
    expect(storageCode('IO error: /data/000005.log: No space left on device')).toBe('storage_full');
    expect(storageCode('IO error: /data/000005.log: Disk quota exceeded')).toBe('storage_full');
    expect(storageCode('IO error: /data/LOCK: Resource temporarily unavailable')).toBe('storage_failed');
  });
});

describe('why a file could not be used', () => {
  const failed = (code: keyof typeof constants.errno, message = `${code}: as Node has it, open '/x'`): Error =>
    Object.assign(thrown(code, message), { errno: -constants.errno[code] });

  test.each([
    ['ENOENT', 'no such file'],
    ['EISDIR', 'it is a folder'],
    ['ENOTDIR', 'a part of its path is no folder'],
    ['EEXIST', 'it is there already'],
    ['EACCES', 'permission denied'],
    ['ENOSPC', 'no space left on device'],
    ['EROFS', 'read-only file system'],
  ] as const)('is told in plain words: %s', (code, words) => {
    expect(reasonOf(failed(code))).toBe(words);
  });

  test('is told in the words of whoever asks, where those know better', () => {
    expect(reasonOf(failed('ENOENT'), { ENOENT: 'no such folder' })).toBe('no such folder');
    expect(reasonOf(failed('EISDIR'), { ENOENT: 'no such folder' })).toBe('it is a folder');
  });

  test('is told with the file, for those who have not named it', () => {
    expect(whatFailed(Object.assign(failed('EACCES'), { path: '/x' }))).toBe('/x: permission denied');
    expect(whatFailed(failed('EISDIR'))).toBe('it is a folder');
    expect(whatFailed(new TypeError('ours'))).toBe('ours');
  });

  test('is what an error says that is not of the platform, and anything that is thrown', () => {
    expect(reasonOf(new TypeError('ours'))).toBe('ours');
    expect(reasonOf(thrown('ENOENT', 'no directory can be made here'))).toBe('no directory can be made here');
    expect(reasonOf('gone')).toBe('gone');
  });
});
