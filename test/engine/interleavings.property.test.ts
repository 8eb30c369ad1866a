// Two bridges, one engine, and the faults between them: lost answers, bridges that die, restarts of the engine. In any
// order, every call settles exactly once and the run ends (docs/design.md, laws 4 and 19).
import { isLeft } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import type { Effect } from '../../schemas/effect.ts';
import { type OwnerId, brand } from '../../schemas/ids.ts';
import { unreachable } from '../../schemas/rejection.ts';
import { must } from '../../src/client/must.ts';
import { effects, replay } from '../../src/core/index.ts';
import { newDisk } from '../support/engine/disk.ts';
import {
  type LooseIngress,
  SESSION,
  TTL_MS,
  type World,
  durable,
  ingress,
  leaseRequest,
  newWorld,
  packageOf,
  settled,
  started,
} from '../support/engine/world.ts';
import { type Random, randomFrom, roundsOf } from '../support/random.ts';
import { eventsOf } from '../support/records.ts';
import { BARRIER, FREE, KEYED, ONCE, READ, WRITE } from '../support/tools.ts';

const TOOLS = [BARRIER, FREE, KEYED, ONCE, READ, WRITE];
const TURNS = 2;

interface Job {
  readonly effect: Effect;
  readonly events: readonly LooseIngress[];
  sent: number;
}

/** A bridge that takes one small step at a time; a dead one is followed by one with another owner id. */
class Bridge {
  owner: OwnerId;
  readonly #jobs: Job[] = [];
  readonly #random: Random;
  readonly #name: string;
  #lives = 1;

  constructor(name: string, random: Random) {
    this.#name = name;
    this.#random = random;
    this.owner = brand<'OwnerId'>(`${name}-1`);
  }

  die(): void {
    this.#jobs.length = 0;
    this.#lives += 1;
    this.owner = brand<'OwnerId'>(`${this.#name}-${this.#lives}`);
  }

  async act({ engine, disk }: World): Promise<void> {
    const job = this.#random.oneIn(3) ? undefined : this.#ready();
    if (job !== undefined) {
      await this.#report(engine.client, job);
      return;
    }
    const max = 1 + this.#random.below(4);
    const grant = await engine.client.lease(leaseRequest(this.owner, { max }))();
    // With a lost answer, the leases expire.
    if (isLeft(grant) || this.#random.oneIn(8)) return;
    const owed = new Set(effects(await durable(disk)).map(({ effect_id }) => effect_id));
    for (const effect of grant.right.effects) {
      if (!owed.has(effect.effect_id)) throw new Error(`${effect.effect_id} was granted too early`);
      this.#jobs.push({ effect, events: this.#eventsOf(effect), sent: 0 });
    }
  }

  async beat({ engine }: World): Promise<void> {
    const leases = this.#jobs.map(({ effect }) => ({ session_id: SESSION, effect_id: effect.effect_id }));
    const reply = await engine.client.heartbeat({ owner: this.owner, leases })();
    if (isLeft(reply)) return;
    const lost = new Set(reply.right.lost.map(({ effect_id }) => effect_id));
    const kept = this.#jobs.filter(({ effect }) => !lost.has(effect.effect_id));
    this.#jobs.splice(0, this.#jobs.length, ...kept);
  }

  // Any job: the start of a call is refused until its predecessors have settled, and is sent again later.
  #ready(): Job | undefined {
    return this.#jobs.length === 0 ? undefined : this.#random.pick(this.#jobs);
  }

  async #report(client: World['engine']['client'], job: Job): Promise<void> {
    const event = job.events[job.sent];
    if (event === undefined) {
      this.#jobs.splice(this.#jobs.indexOf(job), 1);
      return;
    }
    const answer = await client.submit(SESSION, { events: [ingress(event)], owner: this.owner })();
    if (this.#random.oneIn(8)) return;
    if (!isLeft(answer)) job.sent += 1;
    else if (!['internal', 'storage_unknown', 'storage_failed', 'call_not_ready'].includes(answer.left.code)) {
      this.#jobs.splice(this.#jobs.indexOf(job), 1);
    }
  }

