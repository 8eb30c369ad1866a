// Grantable effects are found, and a session without any for a request is not searched again for it.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type OwnerId, type SessionId, type SessionState, brand, limits } from '../../schemas/index.ts';
import type { LeaseRequest } from '../../schemas/wire.ts';
import { must } from '../../src/client/must.ts';
import { effects } from '../../src/core/index.ts';
import { newMemoryEpochs, openEpochs } from '../../src/engine/leases/epochs.ts';
import { LeaseTable } from '../../src/engine/leases/lease-table.ts';
import { neverPause } from '../../src/turns.ts';
import { newVirtualClock } from '../support/engine/virtual-clock.ts';
import { leaseRequest } from '../support/engine/world.ts';
import { roundsOf } from '../support/random.ts';
import { call, session } from '../support/session.ts';

const newTable = async (): Promise<LeaseTable> =>
  new LeaseTable({
    clock: newVirtualClock(),
    epochs: await openEpochs(newMemoryEpochs()),
    ttlMs: 1_000,
    pause: neverPause,
    onCallLost: () => undefined,
    onAnswerLost: () => undefined,
  });

const idOf = (index: number): SessionId => brand<'SessionId'>(`s-${index}`);

/** A session that owes a generate. */
const generating = (index: number) => session({ session_id: `s-${index}` }).runRequested();

/** A request that counts the effects it is compared with. */
function counting(rest: Partial<LeaseRequest>): { readonly request: LeaseRequest; readonly comparisons: () => number } {
  let comparisons = 0;
  const kinds = [...(rest.kinds ?? [])];
  const includes = kinds.includes.bind(kinds);
  kinds.includes = (kind) => {
    comparisons += 1;
    return includes(kind);
  };
  const request = leaseRequest(brand<'OwnerId'>('bridge-a'), { ...rest, kinds });
  return {
    request,
    comparisons: () => {
      const since = comparisons;
      comparisons = 0;
      return since;
    },
  };
}

describe('grantable sessions', () => {
  test('are searched once for a request they have nothing for, until something in them becomes grantable', async () => {
    const table = await newTable();
    for (let index = 0; index < 50; index += 1) table.load(idOf(index), generating(index).state);
    const { request, comparisons } = counting({ kinds: ['tool.call'] });
    expect((await must(async () => await table.lease(request))).effects).toEqual([]);
    expect(comparisons()).toBe(50);
    expect((await must(async () => await table.lease({ ...request }))).effects).toEqual([]);
    expect(comparisons()).toBe(0);
    const observed = generating(7).observed([call('a', 'free')]);
    table.update(idOf(7), observed.state, observed.events.slice(-1));
    expect((await must(async () => await table.lease(request))).effects).toHaveLength(1);
    expect(comparisons()).toBe(1);
    table.close();
  });

  test('are remembered for a bounded number of recent requests', async () => {
    const table = await newTable();
    for (let index = 0; index < 5; index += 1) table.load(idOf(index), generating(index).state);
    const first = counting({ kinds: ['tool.call'], tools: ['none'] });
    await must(async () => await table.lease(first.request));
    for (let other = 0; other < limits.LEASE_REQUESTS_KEPT; other += 1) {
      const { request, comparisons } = counting({ kinds: ['tool.call'], tools: [`other-${other}`] });
      await must(async () => await table.lease(request));
      expect(comparisons()).toBe(5);
    }
    first.comparisons();
    await must(async () => await table.lease(first.request));
    expect(first.comparisons()).toBe(5);
    table.close();
  });
});

/** Successive states of a session, each with effects in common with the next. */
function states(index: number): readonly SessionState[] {
  const run = generating(index);
  const made = run.observed([call('a', 'free'), call('b', 'once'), call('c', 'free')]);
  const settled = made.settled('a');
  const started = settled.started('b', 'bridge-0');
  return [run, run.paused(), made, made.paused(), settled, started, started.cancelled()].map(({ state }) => state);
}
const SESSIONS = Array.from({ length: 4 }, (_, index) => states(index));

