// `refold policy`: shows or sets which calls of a session ask a person. A new policy revokes all grants.
import { isLeft, isRight } from 'fp-ts/lib/Either.js';
import { paint } from '../../shown/paint.ts';
import { decode } from '../../../schemas/codec.ts';
import { ConsentPolicy } from '../../../schemas/consent.ts';
import type { SessionId } from '../../../schemas/ids.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { SubmitReceipt } from '../../../schemas/wire.ts';
import { CONSENT_PRESETS } from '../../toolsets/consent-presets.ts';
import { withEngine } from '../with-engine.ts';
import type { EngineClient } from '../../client/client.ts';
import { must, mustBe } from '../../client/must.ts';
import { CommandFailure, type Output } from '../output.ts';
import { userName } from '../people/user-name.ts';

interface PolicyChange {
  readonly id: SessionId;
  /** A preset by name; the session's current policy when absent. */
  readonly name?: string;
  /** `tool.id=permission,…` */
  readonly tools?: string;
}

export async function policyCommand(dataDir: string, change: PolicyChange, output: Output): Promise<number> {
  return await withEngine(dataDir, async (client) => {
    if (change.name === undefined && change.tools === undefined) {
      const { state } = await must(client.session(change.id));
      output.object({ consent: state.consent });
      for (const line of describePolicy(state)) output.line(line);
      return 0;
    }
    const { event, receipt, dropped } = await setPolicy(client, change);
    output.object({ event, receipt, dropped });
    output.line(`the policy of ${change.id} is set; earlier grants are revoked`);
    for (const [id, permission] of Object.entries(dropped))
      output.line(`  dropped: ${id}=${permission}; to keep it, add --tool ${id}=${permission}`);
    return 0;
  });
}

interface PolicySet {
  readonly event: { readonly kind: 'ConsentPolicySet'; readonly policy: ConsentPolicy; readonly by: string };
  readonly receipt: SubmitReceipt;
  /** The rules of single tools that the former policy had and this one has not. */
  readonly dropped: ConsentPolicy['tools'];
}

/** How often a policy is read again because the session changed meanwhile. */
const SETS_MAX = 32;

/** Changes the policy that it has read and no other: two changes at once both count. */
export async function setPolicy(client: EngineClient, change: PolicyChange): Promise<PolicySet> {
  for (let tries = 1; ; tries += 1) {
    const { state } = await must(client.session(change.id));
    const policy = policyFrom(state, change);
    const event = { kind: 'ConsentPolicySet' as const, policy, by: userName() };
    const receipt = await client.submit(change.id, { events: [event], expected_version: state.version })();
    if (isRight(receipt)) return { event, receipt: receipt.right, dropped: droppedBy(state, policy) };
    if (receipt.left.code !== 'version_conflict' || tries === SETS_MAX) mustBe(receipt);
  }
}

const droppedBy = ({ consent }: SessionState, { tools }: ConsentPolicy): ConsentPolicy['tools'] =>
  Object.fromEntries(Object.entries(consent.policy.tools).filter(([id]) => !Object.hasOwn(tools, id)));

function policyFrom({ consent }: SessionState, { name, tools }: PolicyChange): ConsentPolicy {
  if (name !== undefined && !Object.hasOwn(CONSENT_PRESETS, name)) {
    throw new CommandFailure(
      'not_found',
      `there is no policy "${name}". The presets are ${Object.keys(CONSENT_PRESETS).join(', ')}`,
    );
  }
  const base = name === undefined ? consent.policy : CONSENT_PRESETS[name as keyof typeof CONSENT_PRESETS];
  const exceptions = (tools ?? '').split(',').filter((entry) => entry !== '');
  const given = Object.fromEntries(exceptions.map((entry) => entry.split('=')));
  const decoded = decode(ConsentPolicy, { ...base, tools: { ...base.tools, ...given } });
  if (isLeft(decoded)) {
    const message = `--tool takes TOOL_ID=always_allow, always_ask or deny, separated by commas (at ${decoded.left.path})`;
    throw new CommandFailure(decoded.left.code, message);
  }
  return decoded.right;
}

function describePolicy({ consent }: SessionState): readonly string[] {
  const modes = Object.entries(consent.policy.modes).map(([mode, does]) => `${mode.padEnd(12)} ${paint.bold(does)}`);
  const tools = Object.entries(consent.policy.tools).map(([id, permission]) => `${id}  ${paint.bold(permission)}`);
  const grants = consent.grants.map(({ tool_id, argument, pattern }) =>
    argument === undefined
      ? `granted ${tool_id}`
      : `granted ${tool_id} where ${argument} matches ${pattern} and every other argument is as approved`,
  );
  return [...modes, ...tools, ...grants];
}
