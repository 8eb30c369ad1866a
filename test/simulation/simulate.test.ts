// The simulator: each seed is one deterministic run, and a failure says how to reproduce it.
import { right } from 'fp-ts/lib/Either.js';
import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  type CallScript,
  type DurableEvent,
  type ModelScript,
  type OutsideScript,
  type PreviewScript,
  type Scenario,
  type SimulatedBridge,
  checkBridge,
  scenarioOf,
  simulate,
} from '../../src/testing/index.ts';
import { ANSWERS, COMPACTIONS, LAYOUT_SIZES, USAGES } from '../../src/testing/model-script.ts';
import { ANSWERED, BOUNDARIES, STEPS } from '../../src/testing/outside/outside-script.ts';
import { isInline } from '../../schemas/content.ts';
import { roundsOf } from '../support/random.ts';
import { refoldBridge } from '../support/simulation/refold-bridge.ts';

afterEach(() => vi.unstubAllEnvs());

/** A bridge that reports every start without asking the engine. */
const careless: SimulatedBridge = (world) => {
  const { client } = world;
  const submit: typeof client.submit = (session, request) =>
    request.events.some(({ kind }) => kind === 'ToolCallStarted')
      ? async () => right({ events: [] }) as never
      : client.submit(session, request);
  return refoldBridge({ ...world, client: { ...client, submit } });
};

const failureOf = async (work: Promise<void>): Promise<string> => {
  try {
    await work;
  } catch (error) {
    return String(error);
  }
  return 'it did not fail';
};

describe('a seed', () => {
  test('repeats everything in the same order', async () => {
    for (let seed = 1; seed <= roundsOf(6, 20); seed += 1) {
      const first = await simulate({ seed, bridge: refoldBridge });
      const second = await simulate({ seed, bridge: refoldBridge });
      expect(second.trace).toEqual(first.trace);
      expect(second.digest).toBe(first.digest);
    }
  });

  test('gives another run than other seeds', async () => {
    const seeds = Array.from({ length: roundsOf(8, 20) }, (_, index) => index + 1);
    const runs = await Promise.all(seeds.map((seed) => simulate({ seed, bridge: refoldBridge })));
    expect(new Set(runs.map(({ digest }) => digest)).size).toBe(seeds.length);
  });

  test('covers, together with others, every fault and every act', () => {
    const scenarios = Array.from({ length: 400 }, (_, seed) => scenarioOf(seed));
    const drawn = new Set(
      scenarios.flatMap(({ messages, disk, processes, sessions }) => [
        ...[...messages, ...disk, ...processes].map(({ what }) => what),
        ...sessions.flatMap(({ acts }) => acts.map(({ what }) => what)),
      ]),
    );
    // Six faults of messages, four of the disk, seven of processes, twelve acts, five changes of what is allowed.
    expect(drawn.size).toBe(6 + 4 + 7 + 12 + 5);
    const calls = scenarios.flatMap(({ sessions }) => sessions.flatMap(({ turns }) => turns.flat()));
    expect(new Set(calls.map((call) => call?.fails))).toEqual(new Set([undefined, 1, 2, 5]));
  });

  test('covers, together with others, every way in which a model answers and summarises', () => {
    const models = Array.from({ length: 400 }, (_, seed) => scenarioOf(seed)).flatMap(({ sessions }) =>
      sessions.flatMap(({ model }) => (model === undefined ? [] : [model])),
    );
    const answers = models.flatMap((model) => model.answers);
    expect(new Set(answers.map(({ how }) => how))).toEqual(new Set(ANSWERS));
    expect(new Set(answers.map(({ layout }) => layout))).toEqual(new Set(LAYOUT_SIZES));
    expect(new Set(answers.map(({ usage }) => usage))).toEqual(new Set(USAGES));
    expect(new Set(models.flatMap(({ compactions }) => compactions))).toEqual(new Set(COMPACTIONS));
  });
});