const REQUESTS: readonly Partial<LeaseRequest>[] = [
  { kinds: ['llm.generate'] },
  { kinds: ['tool.call'], tools: ['free'] },
  { kinds: ['tool.call', 'tool.cancel'], tools: ['on*'] },
  {},
];

test('a request is granted every effect that is free, whatever other requests found', async () => {
  const loads = fc.record({ session: fc.nat(3), state: fc.nat(6) });
  const asks = fc.record({ owner: fc.nat(2), request: fc.nat(3), max: fc.constantFrom(1, 2, 256) });
  const releases = fc.record({ release: fc.nat(2) });
  const ownerOf = (index: number): OwnerId => brand<'OwnerId'>(`bridge-${index}`);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(loads, asks, releases), { maxLength: 25 }), async (steps) => {
      const table = await newTable();
      const now = new Map<SessionId, SessionState>();
      const at = new Map<number, number>();
      const held = new Map<string, OwnerId>();
      for (const step of steps) {
        if ('session' in step) {
          const reached = Math.max(step.state, at.get(step.session) ?? 0);
          const state = SESSIONS[step.session]?.[reached] as SessionState;
          at.set(step.session, reached);
          now.set(idOf(step.session), state);
          table.load(idOf(step.session), state);
        } else if ('release' in step) {
          table.release({ owner: ownerOf(step.release), leases: [], all: true });
          for (const [id, owner] of held) if (owner === ownerOf(step.release)) held.delete(id);
        } else {
          const owner = ownerOf(step.owner);
          const request = leaseRequest(owner, { ...REQUESTS[step.request], max: step.max });
          const granted = await must(async () => await table.lease(request));
          const free = freeIn(now, held, request);
          expect(granted.effects).toHaveLength(Math.min(step.max, free.length));
          for (const { session_id, effect_id } of granted.effects) {
            expect(free).toContain(`${session_id} ${effect_id}`);
            held.set(`${session_id} ${effect_id}`, owner);
          }
        }
        forgetOver(now, held);
      }
      table.close();
    }),
    { numRuns: roundsOf(200, 4_000) },
  );
});

/** The effects that fit a request and that no bridge holds: by the definition. */
function freeIn(
  now: ReadonlyMap<SessionId, SessionState>,
  held: ReadonlyMap<string, OwnerId>,
  { owner, kinds, tools }: LeaseRequest,
): readonly string[] {
  const fits = (tool: string): boolean =>
    tools.some((name) => (name.endsWith('*') ? tool.startsWith(name.slice(0, -1)) : tool === name));
  return [...now.values()].flatMap((state) =>
    effects(state).flatMap((effect) => {
      const id = `${effect.session_id} ${effect.effect_id}`;
      if (effect.kind === 'wake' || !(kinds as readonly string[]).includes(effect.kind)) return [];
      if (effect.kind === 'tool.call' && (!fits(effect.tool_id) || isRunning(state, effect.call_id))) return [];
      if (effect.kind === 'tool.cancel' && effect.owner !== owner) return [];
      return held.has(id) ? [] : [id];
    }),
  );
}

/** A started call is held by its owner. */
const isRunning = (state: SessionState, id: string): boolean => {
  const batch = state.active_tool_batch;
  const at = batch?.observed.findIndex(({ call_id }) => call_id === id) ?? -1;
  return batch?.pages.flat()[at]?.status === 'running';
};

/** Ends the hold of effects that are no longer owed, except those that a paused run will owe again. */
function forgetOver(now: ReadonlyMap<SessionId, SessionState>, held: Map<string, OwnerId>): void {
  for (const state of now.values()) {
    if (state.run?.phase.startsWith('paused_') === true) continue;
    const owed = new Set(effects(state).map((effect) => `${effect.session_id} ${effect.effect_id}`));
    for (const id of held.keys()) if (id.startsWith(`${state.session_id} `) && !owed.has(id)) held.delete(id);
  }
}
