// `refold sessions`: the sessions of a data directory.
import pc from 'picocolors';
import { hasData } from '../data-dir.ts';
import { withEngine } from '../with-engine.ts';
import { must } from '../../client/must.ts';
import type { Output } from '../output.ts';

export async function sessionsCommand(dataDir: string, output: Output): Promise<number> {
  const sessions = (await hasData(dataDir)) ? await withEngine(dataDir, (client) => must(client.sessions())) : [];
  for (const session of sessions) {
    output.object(session);
    output.line(
      `${session.session_id}  ${String(session.version).padStart(6)} events  ${session.owing ? pc.cyan('active') : pc.dim('idle')}`,
    );
  }
  if (sessions.length === 0)
    output.line(`no sessions in ${dataDir}. Create one: refold demo, or refold run "..." --workspace DIR`);
  return 0;
}
