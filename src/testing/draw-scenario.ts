// The arbitrary of scenarios: it makes them from seeds and shrinks the ones that fail.
import * as fc from 'fast-check';
import { type ModelScript, modelScript } from './model-script.ts';
import { type OutsideScript, outsideScript } from './outside/outside-script.ts';
import { type PreviewScript, previewScript } from './preview-script.ts';
import {
  ACTS,
  type Act,
  CHANGES,
  type CallScript,
  type DiskFault,
  type MessageFault,
  type ProcessFault,
  SIM_TOOL_NAMES,
  STRANGER_CLAIMS,
  type Scenario,
  type SessionScript,
  type StrangerAct,
} from './scenario.ts';
import { type ToolsetAct, toolsetAct } from './toolset-script.ts';

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

/** The first session has a toolset. It begins with a call of its tool where none is made. */
function withToolset(scenario: Scenario, toolset: readonly ToolsetAct[]): Scenario {
  const [first, ...rest] = scenario.sessions;
  if (toolset.length === 0 || first === undefined) return scenario;
  const calls = first.turns.some((turn) => turn?.some(({ tool }) => tool === 'none'));
  const turns = calls ? first.turns : [[OUTSIDE], ...first.turns];
  return { ...scenario, sessions: [{ ...first, turns, toolset }, ...rest] };
}

const OUTSIDE: CallScript = { tool: 'none', path: 'a', ms: 900, does: 'succeed' };

/** What calls of the first session do outside, in turn, and how long people are asked. */
interface Outside {
  readonly scripts: readonly OutsideScript[];
  readonly askedMs: number | null;
}

/** The tools whose calls the bridge runs in every scenario. */
const RUN_TOOLS: ReadonlySet<string> = new Set(['read', 'write', 'put', 'solo', 'free', 'ask']);

/** Calls of the first session work at a server and ask. It begins with one that does where no call can. */
function withOutside(scenario: Scenario, [outside]: readonly Outside[]): Scenario {
  const [first, ...rest] = scenario.sessions;
  if (outside === undefined || first === undefined) return scenario;
  const { scripts, askedMs } = outside;
  const can = ({ tool, does }: CallScript): boolean => RUN_TOOLS.has(tool) && does !== 'misshapen';
  let made = 0;
  const outsideCall = (call: CallScript): CallScript => {
    const script = can(call) ? scripts[made++] : undefined;
    return script === undefined ? call : { ...call, outside: script };
  };
  const turns = first.turns.some((turn) => turn?.some(can)) ? first.turns : [[ONCE_ONLY], ...first.turns];
  const session = { ...first, turns: turns.map((turn) => turn?.map(outsideCall) ?? null), askedMs };
  return { ...scenario, sessions: [session, ...rest] };
}

const ONCE_ONLY: CallScript = { tool: 'solo', path: 'a', ms: 40, does: 'succeed' };

const outside = fc.record<Outside>({
  scripts: fc.array(outsideScript, { minLength: 1, maxLength: 3 }),
  askedMs: fc.constantFrom(null, null, null, 2_500, 6_000),
});

/** Scenarios of one to three sessions. They shrink to fewer sessions, calls, acts and faults. */
export const scenarios = (): fc.Arbitrary<Scenario> => SCENARIOS;

type Drawn = Parameters<typeof withFlaws>[0] & {
  readonly changes: readonly Change[];
  readonly grants: readonly Granted[];
  readonly models: readonly { readonly session: number; readonly model: ModelScript }[];
};

type DrawnWithPreviews = Drawn & {
  readonly scripts: readonly PreviewScript[];
  readonly toolset: readonly ToolsetAct[];
  readonly outside: readonly Outside[];
};

/** None in most scenarios, because they keep calls from running. */
const seldom = <T>(arbitrary: fc.Arbitrary<T>, maxLength: number, none = 2): fc.Arbitrary<readonly T[]> =>
  fc.oneof(
    { withCrossShrink: true },
    { weight: none, arbitrary: fc.constant<readonly T[]>([]) },
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
  scripts: seldom(previewScript, 3),
  toolset: seldom(toolsetAct, 4, 13),
  outside: seldom(outside, 1, 4),
});

const SCENARIOS = drawn.map(({ scripts, toolset, outside: work, ...made }) =>
  withOutside(withToolset(withPreviews(withFlaws(withChanges(withModels(made))), scripts), toolset), work),
);

/** The scenario of a seed, always the same one. Throws a RangeError when the seed is not a whole number. */
export const scenarioOf = (seed: number): Scenario => {
  if (!Number.isSafeInteger(seed)) throw new RangeError(`a seed must be a whole number; it is ${seed}`);
  const [scenario] = fc.sample(SCENARIOS, { seed, numRuns: 1 });
  return scenario as Scenario;
};
