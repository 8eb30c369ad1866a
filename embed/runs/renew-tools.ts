// Gives an unfinished session the tools that the program has now. A call that an earlier version of the program left is judged
// by what its tool says of itself today: consent to the old definition is no consent to the new code.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { SessionId, ToolSpec } from '../../schemas/index.ts';
import { type EngineClient, must } from '../../src/client/index.ts';
import { ownTools } from '../../src/core/index.ts';
import { isSame } from './same-value.ts';

/**
 * Replaces the definitions of these tools that the session has and that differ. Throws a RejectedError when the engine refuses
 * them; a session that cannot be read is left alone, because the engine leases none of its calls either.
 */
export async function renewTools(
  client: EngineClient,
  session: SessionId,
  tools: readonly { readonly spec: ToolSpec }[],
): Promise<void> {
  const read = await client.session(session)();
  if (isLeft(read)) return;
  const { tool_profiles, provider_profiles } = read.right.state;
  const now = new Map<string, ToolSpec>(tools.map(({ spec }) => [spec.tool_id, spec]));
  const recorded = ownTools(read.right.state);
  if (recorded.every((spec) => isSame(spec, now.get(spec.tool_id) ?? spec))) return;
  const registry = recorded.map((spec) => now.get(spec.tool_id) ?? spec);
  const profiles = Object.values(tool_profiles);
  await must(client.submit(session, { events: [{ kind: 'ToolRegistrySet', registry, profiles, provider_profiles }] }));
}
