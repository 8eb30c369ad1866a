// One run from its request to its end, as a list of requests of a bridge and a person. Each is sent again until it is
// accepted; event ids make that safe.
import { CONSENT_PRESETS } from '../../../src/toolsets/consent-presets.ts';
import { isLeft } from 'fp-ts/lib/Either.js';
import type { OwnerId } from '../../../schemas/ids.ts';
import type { RejectionCode } from '../../../schemas/rejection.ts';
import type { LeaseGrant } from '../../../schemas/wire.ts';
import { effects } from '../../../src/core/index.ts';
import { FREE, ONCE } from '../tools.ts';
import type { Disk } from './disk.ts';
import {
  A,
  type LooseIngress,
  SESSION,
  callsIn,
  durable,
  ingress,
  leaseRequest,
  packageOf,
  settled,
  started,
} from './world.ts';
import type { EngineClient } from '../../../src/client/client.ts';

type Code = RejectionCode | 'done';

/** Sends one request and returns its code. */
export type Step = (client: EngineClient) => Promise<Code>;

const content = (text: string): { readonly text: string } => ({ text });
const LONG = 'x'.repeat(9_000);

/** Submits an event under the given id. */
const submit =
  (id: string, event: LooseIngress, owner?: OwnerId): Step =>
  async (client) => {
    const events = [ingress({ event_id: id, ...event })];
    const answer = await client.submit(SESSION, { events, ...(owner === undefined ? {} : { owner }) })();
    return isLeft(answer) ? answer.left.code : 'done';
  };

/** Leases, and checks that the durable state owes every granted effect. */
const lease =
  (disk: Disk, keep: (grant: LeaseGrant) => void): Step =>
  async (client) => {
    const answer = await client.lease(leaseRequest(A))();
    if (isLeft(answer)) return answer.left.code;
    const state = await durable(disk);
    const owed = new Set(effects(state).map(({ effect_id }) => effect_id));
    const early = answer.right.effects.filter(({ effect_id }) => !owed.has(effect_id));
    if (early.length > 0) throw new Error(`granted before it was durable: ${early[0]?.effect_id ?? ''}`);
    keep(answer.right);
    return 'done';
  };

export function scenario(disk: Disk): readonly Step[] {
  let grant: LeaseGrant = { effects: [], epochs: [], plans: [], ttl_ms: 1 };
  const known = new Map<string, ReturnType<typeof callsIn>[number]>();
  const remember = (given: LeaseGrant): void => {
    grant = given;
    for (const call of callsIn(grant)) known.set(call.call_id, call);
  };
  const call = (id: string): ReturnType<typeof callsIn>[number] => {
    const found = known.get(id);
    if (found === undefined) throw new Error(`the call ${id} was never leased`);
    return found;
  };
  const late =
    (make: () => Step): Step =>
    (client) =>
      make()(client);
  const calls = [
    { call_id: 'a', tool_name: 'once', arguments_text: '{"n":1}' },
    { call_id: 'b', tool_name: 'free', arguments: { long: LONG } },
    { call_id: 'c', tool_name: 'none', arguments_text: 'no json' },
  ];
  return [
    async (client) => {
      const created = await client.createSession({
        session_id: SESSION,
        tool_package: packageOf([ONCE, FREE]),
        consent: CONSENT_PRESETS.allow_all,
      })();
      if (!isLeft(created)) return 'done';
      return created.left.code === 'session_exists' ? 'done' : created.left.code;
    },
    submit('e-run', { kind: 'RunRequested', input: content('go') }),
    lease(disk, remember),
    submit('e-calls', { kind: 'ToolCallsObserved', run_id: 'run-1', turn: 1, calls }, A),
    lease(disk, remember),
    late(() => submit('e-start', started(call('a'), A), A)),
    late(() => submit('e-a', settled(call('a')), A)),
    late(() => submit('e-start-b', started(call('b'), A), A)),
    late(() => submit('e-b', settled(call('b'), false), A)),
    lease(disk, remember),
    late(() => submit('e-batch', { kind: 'ToolBatchSettled', batch_id: 'batch-1', plan_hash: call('a').plan_hash }, A)),
    submit('e-end', { kind: 'ToolCallsObserved', run_id: 'run-1', turn: 2, calls: [], content: content('done') }, A),
  ];
}
