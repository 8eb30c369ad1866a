// `refold undo`: restores the files that a settled call changed, and waits until that is done or refused. A separate bridge
// does only this, in the workspace of the session.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { paint } from '../../shown/paint.ts';
import type { EventOfKind } from '../../../schemas/event.ts';
import type { BatchId, CallId, Position, SessionId } from '../../../schemas/ids.ts';
import type { FileChange } from '../../../schemas/undo.ts';
import type { EngineClient } from '../../client/client.ts';
import { tokenFile } from '../../client/token-file.ts';
import { bridgeStateDir, ownDirectories } from '../data-dir.ts';
import { must } from '../../client/must.ts';
import { CommandFailure, type Output } from '../output.ts';
import { visible } from '../../shown/visible.ts';
import { startBridgeProcess } from '../processes.ts';
import { withEngineProcess } from '../with-engine-process.ts';

export interface UndoCommand {
  readonly dataDir: string;
  readonly session: SessionId;
  readonly call: CallId;
  /** The batch, when calls of several batches have this id; the last one when absent. */
  readonly batch?: BatchId;
  /** The directory of the files; the session's last workspace when absent. */
  readonly workspace?: string;
  /** What to call that directory: the name of a directory that it is a copy of, or was. */
  readonly workspaceName?: string;
}

export async function undoCommand(command: UndoCommand, output: Output): Promise<number> {
  const { dataDir, session } = command;
  return await withEngineProcess(dataDir, async ({ client, url }) => {
    const { state } = await must(client.session(session));
    const workspace = workspaceOf(command, state.tool_runtime_context.workspace);
    // Started before the request: an undo must not be requested when no bridge can do it.
    const bridge = await startBridgeProcess({
      url,
      tokenFile: tokenFile(dataDir, 'bridge'),
      workspace,
      // Where a killed bridge has noted the patches that it left half written.
      stateDir: bridgeStateDir(dataDir),
      protect: ownDirectories(dataDir),
      args: ['--undo-only', '--session', session, ...namedBy(command)],
    });
    try {
      return await undo(command, { client, workspace: String(bridge.ready['workspace']) }, output);
    } finally {
      await bridge.stop();
    }
  });
}

const namedBy = ({ workspaceName }: UndoCommand): readonly string[] =>
  workspaceName === undefined ? [] : ['--workspace-name', workspaceName];

function workspaceOf({ workspace, session }: UndoCommand, recorded: string | null): string {
  const found = workspace ?? recorded;
  if (found !== null && existsSync(found)) return resolve(found);
  const why = found === null ? `${session} has recorded no workspace` : `there is no directory ${found}`;
  throw new CommandFailure('no_workspace', `${why}. Give the directory that its tools worked in: --workspace DIR`);
}

async function undo(
  { session, call, batch }: UndoCommand,
  { client, workspace }: { readonly client: EngineClient; readonly workspace: string },
  output: Output,
): Promise<number> {
  // Stated, so that the engine refuses an undo that this bridge cannot do.
  const named = {
    kind: 'UndoRequested',
    call_id: call,
    workspace,
    ...(batch === undefined ? {} : { batch_id: batch }),
  } as const;
  const receipt = await must(client.submit(session, { events: [named] }));
  const position = receipt.events[0]?.position ?? (0 as Position);
  const changes = await requestedAt(client, session, position);
  const settled = await settlementOf(client, session, position);
  output.object({ event: 'undo', session_id: session, position, settled, changes });
  if (!settled.success) {
    output.line(paint.red(`not undone: ${visible(settled.message ?? settled.code ?? 'no reason given')}`));
    return 1;
  }
  for (const change of changes) output.line(`${outcomeOf(change)}  ${visible(change.path)}`);
  return 0;
}

async function requestedAt(client: EngineClient, id: SessionId, at: Position): Promise<readonly FileChange[]> {
  const [commit] = await must(client.records(id, at, 1));
  const event = commit?.kind === 'commit' ? commit.events[at - commit.position] : undefined;
  return event?.kind === 'UndoRequested' ? (event.changes ?? []) : [];
}

async function settlementOf(client: EngineClient, id: SessionId, at: Position): Promise<EventOfKind<'UndoSettled'>> {
  const over = new AbortController();
  try {
    for await (const { event } of client.follow(id, { from: at, signal: over.signal })) {
      if (event.kind === 'UndoSettled' && event.position === at) return event;
    }
  } finally {
    over.abort();
  }
  throw new CommandFailure(
    'closing',
    'the connection to the engine ended; the undo is still pending, and the next bridge will do it',
  );
}

function outcomeOf({ before, after_digest }: FileChange): string {
  if (before === null) return paint.red('removed ');
  return after_digest === null ? paint.green('put back') : paint.yellow('restored');
}
