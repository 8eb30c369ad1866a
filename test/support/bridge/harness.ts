// A bridge against a fake engine on a virtual clock, with tools whose behaviour is given by the arguments of each call.
import { CONSENT_PRESETS } from '../../../src/toolsets/consent-presets.ts';
import { runBridge } from '../../../bridge/loop.ts';
import type { BridgeLogLine } from '../../../bridge/log.ts';
import type { EngineClient } from '../../../src/client/client.ts';
import { withAccess } from '../../../src/client/with-access.ts';
import type { CallReport } from '../../../bridge/executors/call-report.ts';
import type { BridgeLedger } from '../../../bridge/ledger/bridge-ledger.ts';
import { type CallContext, type Executor, combineExecutors } from '../../../bridge/executors/executors.ts';
import type { Provider, ReplyCall } from '../../../bridge/providers/provider.ts';
import { scriptedProvider } from '../../../bridge/providers/scripted.ts';
import { defineTool } from '../../../schemas/define-tool.ts';
import { BRIDGE } from '../../../schemas/access.ts';
import { type OwnerId, type SessionId, brand } from '../../../schemas/ids.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import type { RunConfig } from '../../../schemas/run.ts';
import type { TranscriptEntry } from '../../../schemas/state.ts';
import type { ToolPackage } from '../../../schemas/tool-set.ts';
import type { ToolSpec } from '../../../schemas/tool-spec.ts';
import { defaultGenesis } from '../../../src/core/index.ts';
import { FakeEngine } from './fake-engine.ts';
import { type VirtualClock, newVirtualClock } from './virtual-clock.ts';

export const SESSION = brand<'SessionId'>('s-1');

const spec = (name: string, more: Partial<ToolSpec> = {}): ToolSpec =>
  defineTool({
    tool_id: `test.${name}`,
    tool_name: name,
    description: name,
    input_schema: { type: 'object' },
    timeout_ms: 60_000,
    ...more,
  });

const onPath = (access: 'read' | 'write') =>
  ({ parallel_safe: true, claims: [{ space: 'fs', argument: 'path', form: 'path', access }] }) as const;

/**
 * `read` and `again` may run twice, `write` must not; `solo` runs alone; `other` belongs to another bridge; `hosted` requires a host
 * session; `tiny` has a small output limit.
 */
const TOOLS: readonly ToolSpec[] = [
  spec('read', { read_only: true, idempotent: true, destructive: false, parallelism_hint: onPath('read') }),
  spec('write', { parallelism_hint: onPath('write'), interrupt_behavior: 'cancel' }),
  spec('solo'),
  spec('again', { idempotent: true, parallelism_hint: onPath('write'), interrupt_behavior: 'cancel' }),
  defineTool({
    tool_id: 'other.read',
    tool_name: 'other',
    description: 'other',
    input_schema: { type: 'object' },
    read_only: true,
    parallelism_hint: onPath('write'),
  }),
  spec('hosted', { availability_rules: ['host_session_ready'] }),
  spec('asks', { permission_policy: 'always_ask' }),
  spec('asks_read', { read_only: true, permission_policy: 'always_ask', parallelism_hint: onPath('read') }),
  spec('tiny', { read_only: true, parallelism_hint: { parallel_safe: true }, output_bytes_max: 400 }),
];

const toolPackage: ToolPackage = {
  registry: TOOLS,
  profiles: [{ profile_id: brand('all'), tool_ids: TOOLS.map(({ tool_id }) => tool_id) }],
  provider_profiles: [{ provider_contains: '', profile_id: brand('all') }],
};

/** How long a call takes, and what it does then. */
export interface Behaviour {
  readonly path?: string;
  readonly ms?: number;
  readonly does?: 'throw' | 'hang' | 'fail' | 'busy' | 'stubborn' | 'surrogate' | 'not_json' | 'not_object' | 'obey';
  readonly text?: string;
}

export interface Ran {
  readonly call_id: string;
  readonly startedAt: number;
  endedAt: number | null;
  aborted: boolean;
}

export interface World {
  readonly clock: VirtualClock;
  readonly engine: FakeEngine;
  readonly log: BridgeLogLine[];
  /** Every run of an executor, in order. */
  readonly ran: Ran[];
  readonly running: () => number;
  /** The maximum of concurrent calls so far. */
  readonly peak: () => number;
  start(options?: BridgeSetup): Started;
  request(session?: SessionId): void;
  /** Lets time pass until the session has no run. */
  finish(session?: SessionId): Promise<void>;
}

export interface Started {
  readonly owner: OwnerId;
  /** Stops the bridge through its signal, and waits for it. */
  stop(): Promise<void>;
  /** From now on, no request of the bridge arrives or is answered. */
  kill(): void;
  readonly done: Promise<void>;
}

export interface BridgeSetup {
  readonly owner?: string;
  readonly seed?: number;
  readonly tools?: readonly string[];
  readonly provider?: Provider;
  readonly concurrency?: number;
  readonly executors?: readonly Executor[];
  readonly ledger?: BridgeLedger;
  readonly secrets?: readonly string[];
}

export interface WorldSetup {
  /** The calls of each turn; after the last one the model answers `done`. */
  readonly turns?: readonly (readonly ReplyCall[])[];
  readonly config?: Partial<RunConfig>;
  readonly sessions?: readonly SessionId[];
  /** Called when an executor starts a run. */
  readonly onRun?: (world: World, callId: string, context: CallContext) => void;
}

export const call = (id: string, name: string, behaviour: Behaviour = {}): ReplyCall => ({
  id,
  name,
  arguments: { path: id, ...behaviour },
});

