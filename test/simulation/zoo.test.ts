// The bug zoo: faults as real ones would be, planted one at a time in our own engine and bridge, which the simulator
// must find. Nothing in production knows of it: functions are replaced while these tests run, or ports wrapped.
import { isLeft, right } from 'fp-ts/lib/Either.js';
import { map } from 'fp-ts/lib/TaskEither.js';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Predecessor } from '../../bridge/ledger/predecessors.ts';
import { pageOf, positionOf, slotOf } from '../../reducers/batch-index.ts';
import { type NextState, openBatchOf } from '../../reducers/next-state.ts';
import { type CallId, brand } from '../../schemas/ids.ts';
import type { ActiveToolBatch, CallState } from '../../schemas/state.ts';
import type { IngressEvent } from '../../schemas/event.ts';
import type { SessionState } from '../../schemas/state.ts';
import type { EngineClient } from '../../src/client/client.ts';
import { type EnginePorts, startEngine } from '../../src/engine/engine.ts';
import { LeaseTable } from '../../src/engine/leases.ts';
import type { JournalRecord } from '../../src/journal/journal.ts';
import type { SimulatedBridge } from '../../src/testing/index.ts';
import { type Law, type Scenario, type StartEngine, simulate } from '../../src/testing/index.ts';
import { refoldBridge } from '../support/simulation/refold-bridge.ts';

const planted = vi.hoisted(() => ({ bug: '' }));

vi.mock(import('../../reducers/batch-admission.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    admitSettled: (state, event) => {
      const refused = real.admitSettled(state, event);
      return planted.bug === 'a call is settled twice' && refused?.code === 'call_already_settled' ? null : refused;
    },
  };
});

vi.mock(import('../../reducers/batch.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    settleCall: (next, event) => {
      const call = callIn(next, event.call_id);
      if (planted.bug !== 'a call is settled twice' || call.output === null) real.settleCall(next, event);
      else putCall(next, event.call_id, { ...call, output: event.output });
    },
    loseCall: (next, event) => {
      if (planted.bug !== 'a lost call runs again') {
        real.loseCall(next, event);
        return;
      }
      const { attempt, ...call } = callIn(next, event.call_id);
      putCall(next, event.call_id, { ...call, attempt: attempt + 1, owner: null, status: 'queued' });
    },
  };
});

/** The state of a call of the open batch, which a planted bug changes. */
function callIn(next: NextState, id: CallId): CallState {
  const { batch, page, slot } = placeOf(next, id);
  return batch.pages[page]?.[slot] as CallState;
}

function putCall(next: NextState, id: CallId, call: CallState): void {
  const { batch, page, slot } = placeOf(next, id);
  const pages = batch.pages.map((calls, at) => (at === page ? calls.toSpliced(slot, 1, call) : calls));
  const moved = Number(call.status === 'queued') - Number(batch.pages[page]?.[slot]?.status === 'queued');
  next.active_tool_batch = { ...batch, pages, queued: batch.queued + moved, running: batch.running - moved };
}

function placeOf(next: NextState, id: CallId): { batch: ActiveToolBatch; page: number; slot: number } {
  const batch = openBatchOf(next);
  const position = positionOf(batch, id) ?? 0;
  return { batch, page: pageOf(position), slot: slotOf(position) };
}

vi.mock(import('../../reducers/answer-admission.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    admitConfirmation: (state, event) => {
      const refused = real.admitConfirmation(state, event);
      return planted.bug === 'an approval of other arguments' && refused?.code === 'arguments_mismatch'
        ? null
        : refused;
    },
  };
});

vi.mock(import('../../reducers/transcript.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    resultEntries: (batch) => {
      const entries = real.resultEntries(batch);
      if (planted.bug !== 'a rejected call has no result') return entries;
      const rejected = new Set(batch.plan.rejected.map(({ index }) => index));
      return entries.filter((_, index) => !rejected.has(index));
    },
  };
});

