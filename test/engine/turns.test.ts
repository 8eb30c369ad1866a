import { expect, test } from 'vitest';
import { TURN_MS_MAX } from '../../schemas/limits.ts';
import { newPause } from '../../src/turns.ts';

test('work that waits for a later turn goes on in the order in which it began to wait', async () => {
  let ms = 0;
  const rest = newPause(() => ms);
  const order: number[] = [];
  // Each part uses up a turn.
  const work = async (index: number): Promise<void> => {
    for (let part = 0; part < 4; part += 1) {
      await rest();
      order.push(index);
      ms += 2 * TURN_MS_MAX;
    }
  };
  expect(rest()).toBe(null);
  ms += 2 * TURN_MS_MAX;
  await Promise.all([0, 1, 2, 3, 4].map(work));
  expect(order).toEqual([0, 1, 2, 3].flatMap(() => [0, 1, 2, 3, 4]));
});

test('work goes on in every turn, although other work uses each up before', async () => {
  let ms = 0;
  const rest = newPause(() => ms);
  let turns = 0;
  const useUp = (): void => {
    void rest();
    ms += 2 * TURN_MS_MAX;
    turns += 1;
    if (turns < 1_000) setImmediate(useUp);
  };
  useUp();
  for (let part = 0; part < 10; part += 1) await rest();
  expect(turns).toBeLessThan(100);
});
