// Runs timed batches through a real engine and bridge, and reports for each how long it took and how long it could have
// taken. A batch begins when the bridge receives its first call, and ends when its last settlement is durable.
import { CONSENT_PRESETS } from '../src/toolsets/consent-presets.ts';
import { join } from 'node:path';
import { systemClock } from '../src/clock.ts';
import { type Executor, combineExecutors } from '../bridge/executors/executors.ts';
import type { BridgeLogLine } from '../bridge/log.ts';
import { runBridge } from '../bridge/loop.ts';
import { scriptedProvider } from '../bridge/providers/scripted.ts';
import { defineTool } from '../schemas/define-tool.ts';
import { type SessionId, brand } from '../schemas/ids.ts';
import { CONCURRENCY_MAX } from '../schemas/limits.ts';
import type { ToolBatchPlan } from '../schemas/plan.ts';
import type { ToolPackage } from '../schemas/tool-set.ts';
import type { ToolSpec } from '../schemas/tool-spec.ts';
import type { EngineClient } from '../src/client/client.ts';
import { openEngine } from '../src/engine/engine.ts';
import { must } from '../src/client/must.ts';
import { UNBOUNDED } from './stream.ts';
import type { TimedBatch } from './timed-batches.ts';
import { watchGrants } from './watch-grants.ts';

/** Milliseconds: measured, and computed for other schedules of the same calls. */
export interface BatchRun {
  readonly wall: number;
  readonly criticalPath: number;
  readonly oneByOne: number;
  readonly groupBarriers: number;
}

/** How many sessions run at a time. */
const SESSIONS = 8;

export async function runBatches(directory: string, batches: readonly TimedBatch[]): Promise<readonly BatchRun[]> {
  const engine = await must(openEngine({ dataDir: join(directory, 'data') }));
  const queues = Array.from({ length: SESSIONS }, (_, at) =>
    batches.filter((_batch, index) => index % SESSIONS === at),
  );
  const watch = newWatch();
  const stop = new AbortController();
  const over = newCountdown(SESSIONS);
  const served = runBridge({
    client: watch.client(engine.client),
    owner: brand('bench'),
    executors: combineExecutors([watch.executor]),
    provider: scriptedProvider(({ session_id, turn }) => {
      const batch = queues[Number(session_id.replace('session-', ''))]?.[turn - 1];
      if (batch === undefined) over.count();
      const calls = (batch ?? []).map(({ tool, target, ms }, index) => ({
        id: `call-${turn}-${index}`,
        name: tool,
        arguments: { target, ms },
      }));
      return { calls };
    }),
    clock: systemClock,
    random: Math.random,
    log: watch.log,
    signal: stop.signal,
  });
  for (const index of queues.keys()) await openSession(engine.client, brand(`session-${index}`));
  await Promise.race([over.done, served]);
  stop.abort();
  await served;
  await engine.close();
  return watch.runs();
}

function newCountdown(from: number): { readonly done: Promise<void>; readonly count: () => void } {
  let left = from;
  let resolveDone: () => void = () => undefined;
  const done = new Promise<void>((resolve) => {
    resolveDone = resolve;
  });
  const count = (): void => {
    left -= 1;
    if (left === 0) resolveDone();
  };
  return { done, count };
}

async function openSession(client: EngineClient, session_id: SessionId): Promise<void> {
  const config = { ...UNBOUNDED, tool_concurrency_max: CONCURRENCY_MAX };
  await must(
    client.createSession({ session_id, config, tool_package: timedPackage(), consent: CONSENT_PRESETS.allow_all }),
  );
  await must(client.submit(session_id, { events: [{ kind: 'RunRequested', input: { text: 'go on' } }] }));
}

function timedPackage(): ToolPackage {
  const registry = [timedTool('look', 'read'), timedTool('change', 'write')];
  const all = brand<'ProfileId'>('all');
  return {
    registry,
    profiles: [{ profile_id: all, tool_ids: registry.map(({ tool_id }) => tool_id) }],
    provider_profiles: [{ provider_contains: '', profile_id: all }],
  };
}

// Both may be repeated: recording a start first is a separate cost that does not depend on the order of calls.
const timedTool = (name: 'look' | 'change', access: 'read' | 'write'): ToolSpec =>
  defineTool({
    tool_id: `timed.${name}`,
    tool_name: name,
    description: name,
    input_schema: { type: 'object' },
    idempotent: true,
    parallelism_hint: { parallel_safe: true, claims: [{ space: 'world', argument: 'target', form: 'text', access }] },
  });

interface Seen {
  readonly plan: ToolBatchPlan;
  readonly grantedAt: number;
  settledAt: number;
}

interface Watch {
  readonly client: (client: EngineClient) => EngineClient;
  readonly executor: Executor;
  readonly log: (line: BridgeLogLine) => void;
  readonly runs: () => readonly BatchRun[];
}

function newWatch(): Watch {
  const seen = new Map<string, Seen>();
  /** Milliseconds of each call, by session and call id: a call id names its turn. */
  const tookMs = new Map<string, number>();
  return {
    client: (client) =>
      watchGrants(client, ({ plans }) => {
        const grantedAt = performance.now();
        for (const { session_id, batch_id, plan } of plans) {
          const name = `${session_id} ${batch_id}`;
          if (!seen.has(name)) seen.set(name, { plan, grantedAt, settledAt: NaN });
        }
      }),
    executor: {
      tools: ['timed.*'],
      async run({ session_id, call_id }, args) {
        const startedAt = performance.now();
        await new Promise((resolve) => {
          setTimeout(resolve, Number(args['ms']));
        });
        tookMs.set(`${session_id} ${call_id}`, performance.now() - startedAt);
        return { success: true, text: 'done' };
      },
    },
    log(line) {
      if (line.event !== 'call_settled') return;
      const batch = seen.get(`${line.session_id} ${line.batch_id}`);
      if (batch !== undefined) batch.settledAt = performance.now();
    },
    runs: () =>
      [...seen].map(([name, { plan, grantedAt, settledAt }]) => {
        const session = name.split(' ')[0] ?? '';
        const msOf = (call: string): number => tookMs.get(`${session} ${call}`) ?? NaN;
        return { wall: settledAt - grantedAt, ...boundsOf(plan, msOf) };
      }),
  };
}

function boundsOf(plan: ToolBatchPlan, msOf: (call: string) => number): Omit<BatchRun, 'wall'> {
  const { after, groups } = plan.execution_plan;
  const endOf = new Map<string, number>();
  for (const { call_id } of plan.planned_calls) {
    const startAt = Math.max(0, ...(after[call_id] ?? []).map((earlier) => endOf.get(earlier) ?? NaN));
    endOf.set(call_id, startAt + msOf(call_id));
  }
  return {
    criticalPath: Math.max(...endOf.values()),
    oneByOne: plan.planned_calls.reduce((sum, { call_id }) => sum + msOf(call_id), 0),
    groupBarriers: groups.reduce((sum, group) => sum + Math.max(...group.map(msOf)), 0),
  };
}
