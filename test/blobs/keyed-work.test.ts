import { describe, expect, test } from 'vitest';
import { openKeyedWork } from '../../src/blobs/keyed-work.ts';

function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

describe('keyed work', () => {
  test('runs the work of one key one piece at a time, in order', async () => {
    const keyed = openKeyedWork(8);
    const log: string[] = [];
    const piece = (name: string): Promise<void> =>
      keyed.run('key', async () => {
        log.push(`${name} begins`);
        await Promise.resolve();
        log.push(`${name} ends`);
      });
    await Promise.all([piece('a'), piece('b'), piece('c')]);
    expect(log).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
  });

  test('runs no more work at a time than there are slots', async () => {
    const keyed = openKeyedWork(3);
    let running = 0;
    let most = 0;
    const work = Array.from({ length: 20 }, (_, n) =>
      keyed.run(String(n), async () => {
        running += 1;
        most = Math.max(most, running);
        await Promise.resolve();
        running -= 1;
      }),
    );
    await Promise.all(work);
    expect(most).toBe(3);
  });

  test('continues after failed work, which fails only for its own caller', async () => {
    const keyed = openKeyedWork(1);
    const failing = keyed.run('key', () => Promise.reject(new Error('broken')));
    const following = keyed.run('key', async () => 'fine');
    await expect(failing).rejects.toThrow('broken');
    expect(await following).toBe('fine');
  });

  test('settles when all work started so far has ended', async () => {
    const keyed = openKeyedWork(2);
    const { opened, open } = gate();
    let ended = false;
    const work = keyed.run('key', async () => {
      await opened;
      ended = true;
    });
    const settled = keyed.settled();
    open();
    await settled;
    expect(ended).toBe(true);
    await work;
    await keyed.settled();
  });
});
