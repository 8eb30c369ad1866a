// What happens in one simulation, as plain data: what people request, what the model answers, how the tools behave, and
// which faults happen when. An arbitrary makes scenarios from seeds and shrinks the ones that fail.
import * as fc from 'fast-check';
import { type ModelScript, modelScript } from './model-script.ts';
import { type PreviewScript, previewScript } from './preview-script.ts';

/** The tools of the simulated world; see `sim-tools.ts`. `none` is not registered. */
export const SIM_TOOL_NAMES = ['read', 'write', 'put', 'solo', 'free', 'spare', 'ask', 'hand', 'none'] as const;
export type SimToolName = (typeof SIM_TOOL_NAMES)[number];

export const BEHAVIOURS = ['succeed', 'fail', 'throw', 'stubborn', 'misshapen', 'large', 'amend'] as const;

/** One call the model makes, and how its tool behaves. */
export interface CallScript {
  readonly tool: SimToolName;
  readonly path: string;
  readonly ms: number;
  /**
   * A person who is asked about the call denies a `fail`, amends an `amend` with other arguments, and first answers a
   * `throw` with the wrong arguments digest. `stubborn` ignores its signal; `misshapen` arguments do not fit the schema.
   */
  readonly does: (typeof BEHAVIOURS)[number];
  /** How many times the tool fails first, for a transient reason; absent: never. */
  readonly fails?: number;
  /** A person who allows the call also grants the calls of its tool that differ in `path` alone. */
  readonly grants?: boolean;
  /** How the preview of the call goes, in a scenario with previews; absent: it is found at once, and the answer names it. */
  readonly preview?: PreviewScript;
}

/** The calls that the model makes in one turn; null: it does not answer. */
export type TurnScript = readonly CallScript[] | null;

/** Changes of what is allowed. They are drawn apart from the other acts, while calls wait. */
const CHANGES = ['brake', 'ask_all', 'allow_all', 'redefine', 'host_close'] as const;

export const ACTS = [
  'run',
  'follow_up',
  'steer',
  'pause',
  'resume',
  'interrupt',
  'interrupt_with',
  'cancel',
  'undo',
  'disable_write',
  'force_write',
  'host_ready',
  ...CHANGES,
] as const;

/** What a person does, at a time in milliseconds; at 0, before the first run is requested. */
export interface Act {
  readonly atMs: number;
  readonly what: (typeof ACTS)[number];
}

export interface SessionScript {
  readonly turns: readonly TurnScript[];
  readonly acts: readonly Act[];
  readonly concurrency: number;
  /** How many calls a run may make. */
  readonly calls: number;
  /** How many tokens a run may use; null or absent: any number. */
  readonly tokens?: number | null;
  /** How long a run may take, in milliseconds; null or absent: any time. */
  readonly wallMs?: number | null;
  /** Absent: the model answers plainly, and nothing is compacted. */
  readonly model?: ModelScript;
}

export const MESSAGE_FAULTS = [
  'lose_request',
  'lose_answer',
  'duplicate',
  'delay_request',
  'delay_answer',
  'tamper',
] as const;

/** What happens to the `nth` message between bridges, people and the engine. */
export interface MessageFault {
  readonly nth: number;
  readonly what: (typeof MESSAGE_FAULTS)[number];
  readonly ms: number;
}

export const DISK_FAULTS = ['refused', 'unknown', 'lost_ack', 'slow'] as const;

/** What happens to the `nth` write to the disk. */
export interface DiskFault {
  readonly nth: number;
  readonly what: (typeof DISK_FAULTS)[number];
  readonly ms: number;
}

export const PROCESS_FAULTS = [
  'crash_engine',
  'crash_bridge',
  'crash_noting',
  'stop_bridge',
  'stall_bridge',
  'jump_engine',
  'jump_bridge',
] as const;

/**
 * What happens to a process. `bridge` counts from 0; `ms` is how long the process is down or stalled, or how far its clock
 * jumps. With `crash_noting` the bridge dies when its next ledger entry is durable, or at once when it has no files.
 */
