import { right } from 'fp-ts/lib/Either.js';
import { expect, test } from 'vitest';
import { newHeldLeases } from '../../../bridge/engine-link/held-leases.ts';
import { newSubmitGrants } from '../../../bridge/engine-link/submit-grants.ts';
import type { Ingress } from '../../../schemas/event.ts';
import { brand } from '../../../schemas/ids.ts';
import { LEASES_HELD_MAX, LEASE_EFFECTS_MAX, SUBMIT_GRANT_EFFECTS_MIN } from '../../../schemas/limits.ts';
import type { EngineClient } from '../../../src/client/client.ts';
import type { LeaseGrant } from '../../../schemas/wire.ts';
import { newVirtualClock } from '../../support/bridge/virtual-clock.ts';

const batchSettled = { kind: 'ToolBatchSettled' } as Ingress;
const observed = (calls: number): Ingress =>
  ({ kind: 'ToolCallsObserved', calls: Array.from({ length: calls }, () => ({})) }) as unknown as Ingress;

function setUp() {
  const stop = new AbortController();
  const clock = newVirtualClock();
  const leases = newHeldLeases({
    client: { release: () => () => Promise.resolve(right({ lost: [] })) } as unknown as EngineClient,
    owner: brand('b'),
    clock,
    log: () => undefined,
  });
  const grants: LeaseGrant[] = [];
  const ages: number[] = [];
  const submitGrants = newSubmitGrants({
    clock,
    leases,
    wanted: (max) => ({ kinds: [], tools: [], max }),
    signal: stop.signal,
    onGrants: (received) => {
      grants.push(...received.map(({ grant }) => grant));
      ages.push(...received.map(({ askedAtMs }) => clock.now() - askedAtMs));
    },
  });
  return { stop, clock, leases, submitGrants, grants, ages };
}

test('only reports that continue a turn request effects, and as many as may follow from them', () => {
  const { submitGrants } = setUp();
  expect(submitGrants.ask([{ kind: 'ToolCallStarted' } as Ingress, { kind: 'ToolCallSettled' } as Ingress])).toBeNull();
  expect(submitGrants.ask([batchSettled])?.max).toBe(SUBMIT_GRANT_EFFECTS_MIN);
  expect(submitGrants.ask([observed(50)])?.max).toBe(50);
  expect(submitGrants.ask([observed(1_000)])?.max).toBe(LEASE_EFFECTS_MAX);
});

test('capacity is reserved for all requests until they are answered', () => {
  const { submitGrants, leases } = setUp();
  const asked = [];
  for (let one = submitGrants.ask([observed(100)]); one !== null; one = submitGrants.ask([observed(100)]))
    asked.push(one);
  expect(asked.reduce((sum, { max }) => sum + max, 0)).toBe(LEASES_HELD_MAX);
  expect(leases.capacity()).toBe(0);
  for (const one of asked) submitGrants.answered(one);
  expect(leases.capacity()).toBe(LEASES_HELD_MAX);
});

test('received grants are passed on later, together, and their capacity is reserved until then', async () => {
  const { submitGrants, leases, grants } = setUp();
  const grant: LeaseGrant = { effects: [], epochs: [], plans: [], ttl_ms: 1 };
  for (const count of [10, 20]) {
    const asked = submitGrants.ask([observed(count)]);
    if (asked !== null) submitGrants.answered(asked, grant);
  }
  expect({ grants, capacity: leases.capacity() }).toEqual({ grants: [], capacity: LEASES_HELD_MAX - 30 });
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  expect({ grants, capacity: leases.capacity() }).toEqual({ grants: [grant, grant], capacity: LEASES_HELD_MAX });
});

test('the age of a grant counts from the last request for it', async () => {
  const { submitGrants, clock, grants, ages } = setUp();
  const grant: LeaseGrant = { effects: [], epochs: [], plans: [], ttl_ms: 1_000 };
  for (const again of [false, true]) {
    const asked = submitGrants.ask([batchSettled]);
    if (asked === null) throw new Error('nothing was requested');
    submitGrants.sent(asked);
    let later = false;
    clock.after(1_000, () => {
      later = true;
    });
    await clock.until(() => later);
    if (again) submitGrants.sent(asked);
    submitGrants.answered(asked, grant);
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  expect({ grants, ages }).toEqual({ grants: [grant, grant], ages: [1_000, 0] });
});

test('a bridge that stops requests nothing', () => {
  const { submitGrants, stop } = setUp();
  stop.abort();
  expect(submitGrants.ask([observed(5)])).toBeNull();
});
