// Gives a session the skills of a command before its run begins, so that the first turn has them. From then on the bridge, which
// watches the same directories, tells the session of changes.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { SessionId } from '../../../schemas/ids.ts';
import type { EngineClient } from '../../client/client.ts';
import { must } from '../../client/must.ts';
import { storeContent } from '../../client/store-content.ts';
import { digestText } from '../../../schemas/canonical.ts';
import { readSkills } from '../../skills/read-skills.ts';
import { SKILL_TOOLSET, skillTools } from '../../skills/skill-tools.ts';
import { SKILLS_OWNER, toolsetSet } from '../../skills/toolset-event.ts';
import type { Output } from '../output.ts';

export interface CommandSkills {
  /** Absolute paths. */
  readonly directories: readonly string[];
  readonly trust: 'first' | null;
}

/** A session that has the same skills is left as it is. A refusal is said, and the run goes on without skills. */
export async function setSkills(
  client: EngineClient,
  session: SessionId,
  { directories, trust }: CommandSkills,
  output: Output,
): Promise<void> {
  const tools = skillTools(await readSkills(directories, () => Promise.resolve()));
  const { toolsets = {} } = (await must(client.session(session))).state;
  const known = Object.hasOwn(toolsets, SKILL_TOOLSET) ? toolsets[SKILL_TOOLSET] : undefined;
  const present = known?.tools ?? {};
  const isSame =
    Object.keys(present).length === tools.length &&
    tools.every(({ spec, definition }) => present[spec.tool_id] === digestText(definition));
  if (!isSame) {
    const event = await must(
      toolsetSet({ toolset: SKILL_TOOLSET, tools, trust, setBy: SKILLS_OWNER }, (text) => storeContent(client, text)),
    );
    const set = await client.submit(session, { events: [event] })();
    if (isLeft(set)) output.warn(`refold: the skills are not used: ${set.left.message} (at ${set.left.path})`);
  }
  const { toolsets: now = {} } = (await must(client.session(session))).state;
  const slot = Object.hasOwn(now, SKILL_TOOLSET) ? now[SKILL_TOOLSET] : undefined;
  const out = Object.keys(slot?.tools ?? {}).filter((id) => slot?.pins[id] !== slot?.tools[id]);
  if (out.length > 0)
    output.warn(
      `refold: ${out.length} tools of skills wait for approval: refold toolsets approve ${session} ${SKILL_TOOLSET}`,
    );
}