vi.mock(import('../../reducers/effective-tools.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    computeEffectiveTools: (input) => {
      const { session, run } = input.tool_overrides;
      if (planted.bug !== 'force beats deny' || session.force.length === 0) return real.computeEffectiveTools(input);
      return real.computeEffectiveTools({ ...input, tool_overrides: { run, session: { ...session, disable: [] } } });
    },
  };
});

vi.mock(import('../../reducers/planner.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    planBatch: (...given) => {
      const plan = real.planBatch(...given);
      if (planted.bug !== 'conflicts are not seen') return plan;
      const ids = plan.planned_calls.map(({ call_id }) => call_id);
      const after = Object.fromEntries(ids.map((id) => [id, []]));
      const loose = { ...plan, execution_plan: { groups: ids.length === 0 ? [] : [ids], after } };
      return { ...loose, plan_hash: real.planHash(loose) };
    },
  };
});

vi.mock(import('../../reducers/evolve.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    evolve: (state, event) => {
      if (planted.bug === 'calls are not counted') return real.evolve(uncounted(state), event);
      if (planted.bug === 'tokens are not counted') return real.evolve(unspent(state), event);
      if (planted.bug === 'an amended call is forgotten') return real.evolve(unamended(state, event), event);
      const next = real.evolve(state, event);
      if (planted.bug === 'a run has all the time it wants') return timeless(next);
      if (planted.bug === 'a fold that remembers') return Object.freeze({ ...next, updated_at_ms: folds++ });
      return planted.bug === 'a follow-up is lost' && event.kind === 'ToolBatchSettled'
        ? { ...next, follow_ups: [] }
        : next;
    },
  };
});

vi.mock(import('../../bridge/ledger/predecessors.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    claimLedgers: (disk, options) => {
      const deadly = planted.bug === 'the living are taken for dead';
      const claimed = real.claimLedgers(disk, deadly ? { ...options, isAlive: () => false } : options);
      return planted.bug === 'what was noted is not told' ? claimed.then((dead) => dead.map(endless)) : claimed;
    },
  };
});

/** The ledger of a dead bridge without how its calls ended. */
const endless = (dead: Predecessor): Predecessor => ({
  ...dead,
  entries: dead.entries.map((entry) => ({ ...entry, event: null })),
});

vi.mock(import('../../bridge/leases.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    newLeases: (options) => {
      const leases = real.newLeases(options);
      return planted.bug === 'a bridge goes on after it was held up' ? { ...leases, isFresh: () => true } : leases;
    },
  };
});

vi.mock(import('../../src/core/snapshot.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    readSnapshot: (snapshot) => {
      const state = real.readSnapshot(snapshot);
      if (state === null || planted.bug !== 'a snapshot leaves something out') return state;
      return Object.freeze({ ...state, last_tool_plan_hash: null });
    },
  };
});

vi.mock(import('../../src/engine/wakes.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    newWakes: (...given) => {
      const wakes = real.newWakes(...given);
      const known = new Set<string>();
      const asleep = new Set<string>();
      return {
        ...wakes,
        update: (session, state) => {
          if (!known.has(session) && state.version > 0) asleep.add(session);
          known.add(session);
          if (planted.bug !== 'a wake is lost at a restart' || !asleep.has(session)) wakes.update(session, state);
        },
      };
    },
  };
});

vi.mock(import('../../bridge/held-call.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    holdCall: (...given) => {
      const call = real.holdCall(...given);
      if (planted.bug === 'calls do not wait') call?.waitsFor.clear();
      return call;
    },
  };
});

vi.mock(import('../../bridge/outbox.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    newOutbox: (options) => {
      const outbox = real.newOutbox(options);
      return {
        ...outbox,
        report: (session, event) =>
          planted.bug === 'a start is not recorded' && event.kind === 'ToolCallStarted'
            ? Promise.resolve(right(undefined))
            : outbox.report(session, event),
      };
    },
  };
});

