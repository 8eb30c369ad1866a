// `refold run`: runs one prompt until the run ends, with live progress.
import { randomUUID } from 'node:crypto';
import { paint } from '../../shown/paint.ts';
import { type SessionId, makeSessionId } from '../../../schemas/ids.ts';
import type { RunConfigPatch } from '../../../schemas/run.ts';
import { upcast } from '../../../schemas/upcast.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { CreateSession } from '../../../schemas/wire.ts';
import type { FoldedEvent } from '../../core/folded-event.ts';
import type { EngineClient } from '../../client/client.ts';
import { connect } from '../../client/http-client.ts';
import { refuseStranger } from '../../files/listening-user.ts';
import { CONSENT_PRESETS, type ConsentPreset } from '../../toolsets/consent-presets.ts';
import { readToken, tokenFile } from '../../client/token-file.ts';
import { type FileToAttach, storeAttachments } from '../attachments.ts';
import { bridgeStateDir, ownDirectories } from '../data-dir.ts';
import { findEngine } from '../engine-address.ts';
import { must } from '../../client/must.ts';
import { CommandFailure, type Output } from '../output.ts';
import { exitCodeOf, progressLines } from '../progress.ts';
import { cancelRun } from '../cancel-run.ts';
import { type KeptChild, keepGoing } from '../keep-going.ts';
import { type Child, startBridgeProcess, startEngineProcess } from '../processes.ts';
import { newTerminalAsker, type Asker } from '../people/terminal-asker.ts';
import { newAllowingAsker, newPrintingAsker } from '../people/unattended-asker.ts';
import { userName } from '../people/user-name.ts';
import type { CommandSkills } from '../sources/set-skills.ts';
import { visible } from '../../shown/visible.ts';
import { workspaceFile } from '../preview/workspace-file.ts';
import { storeContent } from '../../client/store-content.ts';
import { type WatchEnd, watchRun } from '../watch.ts';
import { newWritingNote } from '../writing-note.ts';

export interface RunCommand {
  readonly prompt: string;
  readonly dataDir: string;
  readonly workspace: string;
  /** The session to continue; a new one when absent. */
  readonly session?: SessionId;
  readonly config: RunConfigPatch;
  /** What goes to the model with the prompt. */
  readonly files?: readonly FileToAttach[];
  readonly bridgeArgs: readonly string[];
  /** The skills of the run; none when absent. */
  readonly skills?: CommandSkills;
  readonly secrets: Readonly<Record<string, string>>;
  /** The policy of a new session; the default one when absent. */
  readonly policy?: ConsentPreset;
  /** Allows each call that asks when no terminal is attached, with this reason; when absent, the run waits for an answer. */
  readonly allowBecause?: string;
  /** Never reads the terminal, even if one is attached. */
  readonly unattended?: boolean;
}

export interface RunSummary extends WatchEnd {
  readonly sessionId: SessionId;
  readonly events: number;
  readonly elapsedMs: number;
  /** The exit code of the last command that a tool ran; null when none ran. */
  readonly lastExitCode: number | null;
}

export async function runCommand(command: RunCommand, output: Output): Promise<number> {
  const summary = await runPrompt(command, output);
  output.line(`log ${command.dataDir}, session ${paint.bold(summary.sessionId)}`);
  return summary.state.run_history.at(-1)?.ending.outcome === 'completed' ? 0 : 1;
}

/** Starts an engine if none runs, and a bridge; runs the prompt; stops what it started. */
export async function runPrompt(command: RunCommand, output: Output): Promise<RunSummary> {
  const started: Child[] = [];
  try {
    const { client, url, engine } = await engineFor(command.dataDir, started, output);
    const id = command.session ?? makeSessionId(Date.now(), randomUUID());
    if (command.session !== undefined) await refuseWhileRunning(client, id);
    const bridge = await startBridge(command, { url, id }, output);
    started.push(bridge);
    // Created after the bridge has started: a bridge that cannot start must not leave an empty session behind.
    if (command.session === undefined) await must(client.createSession({ ...newSession(command), session_id: id }));
    await giveSkills(command, client, id, output);
    const lost = [bridge.givenUp, ...(engine === undefined ? [] : [engine.givenUp])];
    const summary = await Promise.race([follow(command, client, id, output), ...lost]);
    await client.close();
    return summary;
  } finally {
    for (const child of started.reverse()) await child.stop();
  }
}

/** The YAML reader is loaded only where there are skills. */
async function giveSkills({ skills }: RunCommand, client: EngineClient, id: SessionId, output: Output): Promise<void> {
  if (skills === undefined || skills.directories.length === 0) return;
  const { setSkills } = await import('../sources/set-skills.ts');
  await setSkills(client, id, skills, output);
}

/** A session with an unfinished run takes no other: a bridge would continue the old run unwatched. */
async function refuseWhileRunning(client: EngineClient, id: SessionId): Promise<void> {
  const { run } = (await must(client.session(id))).state;
  if (run === null) return;
  const next = run.phase.startsWith('paused_')
    ? `refold resume ${id}, then a bridge`
    : 'refold serve and refold bridge';
  const message = `${run.run_id} of ${id} is not over. To continue it: ${next}; to end it: refold interrupt ${id}`;
  throw new CommandFailure('run_already_active', message);
}

const newSession = ({ config, policy }: RunCommand): CreateSession =>
  policy === undefined ? { config } : { config, consent: CONSENT_PRESETS[policy] };