describe('a call that works outside its bridge, and asks,', () => {
  test('does, over many seeds, every step, and is answered in every way, and its bridge dies at every boundary', () => {
    const scripts = Array.from({ length: 400 }, (_, seed) => scenarioOf(seed)).flatMap(({ sessions }) =>
      sessions.flatMap(({ turns }) => turns.flat().flatMap((made) => made?.outside ?? [])),
    );
    expect(new Set(scripts.flatMap(({ steps }) => steps))).toEqual(new Set(STEPS));
    expect(new Set(scripts.flatMap(({ answers }) => answers))).toEqual(new Set(ANSWERED));
    expect(new Set(scripts.map(({ dies }) => dies))).toEqual(new Set([null, ...BOUNDARIES]));
    expect(new Set(scripts.map(({ forgetMs }) => forgetMs === null))).toEqual(new Set([true, false]));
  });

  /** The events of one call that must not run twice. */
  async function eventsOf(outside: Partial<OutsideScript>): Promise<readonly string[]> {
    const script: OutsideScript = { steps: [], answers: ['accept'], forgetMs: null, dies: null, ...outside };
    const turns = [[{ tool: 'solo', path: 'a', ms: 50, does: 'succeed', outside: script } as const]];
    const sessions = [{ turns, acts: [], concurrency: 1, calls: 64 }];
    const seen: string[] = [];
    const laws = {
      'events are seen': ({ event }: DurableEvent) => {
        if (event.kind === 'ToolCallSettled') seen.push(event.code ?? 'done');
        else if ('call_id' in event) seen.push(event.kind);
        return null;
      },
    };
    const { violations } = await simulate({
      scenario: { ...QUIET, processes: [], sessions },
      bridge: refoldBridge,
      laws,
    });
    expect(violations).toEqual([]);
    return seen;
  }

  const ASKS = ['ToolCallAsked', 'user.elicitation_result'];

  test.each<[string, Partial<OutsideScript>, readonly string[]]>([
    ['waits for its work', { steps: ['work'] }, ['ToolCallNoted', 'done']],
    [
      'is waited for by the next bridge',
      { steps: ['work'], dies: 'noted' },
      ['ToolCallNoted', 'LeaseExpired', 'ToolCallStarted', 'ToolCallNoted', 'done'],
    ],
    ['is unknown when its bridge dies before the note', { steps: ['work'], dies: 'begun' }, ['LeaseExpired']],
    ['fails when the server has forgotten it', { steps: ['work'], forgetMs: 10 }, ['ToolCallNoted', 'forgotten']],
    ['asks twice', { steps: ['ask', 'ask'], answers: ['twice', 'after_cancel'] }, [...ASKS, ...ASKS, 'done']],
    [
      'loses its question with its bridge',
      { steps: ['ask'], answers: ['late'], dies: 'asking' },
      ['ToolCallAsked', 'LeaseExpired'],
    ],
    ['ends its attempt', { steps: ['leave'], answers: ['misfit'] }, [...ASKS, 'ToolCallStarted', 'done']],
    ['is not on record when its bridge dies first', { steps: ['leave'], dies: 'leaving' }, ['LeaseExpired']],
  ])('%s', async (_, outside, events) => {
    expect(await eventsOf(outside)).toEqual(['ToolCallStarted', ...events]);
  });
});

describe('a tool that fails for a transient reason', () => {
  /** How many times the call `1.1.0` with this behaviour runs, and whether it finally succeeds. */
  async function runsOf(how: Partial<CallScript>): Promise<readonly [runs: number, succeeds: boolean]> {
    const call: CallScript = { tool: 'read', path: 'a', ms: 5, does: 'succeed', ...how };
    const behind: CallScript = { tool: 'put', path: 'a', ms: 5, does: 'succeed' };
    const session = { turns: [[call, behind]], acts: [], concurrency: 2, calls: 64 };
    const ends: boolean[] = [];
    const laws = {
      'ends are seen': ({ event }: DurableEvent) => {
        if (event.kind === 'ToolCallSettled' && event.call_id === '1.1.0') ends.push(event.result.success);
        return null;
      },
    };
    const { violations, trace } = await simulate({
      scenario: { ...QUIET, bridges: 2, processes: [], sessions: [session] },
      bridge: refoldBridge,
      laws,
    });
    expect(violations).toEqual([]);
    return [trace.filter((line) => line.includes('runs s-1/1.1.0 ')).length, ends.at(-1) === true];
  }

  test('is retried until it succeeds or has no attempts left', async () => {
    expect(await runsOf({})).toEqual([1, true]);
    expect(await runsOf({ fails: 2 })).toEqual([3, true]);
    expect(await runsOf({ fails: 9 })).toEqual([4, false]);
  });

  test('is not retried when it must not run twice', async () => {
    expect(await runsOf({ tool: 'write', fails: 1 })).toEqual([1, false]);
  });

  test('may fail permanently after a retry', async () => {
    expect(await runsOf({ does: 'throw', fails: 1 })).toEqual([2, false]);
  });

  test('does not run again for the same attempt when a delayed grant repeats it', async () => {
    // The disk loses its answer to the append of the model's calls: they are leased, and granted again later.
    const turns = [
      [
        { ...FAILING, ms: 37 },
        { ...FAILING, tool: 'put' as const, fails: 0 },
      ],
    ];
    const sessions = [{ turns, acts: [], concurrency: 8, calls: 64 }];
    const disk = [{ nth: 3, what: 'lost_ack', ms: 600 }] as const;
    const scenario = { ...QUIET, seed: 2, sessions, disk, processes: [] };
    const { trace, violations } = await simulate({ scenario, bridge: refoldBridge });
    expect(violations).toEqual([]);
    const ran = trace.flatMap((line) => /runs s-1\/(\S+)/.exec(line)?.[1] ?? []);
    expect(ran).toEqual(['1.1.0', '1.1.0', '1.1.1']);
  });

  test('is retried after a clock was set back by more than a simulation waits', async () => {
    // The clock of the engine goes back by an hour while the call waits for its next attempt.
    const { trace, violations } = await simulate({ scenario: SET_BACK, bridge: refoldBridge });
    expect(violations).toEqual([]);
    expect(trace.filter((line) => line.includes('runs s-1/'))).toHaveLength(2);
  });
});

