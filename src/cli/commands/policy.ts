// `refold policy`: shows or sets which calls of a session ask a person. A new policy revokes all grants.
import { isLeft } from 'fp-ts/lib/Either.js';
import pc from 'picocolors';
import { decode } from '../../../schemas/codec.ts';
import { ConsentPolicy } from '../../../schemas/consent.ts';
import type { SessionId } from '../../../schemas/ids.ts';
import type { SessionState } from '../../../schemas/state.ts';
import { CONSENT_PRESETS } from '../../toolsets/consent-presets.ts';
import { withEngine } from '../with-engine.ts';
import { must } from '../../client/must.ts';
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
    const { state } = await must(client.session(change.id));
    if (change.name === undefined && change.tools === undefined) {
      output.object({ consent: state.consent });
      for (const line of describePolicy(state)) output.line(line);
      return 0;
    }
    const policy = policyFrom(state, change);
    const event = { kind: 'ConsentPolicySet' as const, policy, by: userName() };
    const receipt = await must(client.submit(change.id, { events: [event] }));
    output.object({ event, receipt });
    output.line(`the policy of ${change.id} is set; earlier grants are revoked`);
    return 0;
  });
}

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
  const modes = Object.entries(consent.policy.modes).map(([mode, does]) => `${mode.padEnd(12)} ${pc.bold(does)}`);
  const tools = Object.entries(consent.policy.tools).map(([id, permission]) => `${id}  ${pc.bold(permission)}`);
  const grants = consent.grants.map(({ tool_id, argument, pattern }) =>
    argument === undefined
      ? `granted ${tool_id}`
      : `granted ${tool_id} where ${argument} matches ${pattern} and every other argument is as approved`,
  );
  return [...modes, ...tools, ...grants];
}