async function engineFor(
  dataDir: string,
  started: Child[],
  output: Output,
): Promise<{ client: EngineClient; url: string; engine?: KeptChild }> {
  const running = await findEngine(dataDir);
  if (running !== null) {
    output.line(`engine ${running.url} ${paint.dim('(already running)')}`);
    return running;
  }
  // A restart uses the same port, so the bridge and this command find the engine again.
  const engine = await keepGoing(
    (before) => startEngineProcess(dataDir, before === null ? 0 : Number(new URL(String(before.ready['url'])).port)),
    (problem) => reportRestart('engine', problem, output),
  );
  started.push(engine);
  const url = String(engine.ready['url']);
  const operator = tokenFile(dataDir, 'operator');
  output.line(`engine ${url} ${paint.dim(`pid ${String(engine.process.pid)}, data ${dataDir}`)}`);
  output.object({ event: 'engine', url, pid: engine.process.pid, data_dir: dataDir });
  return {
    client: connect(url, await readToken(operator), { refuseListener: refuseStranger(url, operator) }),
    url,
    engine,
  };
}

async function startBridge(
  { dataDir, workspace, bridgeArgs, secrets }: RunCommand,
  { url, id }: { readonly url: string; readonly id: SessionId },
  output: Output,
): Promise<KeptChild> {
  const args = ['--session', id, ...bridgeArgs];
  const stateDir = bridgeStateDir(dataDir);
  const bridge = await keepGoing(
    () =>
      startBridgeProcess(
        {
          url,
          tokenFile: tokenFile(dataDir, 'bridge'),
          workspace,
          stateDir,
          protect: ownDirectories(dataDir),
          args,
          secrets,
        },
        (line) => {
          reportWaiting(line, output);
          reportQuarantined(line, output);
        },
      ),
    (problem) => reportRestart('bridge', problem, output),
  );
  const { owner, sandbox, sandbox_note } = bridge.ready as Readonly<Record<string, string>>;
  output.line(`bridge ${owner ?? ''} ${paint.dim(`pid ${String(bridge.process.pid)}, workspace ${workspace}`)}`);
  output.line(`sandbox ${sandbox_note ?? 'unknown'}`);
  output.line();
  output.object({ event: 'bridge', pid: bridge.process.pid, owner, sandbox, sandbox_note, workspace });
  return bridge;
}

/** Reports that the bridge waits for the engine and why, so a stalled run explains itself. */
function reportWaiting({ event, code, message }: Readonly<Record<string, unknown>>, output: Output): void {
  if (event !== 'reconnecting' && event !== 'reconnected') return;
  const what = event === 'reconnected' ? 'continues' : `waits for the engine: ${String(code)}, ${String(message)}`;
  output.line(paint.yellow(`  ! the bridge ${what}`));
  output.object({ event, code, message });
}

/** Reports the git directories that the bridge moved because an earlier one was killed while commands ran. */
function reportQuarantined({ event, moved }: Readonly<Record<string, unknown>>, output: Output): void {
  if (event !== 'git_quarantined' || !Array.isArray(moved)) return;
  for (const { path, movedTo } of moved as readonly { path: string; movedTo: string | null }[]) {
    const what =
      movedTo === null ? 'could not be moved: do not run git or npx there' : `was moved to ${visible(movedTo)}`;
    output.line(
      paint.yellow(
        `  ! a command of a killed bridge left ${visible(path)}, which programs of yours would follow; it ${what}`,
      ),
    );
  }
  output.object({ event, moved });
}

function reportRestart(name: string, problem: string | null, output: Output): void {
  output.line(paint.yellow(`  ! the ${name} ended unexpectedly; ${problem ?? 'restarting it'}`));
  output.object({ event: 'restart', process: name, problem });
}

async function follow(command: RunCommand, client: EngineClient, id: SessionId, output: Output): Promise<RunSummary> {
  const startedAt = performance.now();
  const input = await must(storeContent(client, command.prompt));
  const attached = await storeAttachments(client, command.files ?? []);
  const before = (await must(client.session(id))).state.runs_started;
  await must(client.submit(id, { events: [{ kind: 'RunRequested', input, ...attached }] }));
  // The command still follows the run to its end.
  const cancelOnInterrupt = (): void => void cancelRun(client, id, (why) => output.warn(`refold: ${why}`));
  process.once('SIGINT', cancelOnInterrupt);
  let events = 0;
  let lastExitCode: number | null = null;
  const asker = askerFor(command, client, output);
  const isOver = (state: SessionState): boolean => state.run === null && state.runs_started > before;
  const onEvent = (watched: FoldedEvent): void => {
    events += 1;
    if (watched.after.runs_started <= before) return;
    lastExitCode = exitCodeOf(upcast(watched.event)) ?? lastExitCode;
    output.object({ event: 'folded', record: { position: watched.position, event: watched.event } });
    writing.end();
    for (const line of progressLines(watched)) output.line(line);
    asker.update(watched.after);
  };
  const writing = newWritingNote(output);
  const end = await watchRun(client, id, { onEvent, onDelta: writing.update, isOver }).finally(() => asker.close());
  process.removeListener('SIGINT', cancelOnInterrupt);
  return { ...end, sessionId: id, events, elapsedMs: Math.round(performance.now() - startedAt), lastExitCode };
}

/** What happens when a call waits for a person: the terminal asks, or the commands that answer are printed. */
function askerFor({ allowBecause, unattended, workspace }: RunCommand, client: EngineClient, output: Output): Asker {
  const attended = unattended !== true && !output.json && process.stdin.isTTY && process.stdout.isTTY;
  if (attended) {
    const print = (line: string): void => output.line(line);
    return newTerminalAsker({ client, by: userName(), readFile: workspaceFile(workspace), print });
  }
  return allowBecause === undefined ? newPrintingAsker(output) : newAllowingAsker(client, allowBecause, output);
}