vi.mock(import('../../bridge/call-run.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    runFenced: async (run, limits) => {
      const again = planted.bug === 'a tool that threw is tried again';
      const end = await real.runFenced(again ? () => run().catch(() => run()) : run, limits);
      if (planted.bug !== 'a cancelled call succeeds' || end.outcome !== 'cancelled') return end;
      return { ...end, outcome: 'succeeded', report: { success: true, text: 'done' } };
    },
  };
});

vi.mock(import('../../bridge/plan-check.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    newPlanCheck: (readBlob) => {
      const check = real.newPlanCheck(readBlob);
      return planted.bug === 'the plan is not checked' ? { check: async (call) => right(call.arguments ?? {}) } : check;
    },
  };
});

vi.mock(import('../../bridge/recover.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    recover: (options) => {
      if (planted.bug !== 'a call is given back before its end is told') return real.recover(options);
      const { client, ledger } = options;
      const early = ledger.predecessors.map(({ owner }) => client.release({ owner, leases: [], all: true })());
      return Promise.all(early).then(() => real.recover(options));
    },
  };
});

vi.mock(import('../../bridge/executors/undo.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    undoCall: (effect, options) => {
      const restore = () => ({ success: true, text: 'put back' });
      const idle = planted.bug === 'an undo is told and not done';
      return real.undoCall(effect, idle ? { ...options, restore } : options);
    },
  };
});

vi.mock(import('../../src/engine/undo-request.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    fillUndo: (stream, request) => {
      if (planted.bug !== 'a call is undone again') return real.fillUndo(stream, request);
      const { journal } = stream;
      const read: typeof journal.read = (...given) =>
        map((records: readonly JournalRecord[]) => records.filter(({ event }) => !event.includes('"UndoSettled"')))(
          journal.read(...given),
        );
      return real.fillUndo({ ...stream, journal: { ...journal, read } }, request);
    },
  };
});

vi.mock(import('../../src/engine/owed.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    mayRest: (state) => planted.bug === 'an undo is forgotten when its session rests' || real.mayRest(state),
  };
});

let folds = 0;

/** The same state, with a run that has made no calls yet. */
const uncounted = (state: SessionState): SessionState =>
  state.run === null ? state : { ...state, run: { ...state.run, calls: 0 } };

/** The same state, with a run that has used no tokens yet. */
const unspent = (state: SessionState): SessionState =>
  state.run === null ? state : { ...state, run: { ...state.run, usage: { input_tokens: 0, output_tokens: 0 } } };

/** The same state, with a run that may take any time. */
const timeless = (state: SessionState): SessionState =>
  state.run === null ? state : { ...state, run: { ...state.run, config: { ...state.run.config, wall_ms_max: null } } };

/** The same state, without what a person had made instead. */
function unamended(state: SessionState, { kind }: IngressEvent): SessionState {
  if (kind !== 'ToolBatchSettled' || state.run === null) return state;
  const { amended: _forgotten, ...run } = state.run;
  return { ...state, run };
}

afterEach(() => {
  planted.bug = '';
  vi.restoreAllMocks();
});

interface Bug {
  /** A seed that shows it. When it does so no longer, all others are tried, and the first is printed. */
  readonly seed: number;
  readonly bridge?: SimulatedBridge;
  readonly startEngine?: StartEngine;
  readonly plant?: () => void;
}

/** Our bridge with a client that is not quite as it should be. */
const withClient =
  (change: (client: EngineClient) => Partial<EngineClient>): SimulatedBridge =>
  (world) =>
    refoldBridge({ ...world, client: { ...world.client, ...change(world.client) } });

const withPorts =
  (change: (ports: EnginePorts) => Partial<EnginePorts>): StartEngine =>
  (ports) =>
    startEngine({ ...ports, ...change(ports) });

/** Answers an append at once, and writes it behind the caller's back. */
function eagerJournal({ journal }: EnginePorts): Partial<EnginePorts> {
  let written: Promise<unknown> = Promise.resolve();
  const versions = new Map<string, number>();
  const append: typeof journal.append = (session, expected, records, owing) => async () => {
    versions.set(session, expected + records.length);
    written = written.then(() => journal.append(session, expected, records, owing)());
    return right((expected + records.length) as typeof expected);
  };
  return { journal: { ...journal, append } };
}