export interface ProcessFault {
  readonly atMs: number;
  readonly what: (typeof PROCESS_FAULTS)[number];
  readonly bridge: number;
  readonly ms: number;
}

/** Whether the fault happens to the engine, and so disturbs every process. */
export const ofTheEngine = ({ what }: ProcessFault): boolean => what === 'crash_engine' || what === 'jump_engine';

/** What a client that holds no lease claims in its reports: nothing, an owner only, the holder's epoch, or an older one. */
export const STRANGER_CLAIMS = ['nothing', 'no_epoch', 'its_epoch', 'old_epoch'] as const;

/** At a time in milliseconds, a client reports on every effect that is owed, without holding any. */
export interface StrangerAct {
  readonly atMs: number;
  readonly claims: (typeof STRANGER_CLAIMS)[number];
}

export interface Scenario {
  /** Decides the delays of messages and the random numbers of the bridges. */
  readonly seed: number;
  readonly bridges: number;
  /** Whether the bridges, which share a machine, have files. */
  readonly files: boolean;
  /** Whether the engine writes snapshots of these short sessions and loads them when it restarts. */
  readonly snapshots: boolean;
  readonly sessions: readonly SessionScript[];
  readonly messages: readonly MessageFault[];
  readonly disk: readonly DiskFault[];
  readonly processes: readonly ProcessFault[];
  /** Absent: none. */
  readonly strangers?: readonly StrangerAct[];
  /** Whether the tool that asks makes previews, and then changes its file; absent: it does neither. */
  readonly previews?: boolean;
}

/** Whether the engine loads from snapshots. Without a restart or a disk fault they would never be read. */
export const loadsFromSnapshots = ({ snapshots, processes, disk }: Scenario): boolean =>
  snapshots && (disk.length > 0 || processes.some(({ what }) => what === 'crash_engine'));

/** No fault happens after this time, in milliseconds. */
export const FAULTS_END_MS = 16_000;

const ms = (max: number): fc.Arbitrary<number> => fc.integer({ min: 1, max });
const HOUR_MS = 3_600_000;

const callScript = fc.record<CallScript>({
  tool: fc.constantFrom(...SIM_TOOL_NAMES, 'read', 'write', 'write', 'put', 'free'),
  path: fc.constantFrom('a', 'b', 'a/x', 'c'),
  ms: fc.oneof(ms(50), ms(4_000)),
  does: fc.constantFrom(
    'succeed',
    'succeed',
    'succeed',
    'succeed',
    'fail',
    'throw',
    'stubborn',
    'misshapen',
    'large',
    'amend',
  ),
});

const turnScript = fc.oneof(
  { weight: 12, arbitrary: fc.array(callScript, { minLength: 1, maxLength: 4 }) },
  { weight: 1, arbitrary: fc.constant(null) },
);

/** Acts that are drawn twice as often as others. */
const OFTEN: ReadonlySet<Act['what']> = new Set(['run', 'follow_up', 'undo', 'host_ready']);

const isChange = (what: Act['what']): boolean => (CHANGES as readonly string[]).includes(what);

const act = fc.record<Act>({
  atMs: ms(10_000),
  what: fc.constantFrom(
    ...ACTS.filter((what) => !isChange(what)).flatMap((what) => (OFTEN.has(what) ? [what, what] : [what])),
  ),
});

/** What a person changes while calls wait, in the session of this number. */
interface Change extends Act {
  readonly session: number;
}

const change = fc.record<Change>({
  session: fc.nat({ max: 1 }),
  atMs: ms(2_500),
  what: fc.constantFrom(...CHANGES, 'disable_write', 'brake', 'host_close'),
});

/** Two calls in a row that ask, the first of which is granted with a pattern; `same`: only their paths may differ. */
interface Granted {
  readonly nth: number;
  readonly same: boolean;
}

const granted = fc.record<Granted>({ nth: fc.nat({ max: 5 }), same: fc.boolean() });

/** Most runs have no bound. */
const NO_BOUND: readonly null[] = Array.from({ length: 24 }, () => null);

