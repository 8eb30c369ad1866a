import { constants } from 'node:os';
import { describe, expect, test } from 'vitest';
import { codeOf, fileFailure, reasonOf, storageCode, whatFailed } from '../../src/files/file-failure.ts';

const thrown = (code: string, message: string): Error => Object.assign(new Error(message), { code, syscall: 'write' });

describe('an error of the file system', () => {
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
    ['EACCES: permission denied, open', 'run it as the user that owns these files'],
    ['IO error: /data/LOCK: Permission denied', 'run it as the user that owns these files'],
    ['EROFS: read-only file system, mkdir', 'even a read needs a writable directory: work on a copy'],
    ['IO error: /data/LOCK: Read-only file system', 'even a read needs a writable directory: work on a copy'],
  ])('names a remedy when the disk is not at fault: %s', (message, remedy) => {
    expect(fileFailure('opening', thrown('EACCES', message)).message).toBe(`opening: ${message}; ${remedy}`);
  });

  test('is distinguished from an internal error, which is thrown again', () => {
    const internal = new TypeError('internal');
    expect(codeOf(internal)).toBeNull();
    expect(() => fileFailure('writing', internal)).toThrow(internal);
  });

  test('is recognised in the wording of LevelDB', () => {
    expect(storageCode('IO error: /data/000005.log: No space left on device')).toBe('storage_full');
    expect(storageCode('IO error: /data/000005.log: Disk quota exceeded')).toBe('storage_full');
    expect(storageCode('IO error: /data/LOCK: Resource temporarily unavailable')).toBe('storage_failed');
  });
});

describe('the reason of a failure', () => {
  const failed = (code: keyof typeof constants.errno, message = `${code}: as Node has it, open '/x'`): Error =>
    Object.assign(thrown(code, message), { errno: -constants.errno[code] });

  test.each([
    ['ENOENT', 'no such file'],
    ['EISDIR', 'it is a directory'],
    ['ENOTDIR', 'a part of its path is not a directory'],
    ['EEXIST', 'it exists already'],
    ['EACCES', 'permission denied'],
    ['ENOSPC', 'no space left on device'],
    ['EROFS', 'read-only file system'],
  ] as const)('is given in plain words: %s', (code, words) => {
    expect(reasonOf(failed(code))).toBe(words);
  });

  test('uses the words of the caller where it passes some', () => {
    expect(reasonOf(failed('ENOENT'), { ENOENT: 'no such directory' })).toBe('no such directory');
    expect(reasonOf(failed('EISDIR'), { ENOENT: 'no such directory' })).toBe('it is a directory');
  });

  test('names the file, for a caller that has not named it', () => {
    expect(whatFailed(Object.assign(failed('EACCES'), { path: '/x' }))).toBe('/x: permission denied');
    expect(whatFailed(failed('EISDIR'))).toBe('it is a directory');
    expect(whatFailed(new TypeError('internal'))).toBe('internal');
  });

  test('is the message of any other error, and the text of anything else that is thrown', () => {
    expect(reasonOf(new TypeError('internal'))).toBe('internal');
    expect(reasonOf(thrown('ENOENT', 'cannot create it here'))).toBe('cannot create it here');
    expect(reasonOf('gone')).toBe('gone');
  });
});