/** A table of leases that knows of a session only what it was told since it began. */
function forgetOwed(): void {
  const load = Object.getOwnPropertyDescriptor(LeaseTable.prototype, 'load')?.value as LeaseTable['load'];
  const seen = new WeakMap<LeaseTable, Set<string>>();
  vi.spyOn(LeaseTable.prototype, 'load').mockImplementation(function forgetting(this: LeaseTable, session, state) {
    const known = seen.get(this) ?? new Set();
    seen.set(this, known);
    if (known.has(session) || state.version === 0) load.call(this, session, state);
    known.add(session);
  });
}

/** An engine that takes a submit which is sent again for a bridge that has lost what it was given. */
function grantAnew(): void {
  const alight = Object.getOwnPropertyDescriptor(LeaseTable.prototype, 'alight')?.value as LeaseTable['alight'];
  vi.spyOn(LeaseTable.prototype, 'alight').mockImplementation(function anew(this: LeaseTable, session, asked, again) {
    if (again === true && asked !== null) this.release({ owner: asked.owner, leases: [], all: true });
    return alight.call(this, session, asked);
  });
}

let renamed = 0;

const ZOO: Readonly<Record<string, Bug>> = {
  'an answer before it is durable': { seed: 2, startEngine: withPorts(eagerJournal) },
  'a call is settled twice': { seed: 124 },
  'a report under a lost lease': {
    seed: 369,
    plant: () => void vi.spyOn(LeaseTable.prototype, 'refuseReport').mockReturnValue(null),
  },
  'leases given anew to whoever has them': { seed: 145, plant: grantAnew },
  'calls do not wait': { seed: 2 },
  'a start is not recorded': { seed: 1 },
  'a tool that threw is tried again': { seed: 22 },
  'a lost call runs again': { seed: 30 },
  'sent again under another id': {
    seed: 93,
    bridge: withClient((client) => ({
      submit: (session, request) => async () => {
        renamed += 1;
        const events = request.events.map((event) => ({
          ...event,
          event_id: brand<'EventId'>(`x-${renamed}-${event.kind}`),
        }));
        return await client.submit(session, { ...request, events })();
      },
    })),
  },
  'results in another order': {
    seed: 2,
    bridge: ({ model, ...world }) =>
      refoldBridge({
        ...world,
        model: {
          generate: (request, signal) => {
            const results = request.messages.filter(({ role }) => role === 'tool').toReversed();
            const messages = request.messages.map((message) =>
              message.role === 'tool' ? (results.shift() ?? message) : message,
            );
            return model.generate({ ...request, messages }, signal);
          },
        },
      }),
  },
  'a rejected call has no result': { seed: 1 },
  'a lease never runs out': { seed: 27, startEngine: withPorts(() => ({ leaseTtlMs: 1_000_000_000 })) },
  'a wake is lost at a restart': { seed: 264 },
  'the plan is not checked': { seed: 40 },
  'a follow-up is lost': { seed: 16 },
  'owed from memory, not from state': { seed: 287, plant: forgetOwed },
  'a report is not sent again': {
    seed: 120,
    bridge: withClient((client) => ({
      submit: (session, request) => async () => {
        const answer = await client.submit(session, request)();
        const lost = isLeft(answer) && answer.left.code === 'closing';
        return lost ? (right({ events: [] }) as unknown as typeof answer) : answer;
      },
    })),
  },
  'a cancelled call succeeds': { seed: 10 },
  'force beats deny': { seed: 319 },
  'conflicts are not seen': { seed: 1 },
  'an approval of other arguments': { seed: 30 },
  'calls are not counted': { seed: 62 },
  'tokens are not counted': { seed: 35 },
  'a run has all the time it wants': { seed: 70 },
  'an amended call is forgotten': { seed: 63 },
  'a fold that remembers': { seed: 1 },
  'the living are taken for dead': { seed: 499 },
  'what was noted is not told': { seed: 283 },
  'a call is given back before its end is told': { seed: 283 },
  'a call is undone again': { seed: 205 },
  'an undo is told and not done': { seed: 55 },
  'an undo is forgotten when its session rests': { seed: 55 },
  'a snapshot leaves something out': { seed: 181 },
  'event ids are not looked up': {
    seed: 93,
    startEngine: withPorts(({ journal }) => ({ journal: { ...journal, find: () => async () => right(null) } })),
  },
};