/** A scenario without faults. */
const QUIET = { seed: 1, bridges: 1, files: false, snapshots: false, messages: [], disk: [] } as const;

const FAILING: CallScript = { tool: 'read', path: 'a', ms: 1, does: 'succeed', fails: 1 };

const SET_BACK: Scenario = {
  ...QUIET,
  sessions: [
    {
      turns: [[FAILING]],
      acts: [],
      concurrency: 1,
      calls: 64,
    },
  ],
  processes: [{ atMs: 1, what: 'jump_engine', bridge: 0, ms: -3_600_000 }],
};

describe('a model', () => {
  const answer = { how: 'pauses', layout: 'small', usage: 'detailed', ms: 90 } as const;
  const model: ModelScript = { mark: 1, answers: [answer], compactions: ['summarises'], deltas: true };
  const sessionOf = (changed: Partial<ModelScript>): Scenario['sessions'][number] => ({
    turns: [[{ tool: 'read', path: 'a', ms: 5, does: 'succeed' }]],
    acts: [],
    concurrency: 1,
    calls: 64,
    model: { ...model, ...changed },
  });
  const scenarioWith = (changed: Partial<ModelScript>): Scenario => ({
    ...QUIET,
    processes: [],
    sessions: [sessionOf(changed)],
  });

  /** The kinds of the events that the scenario records. */
  async function recorded(changed: Partial<ModelScript>): Promise<readonly string[]> {
    const kinds: string[] = [];
    const laws = {
      'events are seen': ({ event }: DurableEvent) => {
        kinds.push(event.kind);
        return null;
      },
    };
    const { violations } = await simulate({ scenario: scenarioWith(changed), bridge: refoldBridge, laws });
    expect(violations).toEqual([]);
    return kinds;
  }

  const count = (kinds: readonly string[], kind: string): number => kinds.filter((other) => other === kind).length;

  test('is asked for a summary once in a turn', async () => {
    // The run has eight turns, and each answer exceeds the mark; the conversation is long enough before the last one.
    expect(count(await recorded({}), 'ContextCompacted')).toBe(1);
    expect(count(await recorded({ mark: null }), 'ContextCompacted')).toBe(0);
  });

  test.each([
    ['is_busy', ['CompactFailed', 'ContextCompacted']],
    ['is_too_long', ['ContextCompacted']],
    ['dies', ['ContextCompacted']],
    ['fails', ['CompactFailed']],
    ['calls', ['CompactFailed']],
    ['is_empty', ['CompactFailed']],
  ] as const)('that %s when it is asked for a summary leads to %j', async (how, expected) => {
    const kinds = await recorded({ compactions: [how] });
    expect(kinds.filter((kind) => kind === 'CompactFailed' || kind === 'ContextCompacted')).toEqual(expected);
  });

  test('leaves the same record whether or not it tells what it writes', async () => {
    let posted = 0;
    for (let seed = 1; seed <= roundsOf(60, 120); seed += 1) {
      const told = scenarioOf(seed);
      if (!told.sessions.some((session) => session.model?.deltas === true)) continue;
      const sessions = told.sessions.map((session) =>
        session.model === undefined ? session : { ...session, model: { ...session.model, deltas: false } },
      );
      const [loud, silent] = [
        await simulate({ scenario: told, bridge: refoldBridge }),
        await simulate({ scenario: { ...told, sessions }, bridge: refoldBridge }),
      ];
      expect(loud.record, `seed ${seed}`).toBe(silent.record);
      posted += loud.trace.filter((line) => line.endsWith('postDeltas done')).length;
      expect(silent.trace.some((line) => line.includes('postDeltas'))).toBe(false);
    }
    expect(posted).toBeGreaterThan(20);
  });
});

