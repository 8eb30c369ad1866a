// An engine over stores in memory and a virtual clock, and shorthands for requests to it.
import type { ConsentPolicy } from '../../../schemas/consent.ts';
import { must } from '../../../src/client/must.ts';
import { CONSENT_PRESETS } from '../../../src/toolsets/consent-presets.ts';
import { isLeft } from 'fp-ts/lib/Either.js';
import type { Effect, EffectOfKind } from '../../../schemas/effect.ts';
import type { Ingress, IngressEvent, IngressKind } from '../../../schemas/event.ts';
import type { Genesis } from '../../../schemas/genesis.ts';
import { type OwnerId, type Position, type SessionId, brand } from '../../../schemas/ids.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { ToolPackage } from '../../../schemas/tool-set.ts';
import type { ToolSpec } from '../../../schemas/tool-spec.ts';
import type { LeaseGrant, LeaseKey, LeaseRequest, SubmitReceipt } from '../../../schemas/wire.ts';
import type { EngineClient } from '../../../src/client/client.ts';
import { type Engine, type EnginePorts, startEngine } from '../../../src/engine/engine.ts';
import { type EpochStore, newMemoryEpochs } from '../../../src/engine/leases/epochs.ts';
import { newSchemaCheck } from '../../../src/engine/edge/schema-check.ts';
import { neverPause } from '../../../src/turns.ts';
import { initialState } from '../../../src/core/index.ts';
import { type Loose, accepted } from '../session.ts';
import { profileOf, testPackage } from '../tools.ts';
import { type Disk, newDisk } from './disk.ts';
import { type Holdings, holding } from './holding.ts';
import { type VirtualClock, newVirtualClock } from './virtual-clock.ts';

export const SESSION = brand<'SessionId'>('s-1');
export const A = brand<'OwnerId'>('bridge-a');
export const B = brand<'OwnerId'>('bridge-b');
export const TTL_MS = 1_000;

/** What a client sends, with plain strings for ids. */
export type LooseIngress = { readonly [K in IngressKind]: Loose<Extract<Ingress, { readonly kind: K }>> }[IngressKind];

export const ingress = (event: LooseIngress): Ingress => event as unknown as Ingress;

export const packageOf = (tools: readonly ToolSpec[]): ToolPackage => ({
  registry: tools,
  profiles: [profileOf('all', tools)],
  provider_profiles: [{ provider_contains: '', profile_id: brand<'ProfileId'>('all') }],
});

export const leaseRequest = (owner: OwnerId, rest: Partial<LeaseRequest> = {}): LeaseRequest => ({
  owner,
  kinds: [
    'llm.generate',
    'llm.compact',
    'tool.call',
    'tool.cancel',
    'tool.answer',
    'batch.settle',
    'host_session.open',
  ],
  tools: ['*'],
  max: 256,
  wait_ms: 0,
  ...rest,
});

// One counter for all: two clients of one session must not use the same event id.
let lastId = 0;

/** One session, used through a client. */
export class Talk {
  readonly client: EngineClient;
  readonly id: SessionId;

  constructor(client: EngineClient, id: SessionId = SESSION) {
    this.client = holding(client);
    this.id = id;
  }

  async create(
    tool_package: ToolPackage = testPackage(),
    consent: ConsentPolicy = CONSENT_PRESETS.allow_all,
  ): Promise<this> {
    await must(this.client.createSession({ session_id: this.id, tool_package, consent }));
    return this;
  }

  submit(events: readonly LooseIngress[], owner?: OwnerId): Promise<SubmitReceipt> {
    const named = events.map((event) => ingress({ event_id: this.nextId(), ...event }));
    return must(this.client.submit(this.id, { events: named, ...(owner === undefined ? {} : { owner }) }));
  }

  /** The code with which an event is refused, or `done`. */
  async outcome(event: LooseIngress, owner?: OwnerId): Promise<string> {
    const request = { events: [ingress(event)], ...(owner === undefined ? {} : { owner }) };
    const answer = await this.client.submit(this.id, request)();
    return isLeft(answer) ? answer.left.code : 'done';
  }

  nextId(): string {
    lastId += 1;
    return `e-${lastId}`;
  }

  run(): Promise<SubmitReceipt> {
    return this.submit([{ kind: 'RunRequested', input: { text: 'go' } }]);
  }

  /** Starts a run whose model makes these calls: call id, tool name. */
  async calls(...calls: readonly (readonly [id: string, tool: string])[]): Promise<SessionState> {
    await this.run();
    const observed = calls.map(([call_id, tool_name]) => ({ call_id, tool_name, arguments: { n: call_id } }));
    await this.submit([{ kind: 'ToolCallsObserved', run_id: 'run-1', turn: 1, calls: observed }]);
    return await this.state();
  }