/** Two bridges, and nothing that goes wrong. */
const QUIET = { seed: 7, bridges: 2, files: false, snapshots: false, messages: [], disk: [] } as const;

// A process is held up between the record that it starts a call and the call itself, for longer than its lease lasts; what
// waits for the call has begun elsewhere when it comes to itself. Few seeds show it, so that one is kept without all
// that does not matter.
const HELD_UP: Scenario = {
  ...QUIET,
  sessions: [
    {
      turns: [
        [
          { tool: 'put', path: 'c', ms: 645, does: 'succeed' },
          { tool: 'free', path: 'a/x', ms: 37, does: 'large' },
          { tool: 'solo', path: 'b', ms: 2_975, does: 'throw' },
        ],
      ],
      acts: [],
      concurrency: 1,
      calls: 64,
    },
  ],
  processes: [{ atMs: 467, what: 'stall_bridge', bridge: 1, ms: 4_091 }],
};

// Likewise between the bytes it has fetched for an undo and their putting back: somebody else has undone the call when it
// comes to itself.
const UNDO_HELD_UP: Scenario = {
  ...QUIET,
  sessions: [
    {
      turns: [
        [{ tool: 'put', path: 'a', ms: 10, does: 'succeed' }],
        [{ tool: 'put', path: 'a', ms: 20, does: 'succeed' }],
      ],
      acts: [
        { atMs: 1_000, what: 'undo' },
        { atMs: 7_000, what: 'run' },
      ],
      concurrency: 1,
      calls: 64,
    },
  ],
  messages: [{ nth: 15, what: 'delay_answer', ms: 400 }],
  processes: [{ atMs: 1_200, what: 'stall_bridge', bridge: 0, ms: 5_000 }],
};

const SEEDS_MAX = 5_000;

type Found = readonly [seed: number, law: Law];

/** A seed that shows the bug, and the law it breaks. */
async function find({ seed: known, bridge = refoldBridge, startEngine: start, plant }: Bug): Promise<Found | null> {
  plant?.();
  const shows = async (seed: number): Promise<Found | null> => {
    const options = { seed, bridge, ...(start === undefined ? {} : { startEngine: start }) };
    const [violation] = (await simulate(options)).violations;
    return violation === undefined ? null : [seed, violation.law];
  };
  let found = await shows(known);
  for (let seed = 1; seed <= SEEDS_MAX && found === null; seed += 1) found = await shows(seed);
  return found;
}

describe('the simulator finds', () => {
  test.each(Object.entries(ZOO))('%s', { timeout: 600_000 }, async (name, bug) => {
    planted.bug = name;
    const found = await find(bug);
    expect(found).not.toBeNull();
    if (found !== null) process.stdout.write(`zoo: ${name}: seed ${found[0]}, ${found[1]}\n`);
  });

  test.each([
    ['a call', HELD_UP, 'no conflicting calls overlap'],
    ['an undo', UNDO_HELD_UP, 'leases are fenced'],
  ] as const)('a bridge that goes on with %s after it was held up', async (_what, scenario, law) => {
    expect((await simulate({ scenario, bridge: refoldBridge })).violations).toEqual([]);
    planted.bug = 'a bridge goes on after it was held up';
    const [violation] = (await simulate({ scenario, bridge: refoldBridge })).violations;
    expect(violation?.law).toBe(law);
  });

  test('nothing when nothing is planted, at the same seeds', async () => {
    for (const { seed } of Object.values(ZOO)) {
      expect((await simulate({ seed, bridge: refoldBridge })).violations, `seed ${seed}`).toEqual([]);
    }
  });
});
