// Leases in slices: other work goes on between two sessions of a search, and no request loses, keeps or takes anything by it.
// The work of a request is bounded, whatever it asks for and whatever is stored.
import * as fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { type Content, type OwnerId, type SessionId, type SessionState, brand, limits } from '../../schemas/index.ts';
import { freezeJson } from '../../schemas/json.ts';
import type { LeaseGrant, LeaseRequest } from '../../schemas/wire.ts';
import { must } from '../../src/client/must.ts';
import { newMemoryEpochs, openEpochs } from '../../src/engine/leases/epochs.ts';
import { LeaseTable } from '../../src/engine/leases/lease-table.ts';
import { newToolMatcher } from '../../src/engine/leases/wanted-effects.ts';
import { grantParts } from '../../src/server/receipt-text.ts';
import { type Pause, neverPause } from '../../src/turns.ts';
import { newVirtualClock, rest } from '../support/engine/virtual-clock.ts';
import { leaseRequest } from '../support/engine/world.ts';
import { call, session } from '../support/session.ts';

const A = brand<'OwnerId'>('bridge-a');
const B = brand<'OwnerId'>('bridge-b');
const idOf = (index: number): SessionId => brand<'SessionId'>(`s-${index}`);
const generating = (index: number) => session({ session_id: `s-${index}` }).runRequested();

const newTable = async (pause: Pause): Promise<LeaseTable> =>
  new LeaseTable({
    clock: newVirtualClock(),
    epochs: await openEpochs(newMemoryEpochs()),
    ttlMs: 1_000,
    pause,
    onCallLost: () => undefined,
    onAnswerLost: () => undefined,
  });

/** Pauses each time; what is set as `meanwhile` happens once, in the pause of that number. */
function pausing(): { readonly pause: Pause; readonly at: (pause: number, meanwhile: () => void) => void } {
  const planned = new Map<number, () => void>();
  let pauses = 0;
  return {
    at: (pause, meanwhile) => void planned.set(pauses + pause, meanwhile),
    pause: () => {
      pauses += 1;
      return Promise.resolve(planned.get(pauses)?.());
    },
  };
}

async function tableOf(
  count: number,
): Promise<{ readonly table: LeaseTable; readonly at: ReturnType<typeof pausing>['at'] }> {
  const { pause, at } = pausing();
  const table = await newTable(pause);
  for (let index = 0; index < count; index += 1) table.load(idOf(index), generating(index).state);
  return { table, at };
}

const sessionsOf = ({ effects }: LeaseGrant): readonly string[] => effects.map(({ session_id }) => session_id);
const ask = (table: LeaseTable, owner: OwnerId, given: Partial<LeaseRequest> = {}, signal?: AbortSignal) =>
  must(() => table.lease(leaseRequest(owner, given), signal));

describe('a search that pauses', () => {
  test('grants every effect to one of two requests that search at the same time', async () => {
    const { table } = await tableOf(20);
    const [first, second] = await Promise.all([ask(table, A), ask(table, B)]);
    expect([...sessionsOf(first), ...sessionsOf(second)].sort()).toEqual(
      Array.from({ length: 20 }, (_, index) => `s-${index}`).sort(),
    );
    table.close();
  });

  test('does not miss what becomes owed in a session that it has passed', async () => {
    const { table, at } = await tableOf(5);
    const observed = generating(0).observed([call('a', 'free')]);
    at(4, () => table.update(idOf(0), observed.state, observed.events.slice(-1)));
    const granted = await ask(table, A, { kinds: ['tool.call'], tools: ['free'], wait_ms: 20_000 });
    expect(sessionsOf(granted)).toEqual(['s-0']);
    table.close();
  });

  test('does not miss what becomes owed at any moment between its search and its wait', async () => {
    const missed: number[] = [];
    for (let moment = 0; moment < 40; moment += 1) {
      const { table } = await tableOf(0);
      const asked = ask(table, A, { wait_ms: 20_000 });
      for (let passed = 0; passed < moment; passed += 1) await Promise.resolve();
      table.load(idOf(1), generating(1).state);
      await rest();
      // What it was not granted by now, it would be granted by no end of the table.
      table.close();
      if (sessionsOf(await asked).length === 0) missed.push(moment);
    }
    expect(missed).toEqual([]);
  });

  test('leaves nothing held when the request is aborted or its owner released meanwhile', async () => {
    const { table, at } = await tableOf(5);
    const gone = new AbortController();
    at(3, () => gone.abort());
    expect(sessionsOf(await ask(table, A, {}, gone.signal))).toEqual([]);
    expect(table.counts().held).toBe(0);
    at(3, () => table.release({ owner: A, leases: [], all: true }));
    expect(sessionsOf(await ask(table, A))).toEqual([]);
    expect(table.counts().held).toBe(0);
    expect(sessionsOf(await ask(table, B))).toHaveLength(5);
    table.close();
  });

  test('serves a request that waits before one that comes during its round', async () => {
    const { table, at } = await tableOf(0);
    const waiting = ask(table, A, { wait_ms: 20_000 });
    await rest();
    const late: Promise<LeaseGrant>[] = [];
    at(1, () => void late.push(ask(table, B)));
    table.load(idOf(1), generating(1).state);
    expect(sessionsOf(await waiting)).toEqual(['s-1']);
    expect((await Promise.all(late)).map(sessionsOf)).toEqual([[]]);
    table.close();
  });
});