describe('a preview', () => {
  const asking: CallScript = { tool: 'ask', path: 'a', ms: 5, does: 'succeed' };
  const plain: PreviewScript = { how: 'shown', ms: 20, editMs: null, named: 'shown' };

  interface Went {
    /** How many previews are recorded, and of how many files the last one is; -1 for a reason why there is none. */
    readonly previews: number;
    readonly files: number;
    /** How many answers are recorded, and whether the last one names a preview. */
    readonly answers: number;
    readonly named: boolean;
    readonly runs: number;
    readonly trace: readonly string[];
  }

  /** What becomes of one call that asks, whose preview goes like this. */
  async function wentWith(how: Partial<PreviewScript>, faults: Partial<Scenario> = {}): Promise<Went> {
    const turns = [[{ ...asking, preview: { ...plain, ...how } }]];
    const sessions = [{ turns, acts: [], concurrency: 1, calls: 64 }];
    const went = { previews: 0, files: -1, answers: 0, named: false };
    const laws = {
      'events are seen': ({ event }: DurableEvent) => {
        if (event.kind === 'CallPreviewed') {
          went.previews += 1;
          went.files = 'files' in event.preview ? event.preview.files.length : -1;
        }
        if (event.kind === 'user.tool_confirmation') {
          went.answers += 1;
          went.named = event.preview !== undefined;
        }
        return null;
      },
    };
    const scenario = { ...QUIET, processes: [], previews: true, sessions, ...faults };
    const { violations, trace } = await simulate({ scenario, bridge: refoldBridge, laws });
    expect(violations).toEqual([]);
    return { ...went, runs: trace.filter((line) => line.includes('runs s-1/1.1.0 ')).length, trace };
  }

  test.each<[string, Partial<PreviewScript>, Partial<Went>]>([
    ['is named, and its call runs', {}, { previews: 1, files: 1, named: true, runs: 1 }],
    ['is named, and its file changes', { editMs: 40 }, { files: 1, named: true, runs: 0 }],
    ['is not named, and its file changes', { editMs: 40, named: 'none' }, { files: 1, named: false, runs: 1 }],
    ['comes after the answer', { ms: 5_000, named: 'none' }, { previews: 0, answers: 1, runs: 1 }],
    ['cannot be found', { how: 'none' }, { previews: 1, files: -1, named: false, runs: 1 }],
    ['fails', { how: 'throws' }, { previews: 1, files: -1, named: false, runs: 1 }],
    ['is reported twice', { how: 'twice' }, { previews: 1, files: 1, named: true, runs: 1 }],
    ['is confused with another one first', { named: 'foreign' }, { answers: 1, named: true, runs: 1 }],
  ])('that %s', async (_, how, went) => {
    expect(await wentWith(how)).toMatchObject(went);
  });

  test('that is reported twice, or named wrongly, is refused', async () => {
    const reports = (await wentWith({ how: 'twice' })).trace.filter((line) => line.endsWith('submit stale_lease'));
    expect(reports).toHaveLength(1);
    const answers = (await wentWith({ named: 'foreign' })).trace.filter((line) => line.includes('preview_mismatch'));
    expect(answers).toHaveLength(1);
  });

  test.each<[string, Partial<PreviewScript>, number]>([
    ['while it looks for it', { ms: 100 }, 50],
    ['before the answer', {}, 500],
  ])('of a bridge that is killed %s counts once', async (_, how, atMs) => {
    const processes = [{ atMs, what: 'crash_bridge', bridge: 0, ms: 200 }] as const;
    expect(await wentWith(how, { processes })).toMatchObject({ previews: 1, files: 1, named: true, runs: 1 });
  });

  test('goes, over many seeds, every way', async () => {
    const seen = new Set<string>();
    const laws = {
      'events are seen': ({ event }: DurableEvent) => {
        if (event.kind === 'CallPreviewed') seen.add('files' in event.preview ? 'shown' : event.preview.code);
        if (event.kind === 'user.tool_confirmation') seen.add(event.preview === undefined ? 'unnamed' : 'named');
        if (event.kind === 'ToolCallSettled' && isInline(event.output) && event.output.text === 'a file has changed')
          seen.add('changed');
        return null;
      },
    };
    const seeds = Array.from({ length: 200 }, (_, seed) => seed).filter((seed) => scenarioOf(seed).previews === true);
    for (const seed of seeds.slice(0, 25)) {
      const { trace } = await simulate({ seed, bridge: refoldBridge, laws });
      if (trace.some((line) => line.includes('submit preview_mismatch'))) seen.add('foreign');
    }
    expect([...seen].sort()).toEqual(
      ['changed', 'foreign', 'made_to_fail', 'named', 'preview_failed', 'shown', 'unnamed'].sort(),
    );
  });
});

