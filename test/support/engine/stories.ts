// Courses of a session, as lists of requests that are safe to repeat: each is sent until it is accepted. A story keeps no
// state; what its next request needs is read from the durable state.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { EffectOfKind } from '../../../schemas/effect.ts';
import type { OwnerId } from '../../../schemas/ids.ts';
import { RETRY_MS, SNAPSHOT_DELAY_MS, SNAPSHOT_EVERY_EVENTS } from '../../../schemas/limits.ts';
import { digestText } from '../../../schemas/canonical.ts';
import type { StreamRecord } from '../../../schemas/record.ts';
import { effects } from '../../../src/core/index.ts';
import type { EngineClient } from '../../../src/client/client.ts';
import { must } from '../../../src/client/must.ts';
import { RejectedError } from '../../../src/client/rejected-error.ts';
import { importStream } from '../../../src/engine/sessions/import-stream.ts';
import { CONSENT_PRESETS } from '../../../src/toolsets/consent-presets.ts';
import { session as given } from '../session.ts';
import { FREE, ONCE } from '../tools.ts';
import type { Disk } from './disk.ts';
import type { Step as ClientStep } from './scenario.ts';
import { recordStream, recordsOf } from './stored-stream.ts';
import {
  A,
  type LooseIngress,
  SESSION,
  TTL_MS,
  type World,
  durable,
  ingress,
  leaseRequest,
  packageOf,
  settled,
  started,
} from './world.ts';

/** Sends one request in a world and returns its code. */
export type Step = (world: World) => ReturnType<ClientStep>;

export interface Story {
  readonly name: string;
  readonly steps: readonly Step[];
}

const withClient =
  (ask: (client: EngineClient, disk: Disk) => ReturnType<ClientStep>): Step =>
  (world) =>
    ask(world.engine.client, world.disk);

const create = withClient(async (engine) => {
  const created = await engine.createSession({
    session_id: SESSION,
    tool_package: packageOf([ONCE, FREE]),
    consent: CONSENT_PRESETS.allow_all,
  })();
  // It exists when the request was sent again after a lost answer.
  return !isLeft(created) || created.left.code === 'session_exists' ? 'done' : created.left.code;
});

type Stated = LooseIngress | ((disk: Disk) => Promise<LooseIngress>);

/** Submits events, each under an id made of `id` and its index. */
const submits = (id: string, stated: Stated | readonly LooseIngress[], owner?: OwnerId): Step =>
  withClient(async (engine, disk) => {
    const one = typeof stated === 'function' ? await stated(disk) : stated;
    const all = Array.isArray(one) ? (one as readonly LooseIngress[]) : [one as LooseIngress];
    const events = all.map((event, index) => ingress({ event_id: `${id}-${index}`, ...event }));
    const answer = await engine.submit(SESSION, { events, ...(owner === undefined ? {} : { owner }) })();
    return isLeft(answer) ? answer.left.code : 'done';
  });

/** Lets time pass. */
const passes =
  (ms: number): Step =>
  async ({ clock }) => {
    await clock.advance(ms);
    return 'done';
  };

const run = submits('run', { kind: 'RunRequested', input: { text: 'go' } });

const observed = (count: number, tool = 'free', args: Readonly<Record<string, string>> = {}): Step =>
  submits('calls', {
    kind: 'ToolCallsObserved',
    run_id: 'run-1',
    turn: 1,
    calls: Array.from({ length: count }, (_, n) => ({
      call_id: `c${n}`,
      tool_name: tool,
      arguments: { n: `${n}`, ...args },
    })),
  });

const callOf = async (disk: Disk, id: string): Promise<EffectOfKind<'tool.call'>> => {
  const known = calls.get(disk) ?? new Map<string, EffectOfKind<'tool.call'>>();
  calls.set(disk, known);
  for (const effect of effects(await durable(disk))) {
    if (effect.kind === 'tool.call' && !known.has(effect.call_id)) known.set(effect.call_id, effect);
  }
  const call = known.get(id);
  if (call === undefined) throw new Error(`the call ${id} was never owed`);
  return call;
};
/** Calls as they were first owed, so that a request sent again is the same. */
const calls = new WeakMap<Disk, Map<string, EffectOfKind<'tool.call'>>>();

const starts = (id: string, owner?: OwnerId): Step =>
  submits(`start-${id}`, async (disk) => started(await callOf(disk, id), owner ?? A), owner);
const settles = (id: string, success = true): Step =>
  submits(`settle-${id}`, async (disk) => settled(await callOf(disk, id), success));
const closes: Step = submits('close', async (disk) => {
  const { plan_hash } = await callOf(disk, 'c0');
  return { kind: 'ToolBatchSettled', batch_id: 'batch-1', plan_hash };
});
const ends = submits('end', {
  kind: 'ToolCallsObserved',
  run_id: 'run-1',
  turn: 2,
  calls: [],
  content: { text: 'done' },
});

const leases = withClient(async (engine) => {
  const answer = await engine.lease(leaseRequest(A))();
  return isLeft(answer) ? answer.left.code : 'done';
});

const settlesNone: Step = submits('close', async (disk) => {
  const { last_tool_plan_hash: plan_hash } = await durable(disk);
  return { kind: 'ToolBatchSettled', batch_id: 'batch-1', plan_hash: plan_hash ?? digestText('') };
});

