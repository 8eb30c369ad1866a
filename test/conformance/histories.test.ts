// A sample of what `npm run conformance` checks in full.
import { expect, test } from 'vitest';
import { roundsOf } from '../support/random.ts';
import { checkHistory } from './histories.ts';

test('every API takes the requests of random histories and of their forks', async () => {
  let requests = 0;
  let shortened = 0;
  for (let seed = 1; seed <= roundsOf(3, 150); seed += 1) {
    const checked = await checkHistory(seed, 160);
    expect(checked.faults, `seed ${seed}`).toEqual([]);
    requests += checked.requests;
    shortened += checked.shortened;
  }
  expect(requests).toBeGreaterThan(300);
  expect(shortened).toBeGreaterThan(30);
});