describe('a bridge that breaks a law', () => {
  test('fails with the law, the smallest scenario that shows it, and the command to run it again', async () => {
    const failure = await failureOf(checkBridge(careless, { seeds: 50 }));
    const seed = Number(/seed (\d+) breaks law (3, durable first|14, honest reports)/.exec(failure)?.[1]);
    expect(failure).toContain(`run it again: REFOLD_SEED=${seed} npx vitest run`);
    const smallest = JSON.parse(/smallest scenario: (.*)/.exec(failure)?.[1] ?? 'null') as ReturnType<
      typeof scenarioOf
    >;
    const size = (scenario: typeof smallest): number => JSON.stringify(scenario).length;
    expect(size(smallest)).toBeLessThan(size(scenarioOf(seed)));
    expect(smallest.sessions.flatMap(({ turns }) => turns).flat().length).toBeLessThanOrEqual(2);
    expect((await simulate({ scenario: smallest, bridge: careless })).violations).not.toEqual([]);
  });

  test('is simulated under the one seed that REFOLD_SEED names', async () => {
    const seen: number[] = [];
    vi.stubEnv('REFOLD_SEED', '7');
    await checkBridge(refoldBridge, { onSeed: (seed) => seen.push(seed) });
    expect(seen).toEqual([7]);
  });

  test('fails when it ends with an error', async () => {
    const failure = await failureOf(checkBridge(() => Promise.reject(new Error('no more')), { seeds: 1 }));
    expect(failure).toMatch(/law 19, every run ends: .* failed: Error: no more/);
  });

  test('fails when it does nothing', async () => {
    const failure = await failureOf(checkBridge(() => new Promise(() => undefined), { seeds: 1 }));
    expect(failure).toContain('law 19, every run ends');
  });
});

describe('a faulty bridge', () => {
  const violationsOf = async (bridge: SimulatedBridge) => (await simulate({ seed: 3, bridge })).violations;
  const idle: SimulatedBridge = () => new Promise(() => undefined);

  test.each<[string, SimulatedBridge]>([
    [
      'throws at once',
      () => {
        throw new Error('broken');
      },
    ],
    [
      'throws in a timer',
      async (world) => {
        world.clock.after(5, () => {
          throw new Error('broken');
        });
        await idle(world);
      },
    ],
  ])('that %s has failed, and its error is reported', async (_, bridge) => {
    const [first] = await violationsOf(bridge);
    expect(first).toMatchObject({ law: 'every run ends', message: expect.stringContaining('failed: Error: broken') });
    expect(first?.cause).toEqual(new Error('broken'));
    const failed = await checkBridge(bridge, { seeds: 1 }).catch((error: unknown) => error);
    expect((failed as Error).cause).toEqual(new Error('broken'));
  });

  test('that returns no promise has ended', async () => {
    expect(await violationsOf((() => undefined) as unknown as SimulatedBridge)).toMatchObject([
      { law: 'every run ends' },
    ]);
  });

  test.each<[string, SimulatedBridge]>([
    [
      'asks without waiting',
      async ({ client, owner, tools }) => {
        for (;;) await client.lease({ owner, kinds: ['tool.call'], tools, max: 1, wait_ms: 0 })();
      },
    ],
    [
      'loops without time passing',
      async ({ clock }) => {
        for (;;) await new Promise<void>((resolve) => clock.soon(resolve));
      },
    ],
  ])('that %s is reported as endless', async (_, bridge) => {
    expect(await violationsOf(bridge)).toContainEqual(
      expect.objectContaining({
        law: 'every run ends',
        message: expect.stringContaining('asks again without waiting'),
      }),
    );
  });

  test('that waits for NaN milliseconds gets a RangeError', async () => {
    const [first] = await violationsOf(async ({ clock }) => {
      await new Promise<void>((resolve) => clock.after(Number.NaN, resolve));
    });
    expect(first?.message).toContain('RangeError: after: NaN is not a number of milliseconds');
  });
});