export function newWorld({ turns = [], config = {}, sessions = [SESSION], onRun }: WorldSetup = {}): World {
  const clock = newVirtualClock();
  const origins = sessions.map((session_id) => ({
    genesis: defaultGenesis({
      session_id,
      tool_package: toolPackage,
      consent: CONSENT_PRESETS.allow_all,
      config: { tool_concurrency_max: 256, ...config },
    }),
    tool_package: toolPackage,
  }));
  const engine = new FakeEngine(clock, origins);
  const log: BridgeLogLine[] = [];
  const ran: Ran[] = [];
  let running = 0;
  let peak = 0;
  const script = scriptedProvider(({ turn }) => {
    clock.touch();
    const calls = turns[turn - 1];
    return calls === undefined ? { content: 'done', calls: [] } : { calls };
  });

  const executor = (tools: readonly string[]): Executor => ({
    tools,
    async run({ call_id }, args, context) {
      clock.touch();
      onRun?.(world, call_id, context);
      const entry: Ran = { call_id, startedAt: clock.now(), endedAt: null, aborted: false };
      ran.push(entry);
      running += 1;
      peak = Math.max(peak, running);
      try {
        return await behave(clock, args, context);
      } finally {
        running -= 1;
        entry.endedAt = clock.now();
        entry.aborted = context.signal.aborted;
        clock.touch();
      }
    },
  });

  const world: World = {
    clock,
    engine,
    log,
    ran,
    running: () => running,
    peak: () => peak,
    start({
      owner = 'bridge-a',
      seed: first = 1,
      tools = ['test.*'],
      provider = script,
      concurrency,
      executors,
      ledger,
      secrets = [],
    } = {}) {
      const stop = new AbortController();
      const name = brand<'OwnerId'>(owner);
      let dead = false;
      // Bridges with different names must draw different random numbers.
      let seed = Array.from(Buffer.from(owner)).reduce((sum, byte) => 31 * sum + byte, first) % 2_147_483_647;
      const done = runBridge({
        // As every bridge that is not the operator's own process: what only an operator's client may do fails here.
        client: withAccess(
          mortal(engine.client, () => dead),
          BRIDGE,
        ),
        owner: name,
        executors: combineExecutors(executors ?? [executor(tools)]),
        provider,
        clock,
        random: () => {
          seed = (seed * 48_271) % 2_147_483_647;
          return seed / 2_147_483_647;
        },
        log: (line) => log.push(line),
        secrets,
        signal: stop.signal,
        ...(concurrency === undefined ? {} : { concurrency }),
        ...(ledger === undefined ? {} : { ledger }),
      });
      let over = false;
      const watched = done.finally(() => {
        over = true;
        clock.touch();
      });
      watched.catch(() => undefined);
      return {
        owner: name,
        done: watched,
        kill() {
          dead = true;
        },
        async stop() {
          stop.abort();
          await clock.until(() => over, 10_000);
          await watched;
        },
      };
    },
    request(session = SESSION) {
      engine.record(session, { kind: 'RunRequested', input: { text: 'go' } });
    },
    finish: (session = SESSION) => clock.until(() => engine.state(session).run === null),
  };
  return world;
}

/** A client that neither sends nor answers requests once its process is dead. */
function mortal(client: EngineClient, isDead: () => boolean): EngineClient {
  const never = new Promise<never>(() => undefined);
  const wrap =
    (method: (...args: never[]) => () => Promise<unknown>) =>
    (...args: never[]) => {
      const task = method(...args);
      return async () => {
        if (isDead()) return await never;
        const answer = await task();
        return isDead() ? await never : answer;
      };
    };
  const names = ['session', 'submit', 'lease', 'heartbeat', 'release', 'putBlob', 'getBlob'] as const;
  const wrapped = names.map((name) => [name, wrap(client[name] as never)] as const);
  return { ...client, ...(Object.fromEntries(wrapped) as unknown as Pick<EngineClient, (typeof names)[number]>) };
}

async function behave(clock: VirtualClock, args: JsonObject, { signal }: CallContext): Promise<CallReport> {
  const { ms = 0, does, text = 'ok' } = args as unknown as Behaviour;
  const stopped = new Promise<'stopped'>((resolve) => {
    if (does !== 'stubborn') signal.addEventListener('abort', () => resolve('stopped'), { once: true });
  });
  let cancel = (): void => undefined;
  const passed = new Promise<'passed'>((resolve) => {
    if (does !== 'hang') cancel = clock.after(ms, () => resolve('passed'));
  });
  const ended = ms === 0 && does !== 'hang' ? 'passed' : await Promise.race([stopped, passed]);
  cancel();
  if (ended === 'stopped') return { success: false, code: 'stopped', text: 'partial output' };
  if (does === 'throw') throw new Error('the disk is on fire');
  if (does === 'fail') return { success: false, code: 'not_found', text: 'no such file' };
  if (does === 'busy') return { success: false, code: 'busy', text: 'try again later', retryable: true };
  if (does === 'surrogate') return { success: true, text: 'half \ud800' };
  if (does === 'not_json') return { success: true, text: 'x', data: { at: new Date(0) } } as unknown as CallReport;
  if (does === 'not_object') return 42 as unknown as CallReport;
  return { success: true, text };
}

/** The tool results in the open page of the transcript, in order. */
export function resultsOf(world: World, session: SessionId = SESSION): readonly TranscriptEntry[] {
  return world.engine.state(session).transcript.open.filter(({ role }) => role === 'tool');
}

export const textOfEntry = ({ content }: TranscriptEntry): string =>
  content !== undefined && 'text' in content ? content.text : '';

export const statusOf = (world: World): string | undefined =>
  world.engine.state(SESSION).run_history.at(-1)?.ending.outcome;
