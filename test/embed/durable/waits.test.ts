import { expect, test } from 'vitest';
import { newWaits } from '../../../embed/durable/waits.ts';

test('an error of what is waited for ends that wait alone, and never reaches what has changed', async () => {
  const { until, look } = newWaits();
  let found: string | undefined;
  let isTaken = false;
  const refused = until((): string | undefined => {
    if (isTaken) throw new Error('taken');
    return undefined;
  });
  const other = until(() => found);
  isTaken = true;
  expect(look).not.toThrow();
  await expect(refused).rejects.toThrow('taken');
  found = 'here';
  look();
  expect(await other).toBe('here');
});

test('a wait whose first look throws does not look again', async () => {
  const { until, look } = newWaits();
  let looks = 0;
  const wait = until(() => {
    looks += 1;
    throw new Error('over');
  });
  await expect(wait).rejects.toThrow('over');
  look();
  expect(looks).toBe(1);
});

test('a failure ends the waits that find nothing, now and later, with the first error', async () => {
  const { until, fail } = newWaits();
  const wait = until(() => undefined);
  fail(new Error('first'));
  fail(new Error('second'));
  await expect(wait).rejects.toThrow('first');
  await expect(until(() => undefined)).rejects.toThrow('first');
  expect(await until(() => 'recorded')).toBe('recorded');
});

test('an abort ends a wait with its reason, whatever could be found', async () => {
  const { until } = newWaits();
  const stop = new AbortController();
  const wait = until(() => undefined, stop.signal);
  stop.abort(new Error('stopped'));
  await expect(wait).rejects.toThrow('stopped');
  await expect(until(() => 'recorded', stop.signal)).rejects.toThrow('stopped');
});

test('a turn of 1,024 calls: each wait looks when it begins and when its own call has changed', async () => {
  const { until, look } = newWaits();
  const over = new Set<string>();
  let looks = 0;
  const keys = Array.from({ length: 1_024 }, (_, index) => `1 run-1-1-${index}`);
  const all = keys.map((key) =>
    until(
      () => {
        looks += 1;
        return over.has(key) ? key : undefined;
      },
      undefined,
      key,
    ),
  );
  for (const key of keys) {
    look([key]);
    over.add(key);
    look([key]);
  }
  expect(await Promise.all(all)).toEqual(keys);
  expect(looks).toBe(3 * 1_024);
});

test('a wait with a key looks for a change of anything, too', async () => {
  const { until, look } = newWaits();
  let isOver = false;
  const wait = until(() => (isOver ? true : undefined), undefined, 'call');
  isOver = true;
  look();
  expect(await wait).toBe(true);
});