const BIG = 'ä'.repeat(300_000);
const bigRef = digestText(BIG);

const putsBig = withClient(async (engine) => {
  const answer = await engine.putBlob(new TextEncoder().encode(BIG))();
  return isLeft(answer) ? answer.left.code : 'done';
});

const getsBig = withClient(async (engine) => {
  const answer = await engine.getBlob(bigRef)();
  return isLeft(answer) ? answer.left.code : 'done';
});

/** The code with which work ends that is not a request to an engine. */
async function coded(work: () => Promise<unknown>): ReturnType<ClientStep> {
  try {
    await work();
    return 'done';
  } catch (error) {
    if (error instanceof RejectedError) return error.rejection.code;
    if (!String(error).includes('made to throw')) throw error;
    return 'storage_failed';
  }
}

export const restarts: Step = (world) => coded(() => world.restart());

export const views: Step = withClient(async (engine) => {
  const answer = await engine.session(SESSION)();
  return isLeft(answer) ? answer.left.code : 'done';
});

const pauses = (id: string, pairs: number): Step =>
  submits(
    id,
    Array.from({ length: pairs }, () => [
      { kind: 'RunPaused', run_id: 'run-1' } as const,
      { kind: 'RunResumed', run_id: 'run-1' } as const,
    ]).flat(),
  );

function exported(): readonly StreamRecord[] {
  let now = given({ session_id: SESSION }).runRequested();
  for (let pair = 0; pair < 2 * SNAPSHOT_EVERY_EVENTS; pair += 1) now = now.paused().resumed();
  return recordsOf(recordStream(now, now.events, [1, 2, 5, 90]));
}

async function* inTurn<T>(values: readonly T[]): AsyncGenerator<T> {
  yield* values;
}

const imports: Step = async ({ disk }) => {
  const code = await coded(() =>
    must(() => importStream({ ...disk.ports(), own_facts_at_ms: null }, inTurn(EXPORTED))),
  );
  // All of it exists when the import was repeated after a lost answer.
  return code === 'session_exists' ? 'done' : code;
};
export const EXPORTED = exported();

/** Long enough for a lease to expire, and for refused reports to be tried again. */
const LONG_MS = 10 * (TTL_MS + RETRY_MS);

export const STORIES: readonly Story[] = [
  { name: 'create', steps: [create, views] },
  { name: 'a whole turn', steps: [create, run, observed(1), starts('c0'), settles('c0'), closes, ends] },
  {
    name: 'a batch of five calls, out of order',
    steps: [
      create,
      run,
      observed(5),
      ...['c3', 'c1', 'c4', 'c0', 'c2'].map((id) => starts(id)),
      ...['c4', 'c0', 'c2', 'c1'].map((id) => settles(id)),
      settles('c3', false),
      closes,
      ends,
    ],
  },
  {
    name: 'cancel during a batch',
    steps: [
      create,
      run,
      observed(3),
      starts('c0'),
      submits('cancel', { kind: 'RunCancelled', run_id: 'run-1' }),
      views,
    ],
  },
  {
    name: 'interrupt during a batch',
    steps: [
      create,
      run,
      observed(3, 'once'),
      starts('c0'),
      starts('c1'),
      settles('c1'),
      submits('stop', { kind: 'user.interrupt', run_id: 'run-1' }),
      views,
    ],
  },
  {
    name: 'a host session expires',
    steps: [
      create,
      run,
      submits('host', {
        kind: 'HostSessionUpdated',
        host_session: { host_session_id: 'host-1', host_session_status: 'ready', expires_at_ms: 1_005_000 },
      }),
      passes(60_000),
      views,
    ],
  },
  {
    name: 'a lease expires',
    steps: [create, run, observed(2, 'once'), leases, starts('c0', A), passes(LONG_MS), views],
  },
  { name: 'a page is sealed', steps: [create, run, observed(70, 'nowhere'), settlesNone, views] },
  {
    name: 'big blobs',
    steps: [
      create,
      putsBig,
      submits('run', {
        kind: 'RunRequested',
        input: { ref: bigRef, bytes: new TextEncoder().encode(BIG).length, head: 'ä', tail: 'ä' },
      }),
      observed(3, 'free', { long: 'x'.repeat(9_000) }),
      getsBig,
      views,
    ],
  },
  {
    name: 'snapshots are written, and used',
    steps: [
      create,
      run,
      pauses('first', SNAPSHOT_EVERY_EVENTS / 2),
      passes(SNAPSHOT_DELAY_MS),
      restarts,
      pauses('second', SNAPSHOT_EVERY_EVENTS / 2),
      passes(SNAPSHOT_DELAY_MS),
      restarts,
      views,
      pauses('third', 2),
    ],
  },
  { name: 'import', steps: [imports, views, submits('more', { kind: 'RunPaused', run_id: 'run-1' })] },
  {
    name: 'run control',
    steps: [
      create,
      run,
      submits('steer', { kind: 'RunSteered', run_id: 'run-1', input: { text: 'left' } }),
      submits('then', { kind: 'FollowUpQueued', follow_up: { input: { text: 'then' } } }),
      pauses('pause', 1),
      submits('fail', { kind: 'RunFailed', run_id: 'run-1', code: 'gave_up', message: 'no' }),
      views,
    ],
  },
];