  #eventsOf(effect: Effect): readonly LooseIngress[] {
    const named = (suffix: string, event: LooseIngress): LooseIngress => ({
      event_id: `${this.owner}/${effect.effect_id}/${suffix}`,
      ...event,
    });
    switch (effect.kind) {
      case 'llm.generate': {
        const { run_id, turn } = effect;
        const calls =
          turn > TURNS
            ? []
            : Array.from({ length: 1 + this.#random.below(5) }, (_, index) => ({
                call_id: `${turn}-${index}`,
                tool_name: this.#random.pick(TOOLS).tool_name,
                arguments: { path: `p${this.#random.below(2)}`, n: index },
              }));
        return [named('calls', { kind: 'ToolCallsObserved', run_id, turn, calls })];
      }
      case 'tool.call':
        return effect.read_only
          ? [named('end', settled(effect, !this.#random.oneIn(4)))]
          : [named('start', started(effect, this.owner)), named('end', settled(effect))];
      case 'batch.settle':
        return [named('settle', { kind: 'ToolBatchSettled', batch_id: effect.batch_id, plan_hash: effect.plan_hash })];
      case 'llm.compact':
      case 'host_session.open':
      case 'call.undo':
      case 'call.preview':
      case 'tool.cancel':
      case 'agent.tool_use':
      case 'agent.custom_tool_use':
      case 'agent.elicitation':
      case 'tool.answer':
      case 'wake':
        return [];
      default:
        return unreachable(effect);
    }
  }
}

/** Lets two bridges, faults and time act in a random order until the run has ended. */
async function play(seed: number): Promise<World> {
  const random = randomFrom(seed);
  const disk = newDisk();
  const world = await newWorld(disk);
  await world.talk.create(packageOf(TOOLS));
  await world.talk.run();
  let faults = 12;
  disk.fault = ({ name }) => {
    if (faults === 0 || name === 'sessions' || !random.oneIn(25)) return null;
    faults -= 1;
    return random.pick(['refused', 'unknown', 'lost_ack', 'throws']);
  };
  const bridges = [new Bridge('left', random), new Bridge('right', random)];
  for (let turn = 0; turn < 3_000; turn += 1) {
    const bridge = random.pick(bridges);
    const what = random.below(24);
    if (what === 0) bridge.die();
    else if (what === 1) await world.restart();
    else if (what <= 3) await world.clock.advance(random.below(TTL_MS));
    else if (what === 4) world.clock.jump(Math.max(random.below(7_200_000) - 3_600_000, -world.clock.now()));
    else if (what <= 8) await Promise.all(bridges.map((each) => each.beat(world)));
    else if (what <= 12) await Promise.all(bridges.map((each) => each.act(world)));
    else await bridge.act(world);
    if ((await durable(disk)).run === null) return world;
  }
  throw new Error(`seed ${seed}: the run does not end`);
}

describe('two bridges under random faults', () => {
  test('settle every call exactly once and end the run', async () => {
    for (let seed = 1; seed <= roundsOf(20, 400); seed += 1) {
      const world = await play(seed);
      world.disk.fault = () => null;
      const records = await must(world.engine.client.records(SESSION));
      expect(replay(records).divergence, `seed ${seed}`).toBeNull();
      const ended = new Map<string, number>();
      const settledOf = new Map<string, number>();
      const startedOnce = new Set<string>();
      for (const event of eventsOf(records)) {
        if (event.kind === 'ToolCallStarted') {
          const key = `${event.batch_id}/${event.call_id}/${event.attempt}`;
          expect(startedOnce.has(key), `seed ${seed}: ${key} was started twice`).toBe(false);
          startedOnce.add(key);
        }
        if (event.kind !== 'ToolCallSettled' && event.kind !== 'LeaseExpired') continue;
        const key = `${event.batch_id}/${event.call_id}/${event.attempt}`;
        if (event.kind === 'ToolCallSettled') {
          const call = `${event.batch_id}/${event.call_id}`;
          settledOf.set(call, (settledOf.get(call) ?? 0) + 1);
        }
        ended.set(key, (ended.get(key) ?? 0) + 1);
      }
      // Each attempt ends once, and each call has one result.
      expect(new Set([...ended.values(), ...settledOf.values()]), `seed ${seed}`).toEqual(new Set([1]));
      const { run_history, transcript } = await durable(world.disk);
      expect(run_history, `seed ${seed}`).toMatchObject([{ ending: { outcome: 'completed' } }]);
      const asked = transcript.open.flatMap(({ calls }) => calls ?? []).length;
      expect(transcript.open.filter(({ role }) => role === 'tool')).toHaveLength(asked);
      await world.engine.close();
    }
  });
});