  async state(): Promise<SessionState> {
    return (await must(this.client.session(this.id))).state;
  }

  lease(owner: OwnerId, rest: Partial<LeaseRequest> = {}): Promise<LeaseGrant> {
    return must(this.client.lease(leaseRequest(owner, rest)));
  }

  async leased(owner: OwnerId, rest: Partial<LeaseRequest> = {}): Promise<readonly string[]> {
    return (await this.lease(owner, rest)).effects.map(({ effect_id }) => effect_id);
  }

  async lost(owner: OwnerId, ...effects: readonly string[]): Promise<readonly string[]> {
    const { lost } = await must(this.client.heartbeat({ owner, leases: this.keys(effects) }));
    return lost.map(({ effect_id }) => effect_id);
  }

  async release(owner: OwnerId, ...effects: readonly string[]): Promise<void> {
    await must(this.client.release({ owner, leases: this.keys(effects) }));
  }

  keys(effects: readonly string[]): readonly LeaseKey[] {
    return effects.map((effect) => ({ session_id: this.id, effect_id: brand<'EffectId'>(effect) }));
  }
}

export const started = (effect: EffectOfKind<'tool.call'>, owner: OwnerId): LooseIngress => {
  const { batch_id, call_id, attempt, plan_hash } = effect;
  return { kind: 'ToolCallStarted', batch_id, call_id, attempt, plan_hash, owner };
};

export const settled = (effect: EffectOfKind<'tool.call'>, success = true): LooseIngress => {
  const { batch_id, call_id, attempt, plan_hash } = effect;
  const output = { text: `output of ${call_id}` };
  return { kind: 'ToolCallSettled', batch_id, call_id, attempt, plan_hash, result: { success }, output };
};

export const callsIn = ({ effects }: { readonly effects: readonly Effect[] }): readonly EffectOfKind<'tool.call'>[] =>
  effects.filter((effect) => effect.kind === 'tool.call');

export interface World {
  readonly disk: Disk;
  readonly clock: VirtualClock;
  engine: Engine;
  talk: Talk;
  /** Closes the engine and opens another over the same stores. */
  restart(bounds?: Bounds): Promise<void>;
}

export type Bounds = Pick<EnginePorts, 'activeSessionsMax' | 'checkSchema' | 'tellFault' | 'unnamedBlobBytesMax'>;

/** What outlives an engine over a disk: the epochs that were granted, and to whom. */
const leasing = new WeakMap<Disk, { readonly epochs: EpochStore; readonly held: Holdings }>();

// Shared, because compiling the schemas costs more than most tests.
const checkSchema = newSchemaCheck();

export async function newWorld(
  disk: Disk = newDisk(),
  clock: VirtualClock = newVirtualClock(),
  bounds: Bounds = {},
): Promise<World> {
  let ids = 0;
  const { epochs, held } = leasing.get(disk) ?? { epochs: newMemoryEpochs(), held: new Map() };
  leasing.set(disk, { epochs, held });
  const open = async (within: Bounds): Promise<Engine> => {
    const opened = await must(
      startEngine({
        ...disk.ports(),
        checkSchema,
        pause: neverPause,
        ...within,
        clock,
        epochs,
        leaseTtlMs: TTL_MS,
        // Jitter of 1,000 thousandths.
        random: () => 0.5,
        newId: () => {
          ids += 1;
          return `id-${ids}`;
        },
      }),
    );
    return { ...opened, client: holding(opened.client, held) };
  };
  const engine = await open(bounds);
  const world: World = {
    disk,
    clock,
    engine,
    talk: new Talk(engine.client),
    restart: async (within = bounds) => {
      await world.engine.close();
      world.engine = await open(within);
      world.talk = new Talk(world.engine.client);
    },
  };
  return world;
}

/** The state that the stored stream folds to, independent of any engine. */
export async function durable(disk: Disk, id: SessionId = SESSION): Promise<SessionState> {
  let state = folded.get(disk) ?? (await firstState(disk, id));
  for (const { events } of await must(disk.journal.read(id, state.version as number as Position, 1_000))) {
    for (const { text } of events) state = accepted(state, JSON.parse(text) as IngressEvent);
  }
  folded.set(disk, state);
  return state;
}

async function firstState({ journal }: Disk, id: SessionId): Promise<SessionState> {
  const genesis = JSON.parse(await must(journal.genesis(id))) as Genesis;
  return initialState(genesis, JSON.parse(await must(journal.toolPackage(genesis.tool_package_digest))) as ToolPackage);
}

const folded = new WeakMap<Disk, SessionState>();
