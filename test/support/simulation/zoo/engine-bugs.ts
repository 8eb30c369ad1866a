// Bugs in the engine: in its functions, its lease table and its ports.
import { right } from 'fp-ts/lib/Either.js';
import { map } from 'fp-ts/lib/TaskEither.js';
import { vi } from 'vitest';
import { type EnginePorts, startEngine } from '../../../../src/engine/engine.ts';
import { SessionTimes } from '../../../../src/engine/edge/session-times.ts';
import { LeaseTable } from '../../../../src/engine/leases/lease-table.ts';
import type { JournalCommit, Wake } from '../../../../src/journal/journal.ts';
import type { Version } from '../../../../schemas/ids.ts';
import type { Rejection } from '../../../../schemas/rejection.ts';
import { versionAfter } from '../../../../schemas/record.ts';
import type { StartEngine } from '../../../../src/testing/index.ts';
import { type Bugs, planted } from './planted.ts';

vi.mock(import('../../../../src/core/snapshot.ts'), async (load) => {
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

vi.mock(import('../../../../src/clock.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    steadyClock: (clock) => (planted.bug === 'waits follow a clock that is set back' ? clock : real.steadyClock(clock)),
  };
});

vi.mock(import('../../../../src/engine/append/undo-request.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    fillUndo: (stream, request) => {
      if (planted.bug !== 'a call is undone again') return real.fillUndo(stream, request);
      const { journal } = stream;
      const read: typeof journal.read = (...given) =>
        map((commits: readonly JournalCommit[]) => commits.map(withoutUndos))(journal.read(...given));
      return real.fillUndo({ ...stream, journal: { ...journal, read } }, request);
    },
  };
});

vi.mock(import('../../../../src/engine/leases/owed-effects.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    hasWorkOutsideRun: (state) =>
      planted.bug !== 'an undo is forgotten when its session is evicted' && real.hasWorkOutsideRun(state),
  };
});

/** The commit with another fact in the place of each report of an undo. */
const withoutUndos = (commit: JournalCommit): JournalCommit => ({
  ...commit,
  events: commit.events.map((event) => ({
    ...event,
    text: event.text.replace('"UndoSettled"', '"SessionConfigured"'),
  })),
});

const withPorts =
  (change: (ports: EnginePorts) => Partial<EnginePorts>): StartEngine =>
  (ports) =>
    startEngine({ ...ports, ...change(ports) });

/** Answers an append at once and writes it later. */
function eagerJournal({ journal }: EnginePorts): Partial<EnginePorts> {
  let written: Promise<unknown> = Promise.resolve();
  const append: typeof journal.append =
    (session, commits, ...rest) =>
    async () => {
      const version = versionAfter(commits.at(-1) as JournalCommit);
      written = written.then(() => journal.append(session, commits, ...rest)());
      return right(version as Version);
    };
  return { journal: { ...journal, append } };
}

/** A journal that forgets, when an engine opens it, the times that sessions wait for. */
function forgetWakes({ journal }: EnginePorts): Partial<EnginePorts> {
  const written = new Set<string>();
  const append: typeof journal.append = (session, ...rest) => {
    written.add(session);
    return journal.append(session, ...rest);
  };
  const due: typeof journal.due = (...asked) =>
    map((wakes: readonly Wake[]) => wakes.filter(({ session_id }) => written.has(session_id)))(journal.due(...asked));
  return { journal: { ...journal, append, due } };
}

/** A lease table that ignores the state a session had when it was loaded. */
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

/** An engine that takes reports which it should refuse with this code. */
function takeWithout(code: Rejection['code']): void {
  const refuse = Object.getOwnPropertyDescriptor(LeaseTable.prototype, 'refuseReport')
    ?.value as LeaseTable['refuseReport'];
  vi.spyOn(LeaseTable.prototype, 'refuseReport').mockImplementation(function lax(this: LeaseTable, ...given) {
    const refusal = refuse.apply(this, given);
    return refusal?.code === code ? null : refusal;
  });
}

/** The fold takes a second settlement (see the mock of admission), and leases, which also keep it out, are given up for it. */
function takeSettledReports(): void {
  const refuse = Object.getOwnPropertyDescriptor(LeaseTable.prototype, 'refuseReport')
    ?.value as LeaseTable['refuseReport'];
  vi.spyOn(LeaseTable.prototype, 'refuseReport').mockImplementation(function lax(this: LeaseTable, ...given) {
    const refusal = refuse.apply(this, given);
    return refusal?.code === 'stale_lease' && given[1].kind === 'ToolCallSettled' ? null : refusal;
  });
}

/** An engine that treats a repeated submit as a sign that the bridge lost its leases. */
function grantAnew(): void {
  const endSubmit = Object.getOwnPropertyDescriptor(LeaseTable.prototype, 'endSubmit')
    ?.value as LeaseTable['endSubmit'];
  vi.spyOn(LeaseTable.prototype, 'endSubmit').mockImplementation(function anew(
    this: LeaseTable,
    session,
    asked,
    again,
  ) {
    if (again === true && asked !== null) this.release({ owner: asked.owner, leases: [], all: true });
    return endSubmit.call(this, session, asked);
  });
}

export const ENGINE_BUGS: Bugs = {
  'a call is settled twice': { seed: 77, breaks: 'settle once', plant: takeSettledReports },
  'an answer before it is durable': { seed: 2, breaks: 'durable first', startEngine: withPorts(eagerJournal) },
  'a report under a lost lease': {
    seed: 870,
    breaks: 'leases are fenced',
    plant: () => void vi.spyOn(LeaseTable.prototype, 'refuseReport').mockReturnValue(null),
  },
  'a report without its lease is taken': {
    seed: 2,
    breaks: 'leases are fenced',
    plant: () => takeWithout('lease_required'),
  },
  'leases are granted again to their holder': { seed: 93, breaks: 'live bridges keep their calls', plant: grantAnew },
  'a lease never expires': {
    seed: 4,
    breaks: 'every run ends',
    startEngine: withPorts(() => ({ leaseTtlMs: 1_000_000_000 })),
  },
  'a wake is lost at a restart': { seed: 1562, breaks: 'every run ends', startEngine: withPorts(forgetWakes) },
  'waits follow a clock that is set back': {
    seed: 904,
    breaks: 'waits end in time',
    plant: () => void vi.spyOn(SessionTimes.prototype, 'count').mockReturnValue(),
  },
  'effects come from memory, not from state': { seed: 287, breaks: 'every run ends', plant: forgetOwed },
  'a call is undone again': { seed: 622, breaks: 'undone once' },
  'an undo is forgotten when its session is evicted': { seed: 55, breaks: 'undone once' },
  'a snapshot leaves something out': { seed: 127, breaks: 'replay identity' },
  'event ids are not looked up': {
    seed: 93,
    breaks: 'settle once',
    startEngine: withPorts(({ journal }) => ({ journal: { ...journal, find: () => async () => right(null) } })),
  },
};
