// `refold sessions`: the sessions of a data directory, read page by page.
import { paint } from '../../shown/paint.ts';
import type { SessionId } from '../../../schemas/ids.ts';
import type { SessionStatus } from '../../../schemas/session-head.ts';
import type { DeletedPage, SessionSummary } from '../../../schemas/wire.ts';
import { type SessionFilters, allSessions } from '../../client/all-sessions.ts';
import { must } from '../../client/must.ts';
import { hasData } from '../data-dir.ts';
import type { Output } from '../output.ts';
import { withEngine } from '../with-engine.ts';

export interface SessionsCommand {
  readonly dataDir: string;
  readonly filters: SessionFilters;
}

export async function sessionsCommand({ dataDir, filters }: SessionsCommand, output: Output): Promise<number> {
  let listed = 0;
  if (await hasData(dataDir)) {
    await withEngine(dataDir, async (client) => {
      for await (const session of allSessions(client, filters)) {
        listed += 1;
        output.object(session);
        output.line(lineOf(session));
      }
    });
  }
  if (listed > 0) return 0;
  const filtered = Object.keys(filters).length > 0;
  output.line(
    filtered
      ? `no such session in ${dataDir}. List all of them: refold sessions`
      : `no sessions in ${dataDir}. Create one: refold demo, or refold run "..." --workspace DIR`,
  );
  return 0;
}

/** The tombstones of deleted sessions. */
export async function deletedCommand(dataDir: string, output: Output): Promise<number> {
  let listed = 0;
  if (await hasData(dataDir)) {
    await withEngine(dataDir, async (client) => {
      for (let after: SessionId | null | undefined; after !== null;) {
        const page: DeletedPage = await must(client.deletedSessions(after === undefined ? {} : { after }));
        for (const tombstone of page.deleted) {
          const { session_id, version, chain, deleted_at_ms } = tombstone;
          output.object(tombstone);
          output.line(
            `${session_id}  ${version ?? 'unknown'} events  ${chain ?? 'chain value lost'}  deleted ${new Date(deleted_at_ms).toISOString()}`,
          );
        }
        listed += page.deleted.length;
        after = page.next;
      }
    });
  }
  if (listed === 0) output.line(`no deleted sessions in ${dataDir}`);
  return 0;
}

function lineOf({ session_id, version, card }: SessionSummary): string {
  const { title, status, parent, outcome, last_activity_ms } = card;
  const columns = [
    session_id,
    `${String(version).padStart(6)} events`,
    COLOURS[status](status.padEnd(STATUS_WIDTH)),
    (outcome ?? '-').padEnd(OUTCOME_WIDTH),
    new Date(last_activity_ms).toISOString(),
    title ?? paint.dim('no input yet'),
    ...(parent === null ? [] : [paint.dim(`fork of ${parent}`)]),
  ];
  return columns.join('  ');
}

const STATUS_WIDTH = 'requires_action'.length;
const OUTCOME_WIDTH = 'interrupted'.length;

const COLOURS: Readonly<Record<SessionStatus, (text: string) => string>> = {
  idle: paint.dim,
  running: paint.cyan,
  waiting: paint.dim,
  requires_action: paint.yellow,
  paused: paint.yellow,
  incomplete: paint.red,
};