const sessionScript = fc.record<SessionScript>({
  turns: fc.array(turnScript, { minLength: 1, maxLength: 2 }),
  acts: fc.array(act, { maxLength: 3 }),
  concurrency: fc.constantFrom(1, 2, 8),
  calls: fc.constantFrom(64, 64, 64, 4),
  // The first turn takes 30 tokens, the first two 80.
  tokens: fc.constantFrom(...NO_BOUND, 25, 60, 80),
  wallMs: fc.constantFrom(...NO_BOUND, 700, 3_000),
});

const messageFault = fc.record<MessageFault>({
  nth: fc.integer({ min: 1, max: 60 }),
  what: fc.constantFrom('lose_request', 'lose_answer', 'duplicate', 'delay_request', 'delay_answer', 'tamper'),
  ms: ms(6_000),
});

const diskFault = fc.record<DiskFault>({
  nth: fc.integer({ min: 1, max: 30 }),
  what: fc.constantFrom('refused', 'unknown', 'lost_ack', 'slow', 'slow'),
  ms: ms(1_500),
});

const processFault = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record<ProcessFault>({
      atMs: ms(12_000),
      what: fc.constantFrom('crash_engine', 'crash_bridge', 'stop_bridge', 'stall_bridge'),
      bridge: fc.nat({ max: 2 }),
      ms: ms(7_000),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record<ProcessFault>({
      atMs: ms(12_000),
      what: fc.constantFrom('jump_engine', 'jump_bridge'),
      bridge: fc.nat({ max: 2 }),
      ms: fc.integer({ min: -HOUR_MS, max: HOUR_MS }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record<ProcessFault>({
      atMs: ms(3_000),
      what: fc.constant('crash_noting'),
      bridge: fc.nat({ max: 2 }),
      ms: ms(4_000),
    }),
  },
);

/** The `nth` call of the scenario, if it has so many, first fails this many times for a transient reason. */
interface Flaw {
  readonly nth: number;
  readonly fails: number;
}

const stranger = fc.record<StrangerAct>({ atMs: ms(8_000), claims: fc.constantFrom(...STRANGER_CLAIMS) });

const flaw = fc.record<Flaw>({ nth: fc.nat({ max: 11 }), fails: fc.constantFrom(1, 1, 2, 5) });

function withFlaws({ flaws, ...scenario }: Scenario & { readonly flaws: readonly Flaw[] }): Scenario {
  const failsOf = new Map(flaws.map(({ nth, fails }) => [nth, fails]));
  let calls = 0;
  const flawed = (call: CallScript): CallScript => {
    const fails = failsOf.get(calls++);
    return fails === undefined ? call : { ...call, fails };
  };
  const sessions = scenario.sessions.map((session) => ({
    ...session,
    turns: session.turns.map((turn) => turn?.map(flawed) ?? null),
  }));
  return { ...scenario, sessions };
}

/** Calls that need the host session, where it is closed, and an act that opens it. */
function withHost(session: SessionScript): SessionScript {
  if (!session.acts.some(({ what }) => what === 'host_close')) return session;
  const hosted = (call: CallScript): CallScript =>
    call.tool === 'put' || call.tool === 'free' ? { ...call, tool: 'spare' } : call;
  const turns = session.turns.map((turn) => turn?.map(hosted) ?? null);
  return { ...session, turns, acts: [{ atMs: 0, what: 'host_ready' }, ...session.acts] };
}

/** The models, each in the session of its number; one that is drawn twice counts once. */
const withModels = ({ models, ...scenario }: Drawn): Omit<Drawn, 'models'> => ({
  ...scenario,
  sessions: scenario.sessions.map((session, index) => {
    const drawn = models.find((made) => made.session % scenario.sessions.length === index);
    return drawn === undefined ? session : { ...session, model: drawn.model };
  }),
});

function withChanges({ changes, grants, ...scenario }: Omit<Drawn, 'models'>): Parameters<typeof withFlaws>[0] {
  const [{ nth, same } = { nth: -2, same: false }] = grants;
  let calls = 0;
  let first: CallScript | null = null;
  const asking = (call: CallScript): CallScript => {
    const at = calls++ - nth;
    if (at !== 0 && at !== 1) return call;
    const asks: CallScript = { ...call, tool: 'ask', does: 'succeed', grants: true };
    const made: CallScript = at === 1 && same && first !== null ? { ...asks, ms: first.ms } : asks;
    first = made;
    return made;
  };
  const sessions = scenario.sessions.map((session, index) => ({
    ...session,
    turns: session.turns.map((turn) => turn?.map(asking) ?? null),
    acts: [
      ...session.acts,
      ...changes
        .filter((made) => made.session % scenario.sessions.length === index)
        .map(({ atMs, what }) => ({ atMs, what })),
    ],
  }));
  return { ...scenario, sessions: sessions.map(withHost) };
}

/** The tool that asks makes previews, in turn as these say. A session in which no call asks begins with one that does. */
function withPreviews(scenario: Scenario, previews: readonly PreviewScript[]): Scenario {
  if (previews.length === 0) return scenario;
  let asked = 0;
  const previewed = (call: CallScript): CallScript => {
    const preview = call.tool === 'ask' ? previews[asked++ % previews.length] : undefined;
    return preview === undefined ? call : { ...call, preview };
  };
  const sessions = scenario.sessions.map((session) => {
    const asks = session.turns.some((turn) => turn?.some(({ tool }) => tool === 'ask'));
    const turns = asks ? session.turns : [[ASKING], ...session.turns];
    return { ...session, turns: turns.map((turn) => turn?.map(previewed) ?? null) };
  });
  return { ...scenario, sessions, previews: true };
}

const ASKING: CallScript = { tool: 'ask', path: 'a', ms: 40, does: 'succeed' };

/** Scenarios of one to three sessions. They shrink to fewer sessions, calls, acts and faults. */
export const scenarios = (): fc.Arbitrary<Scenario> => SCENARIOS;

type Drawn = Parameters<typeof withFlaws>[0] & {
  readonly changes: readonly Change[];
  readonly grants: readonly Granted[];
  readonly models: readonly { readonly session: number; readonly model: ModelScript }[];
};

interface DrawnWithPreviews extends Omit<Drawn, 'previews'> {
  readonly previewed: readonly PreviewScript[];
}

/** None in most scenarios, because they keep calls from running. */
const seldom = <T>(arbitrary: fc.Arbitrary<T>, maxLength: number): fc.Arbitrary<readonly T[]> =>
  fc.oneof(
    { withCrossShrink: true },
    { weight: 2, arbitrary: fc.constant<readonly T[]>([]) },
    { weight: 1, arbitrary: fc.array(arbitrary, { minLength: 1, maxLength }) },
  );

const drawn = fc.record<DrawnWithPreviews>({
  seed: fc.noShrink(fc.nat()),
  bridges: fc.constantFrom(1, 2, 2, 3),
  files: fc.boolean(),
  snapshots: fc.constantFrom(false, false, true),
  sessions: fc.array(sessionScript, { minLength: 1, maxLength: 2 }),
  messages: fc.array(messageFault, { maxLength: 4 }),
  disk: fc.array(diskFault, { maxLength: 2 }),
  processes: fc.array(processFault, { maxLength: 3 }),
  // Drawn last, so that the fields above stay the same for every seed.
  flaws: fc.array(flaw, { maxLength: 2 }),
  changes: seldom(change, 2),
  grants: seldom(granted, 1),
  strangers: fc.array(stranger, { maxLength: 3 }),
  models: seldom(fc.record({ session: fc.nat({ max: 1 }), model: modelScript }), 2),
  previewed: seldom(previewScript, 3),
});

const SCENARIOS = drawn.map(({ previewed, ...made }) =>
  withPreviews(withFlaws(withChanges(withModels(made))), previewed),
);

/** The scenario of a seed, always the same one. Throws a RangeError when the seed is not a whole number. */
export const scenarioOf = (seed: number): Scenario => {
  if (!Number.isSafeInteger(seed)) throw new RangeError(`a seed must be a whole number; it is ${seed}`);
  const [scenario] = fc.sample(SCENARIOS, { seed, numRuns: 1 });
  return scenario as Scenario;
};