describe('a law that a test adds', () => {
  const laws = {
    'no writes': ({ event }: DurableEvent) =>
      event.kind === 'ToolCallsObserved' && event.calls.some(({ tool_name }) => tool_name === 'write')
        ? 'a write was called'
        : null,
  };

  test('is checked on every event, and a failure is shrunk', async () => {
    const failure = await failureOf(checkBridge(refoldBridge, { seeds: 50, laws }));
    expect(failure).toMatch(/seed \d+ breaks law "no writes": s-1, event \d+: a write was called \(after \d+ ms\)/);
    const { scenario } = JSON.parse(`{"scenario":${/smallest scenario: (.*)/.exec(failure)?.[1] ?? 'null'}}`) as {
      readonly scenario: ReturnType<typeof scenarioOf>;
    };
    const calls = scenario.sessions.flatMap(({ turns }) => turns).flat();
    expect(calls.length).toBeLessThanOrEqual(2);
    expect(calls).toContainEqual(expect.objectContaining({ tool: 'write' }));
    expect((await simulate({ scenario, bridge: refoldBridge, laws })).violations).toMatchObject([{ law: 'no writes' }]);
    expect((await simulate({ scenario, bridge: refoldBridge })).violations).toEqual([]);
  });

  test('counts as broken when it throws', async () => {
    const broken = () => {
      throw new Error('no such field');
    };
    const { violations } = await simulate({ seed: 1, bridge: refoldBridge, laws: { broken } });
    expect(violations[0]).toMatchObject({ law: 'broken', message: 's-1, event 0: Error: no such field' });
  });
});

describe('the simulator refuses', () => {
  const run = (scenario: object) =>
    failureOf(simulate({ scenario: { ...scenarioOf(1), ...scenario }, bridge: refoldBridge }).then(() => undefined));

  test.each([
    [{ bridges: 0 }, '/bridges'],
    [{ sessions: [] }, '/sessions'],
    [{ bridge: 1 }, '/bridge'],
    [{ disk: [{ nth: 1, what: 'melted', ms: 1 }] }, '/disk/0/what'],
    [{ processes: [{ atMs: Number.NaN, what: 'stop_bridge', bridge: 0, ms: 1 }] }, '/processes/0/atMs'],
    [{ sessions: [{ ...SET_BACK.sessions[0], turns: [[{ ...FAILING, fails: -1 }]] }] }, '/sessions/0/turns/0/0/fails'],
    [{ sessions: [{ ...SET_BACK.sessions[0], model: { mark: 0 } }] }, '/sessions/0/model/answers'],
    [{ sessions: [{ turns: [], acts: [], concurrency: 1, calls: 1 }] }, '/sessions/0/turns'],
  ])('a scenario of %j', async (scenario, path) => {
    expect(await run(scenario)).toContain(`not a scenario: at "${path}"`);
  });

  test('a seed that is not a whole number', async () => {
    await expect(simulate({ seed: Number.NaN, bridge: refoldBridge })).rejects.toThrow('a seed must be a whole number');
  });

  test.each([{ seeds: 0 }, { seeds: -1 }, { seeds: Number.NaN }, { seeds: Infinity }, { from: 0.5 }])(
    'a check of %j',
    async (options) => {
      await expect(checkBridge(refoldBridge, options)).rejects.toThrow(RangeError);
    },
  );

  test('a REFOLD_SEED that is not a number, and ignores an empty one', async () => {
    vi.stubEnv('REFOLD_SEED', 'seven');
    await expect(checkBridge(refoldBridge, { seeds: 1 })).rejects.toThrow('it is "seven"');
    vi.stubEnv('REFOLD_SEED', '');
    const seen: number[] = [];
    await checkBridge(refoldBridge, { seeds: 2, from: 5, onSeed: (seed) => seen.push(seed) });
    expect(seen).toEqual([5, 6]);
  });
});
