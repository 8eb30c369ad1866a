import { describe, expect, it } from 'vitest';
import { codeOf, fileFailure, storageCode } from '../../src/journal/file-failure.ts';

const thrown = (code: string, message: string): Error => Object.assign(new Error(message), { code, syscall: 'write' });

describe('what the file system throws', () => {
  it.each([
    ['ENOSPC', 'ENOSPC: no space left on device, write', 'storage_full'],
    ['EDQUOT', 'EDQUOT: disk quota exceeded, write', 'storage_full'],
    ['EIO', 'EIO: i/o error, write', 'storage_failed'],
    ['EACCES', 'EACCES: permission denied, open', 'storage_failed'],
  ])('becomes a rejection: %s', (code, message, expected) => {
    expect(fileFailure('writing', thrown(code, message))).toEqual({
      code: expected,
      path: '',
      message: `writing: ${message}`,
    });
  });

  it('is told from what is a fault of ours, which is thrown again', () => {
    const ours = new TypeError('ours');
    expect(codeOf(ours)).toBeNull();
    expect(() => fileFailure('writing', ours)).toThrow(ours);
  });

  it('is known as LevelDB words it', () => {
    expect(storageCode('IO error: /data/000005.log: No space left on device')).toBe('storage_full');
    expect(storageCode('IO error: /data/000005.log: Disk quota exceeded')).toBe('storage_full');
    expect(storageCode('IO error: /data/LOCK: Resource temporarily unavailable')).toBe('storage_failed');
  });
});
