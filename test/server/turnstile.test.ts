// Who enters and who waits, whatever order they leave in.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { newTurnstile } from '../../src/server/turnstile.ts';

test('at most so many are inside, those who wait enter in their order, and all get in', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 3 }), fc.array(fc.nat(20), { maxLength: 12 }), async (max, picks) => {
      const turnstile = newTurnstile(max);
      const entered: number[] = [];
      const inside: (() => void)[] = [];
      picks.forEach((_, index) => {
        void (async () => {
          const leave = await turnstile.enter();
          entered.push(index);
          inside.push(leave);
        })();
      });
      for (const pick of picks) {
        await settle();
        expect(inside.length).toBe(Math.min(max, picks.length - (entered.length - inside.length)));
        const [leave] = inside.splice(pick % inside.length, 1);
        leave?.();
        // Twice is once.
        leave?.();
      }
      await settle();
      expect(entered).toEqual(picks.map((_, index) => index));
      expect(inside).toEqual([]);
    }),
  );
});

/** Until every promise that can resolve has. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}