describe('the work of a request', () => {
  test('compares its patterns once with each tool, whatever the number of calls', async () => {
    const table = await newTable(neverPause);
    const calls = Array.from({ length: 400 }, (_, index) => call(`c-${index}`, 'free', { index }));
    table.load(idOf(0), generating(0).observed(calls).state);
    const tools = Array.from({ length: 512 }, (_, index) => `${'x'.repeat(100)}${index}*`);
    const request = leaseRequest(A, { kinds: ['tool.call'], tools });
    // What is owed is derived first.
    await must(() => table.lease(leaseRequest(A, { kinds: ['tool.call'], tools: ['none'] })));
    const starts = vi.spyOn(String.prototype, 'startsWith');
    const slices = vi.spyOn(String.prototype, 'slice');
    await must(() => table.lease(request));
    const compared = starts.mock.calls.length + slices.mock.calls.length;
    vi.restoreAllMocks();
    expect(compared).toBeLessThan(2 * tools.length);
    table.close();
  });

  test('is small for a waiting request when a session changes that has nothing for it', async () => {
    const table = await newTable(neverPause);
    const calls = Array.from({ length: 400 }, (_, index) => call(`c-${index}`, 'free', { index }));
    let comparisons = 0;
    const kinds: LeaseRequest['kinds'][number][] = ['tool.call'];
    const includes = kinds.includes.bind(kinds);
    kinds.includes = (kind) => {
      comparisons += 1;
      return includes(kind);
    };
    const waiting = ask(table, A, { kinds, tools: ['other'], wait_ms: 20_000 });
    await rest();
    comparisons = 0;
    table.load(idOf(0), generating(0).observed(calls).state);
    await rest();
    expect(comparisons).toBeGreaterThan(0);
    expect(comparisons).toBeLessThan(5);
    table.release({ owner: A, leases: [], all: true });
    expect(sessionsOf(await waiting)).toEqual([]);
    table.close();
  });
});

test('the matcher of tool patterns agrees with its definition', () => {
  const id = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 4 });
  fc.assert(
    fc.property(fc.array(id), fc.array(id), (patterns, tools) => {
      const matches = newToolMatcher(patterns);
      for (const tool of [...tools, ...tools]) {
        const defined = patterns.some(
          (one) => one === tool || (one.endsWith('*') && tool.startsWith(one.slice(0, -1))),
        );
        expect(matches(tool)).toBe(defined);
      }
    }),
  );
});

describe('a grant', () => {
  const SESSIONS = 30;

  /** A session that owes a generate over a long open page. */
  function longTalk(index: number, chars: number): SessionState {
    const { state } = generating(index);
    const content: Content = { text: 'x'.repeat(4_000) };
    const open = Array.from({ length: Math.ceil(chars / 4_000) }, () => ({ role: 'user' as const, content }));
    return freezeJson({ ...state, transcript: { ...state.transcript, open, count: open.length } });
  }

  test(`has about ${limits.GRANT_CHARS_MAX} characters at most, and the rest is granted next`, async () => {
    const table = await newTable(neverPause);
    for (let index = 0; index < SESSIONS; index += 1) table.load(idOf(index), longTalk(index, 400_000));
    const seen: string[] = [];
    for (let requests = 0; requests < SESSIONS && seen.length < SESSIONS; requests += 1) {
      const grant = await ask(table, A);
      expect(grant.effects.length).toBeGreaterThan(0);
      const chars = Array.from(grantParts(grant)).reduce((sum, part) => sum + part.length, 0);
      expect(chars).toBeLessThan(limits.GRANT_CHARS_MAX);
      expect(grant.epochs).toHaveLength(grant.effects.length);
      seen.push(...sessionsOf(grant));
    }
    expect([...seen].sort()).toEqual(Array.from({ length: SESSIONS }, (_, index) => `s-${index}`).sort());
    table.close();
  });

  test('has one effect at least, however large', async () => {
    const table = await newTable(neverPause);
    table.load(idOf(0), longTalk(0, limits.GRANT_CHARS_MAX));
    table.load(idOf(1), longTalk(1, limits.GRANT_CHARS_MAX));
    expect(sessionsOf(await ask(table, A))).toEqual(['s-0']);
    expect(sessionsOf(await ask(table, A))).toEqual(['s-1']);
    table.close();
  });
});
