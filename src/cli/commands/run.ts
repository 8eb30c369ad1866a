// `refold run`: one prompt, from the first turn to the end, with live progress.
import { randomUUID } from 'node:crypto';
import { isLeft } from 'fp-ts/lib/Either.js';
import pc from 'picocolors';
import { type SessionId, makeSessionId } from '../../../schemas/ids.ts';
import type { RunConfigPatch } from '../../../schemas/run.ts';
import { upcast } from '../../../schemas/upcast.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { CreateSession } from '../../../schemas/wire.ts';
import type { EngineClient } from '../../client/client.ts';
import { connect } from '../../client/http-client.ts';
import { CONSENT_PRESETS, type ConsentPreset } from '../../toolsets/consent-presets.ts';
import { readToken, tokenFile } from '../../server/token.ts';
import { bridgeStateDir } from '../data-dir.ts';
import { findEngine } from '../engine-address.ts';
import { must } from '../../client/must.ts';
import { CommandFailure, type Output } from '../output.ts';
import { exitCodeOf, progressLines } from '../progress.ts';
import { type Child, type KeptChild, keepGoing, startBridgeProcess, startEngineProcess } from '../processes.ts';
import { newTerminalAsker, type Asker } from '../people/terminal.ts';
import { newAllowingAsker, newTellingAsker } from '../people/unattended.ts';
import { userName } from '../people/user-name.ts';
import { workspaceFile } from '../preview/workspace-file.ts';
import { storeContent } from '../store-content.ts';
import { type WatchEnd, watch } from '../watch.ts';

export interface RunCommand {
  readonly prompt: string;
  readonly dataDir: string;
  readonly workspace: string;
  /** Continues this session instead of a new one. */
  readonly session?: SessionId;
  readonly config: RunConfigPatch;
  readonly bridgeArgs: readonly string[];
  readonly secrets: Readonly<Record<string, string>>;
  /** The policy of a new session; the default one when absent. */
  readonly policy?: ConsentPreset;
  /** Allows what asks when nobody sits at a terminal, and says why; without it the run waits for an answer. */
  readonly allowBecause?: string;
  /** Never reads the terminal, even where there is one. */
  readonly unattended?: boolean;
}

export interface RunSummary extends WatchEnd {
  readonly sessionId: SessionId;
  readonly events: number;
  readonly elapsedMs: number;
  /** How the last command that a tool ran has ended; null when there was none. */
  readonly lastExitCode: number | null;
}

export async function runCommand(command: RunCommand, output: Output): Promise<number> {
  const summary = await runPrompt(command, output);
  output.line(`log ${command.dataDir}, session ${pc.bold(summary.sessionId)}`);
  return summary.state.run_history.at(-1)?.ending.outcome === 'completed' ? 0 : 1;
}

/** Starts what is missing (engine, bridge), runs the prompt, and stops what it started. */
export async function runPrompt(command: RunCommand, output: Output): Promise<RunSummary> {
  const started: Child[] = [];
  try {
    const { client, url, engine } = await engineFor(command.dataDir, started, output);
    const id = command.session ?? makeSessionId(Date.now(), randomUUID());
    if (command.session !== undefined) await refuseWhileRunning(client, id);
    const bridge = await startBridge(command, { url, id }, output);
    started.push(bridge);
    // Not before: a bridge that cannot start (its recording is none) would leave an empty session behind.
    if (command.session === undefined) await must(client.createSession({ ...newSession(command), session_id: id }));
    const lost = [bridge.givenUp, ...(engine === undefined ? [] : [engine.givenUp])];
    const summary = await Promise.race([follow(command, client, id, output), ...lost]);
    await client.close();
    return summary;
  } finally {
    for (const child of started.reverse()) await child.stop();
  }
}

/** A session that was left amid a run takes no other: its bridge would go on with that one, and nobody would watch. */
async function refuseWhileRunning(client: EngineClient, id: SessionId): Promise<void> {
  const { run } = (await must(client.session(id))).state;
  if (run === null) return;
  const goOn = run.phase.startsWith('paused_')
    ? `refold resume ${id}, then a bridge`
    : 'refold serve and refold bridge';
  const message = `${run.run_id} of ${id} is not over. To go on with it: ${goOn}; to end it: refold interrupt ${id}`;
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
    output.line(`engine ${running.url} ${pc.dim('(was running)')}`);
    return running;
  }
  // Started again where it was, so that bridge and watcher find it.
  const engine = await keepGoing(
    (before) => startEngineProcess(dataDir, before === null ? 0 : Number(new URL(String(before.ready['url'])).port)),
    (problem) => tellRestart('engine', problem, output),
  );
  started.push(engine);
  const url = String(engine.ready['url']);
  output.line(`engine ${url} ${pc.dim(`pid ${String(engine.process.pid)}, data ${dataDir}`)}`);
  output.object({ event: 'engine', url, pid: engine.process.pid, data_dir: dataDir });
  return { client: connect(url, await readToken(tokenFile(dataDir))), url, engine };
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
      startBridgeProcess({ url, tokenFile: tokenFile(dataDir), workspace, stateDir, args, secrets }, (line) =>
        tellWaiting(line, output),
      ),
    (problem) => tellRestart('bridge', problem, output),
  );
  const { owner, sandbox, sandbox_note } = bridge.ready as Readonly<Record<string, string>>;
  output.line(`bridge ${owner ?? ''} ${pc.dim(`pid ${String(bridge.process.pid)}, workspace ${workspace}`)}`);
  output.line(`sandbox ${sandbox_note ?? 'unknown'}\n`);
  output.object({ event: 'bridge', pid: bridge.process.pid, owner, sandbox, sandbox_note, workspace });
  return bridge;
}

/** That the bridge waits for the engine, and why: a run that stands still should say so. */
function tellWaiting({ event, code, message }: Readonly<Record<string, unknown>>, output: Output): void {
  if (event !== 'reconnecting' && event !== 'reconnected') return;
  const what = event === 'reconnected' ? 'goes on' : `waits for the engine: ${String(code)}, ${String(message)}`;
  output.line(pc.yellow(`  ! the bridge ${what}`));
  output.object({ event, code, message });
}

function tellRestart(who: string, problem: string | null, output: Output): void {
  output.line(pc.yellow(`  ! the ${who} ended unexpectedly; ${problem ?? 'starting it again'}`));
  output.object({ event: 'restart', process: who, problem });
}

async function follow(command: RunCommand, client: EngineClient, id: SessionId, output: Output): Promise<RunSummary> {
  const startedAt = performance.now();
  const input = await must(storeContent(client, command.prompt));
  const before = (await must(client.session(id))).state.runs_started;
  await must(client.submit(id, { events: [{ kind: 'RunRequested', input }] }));
  const cancelOnInterrupt = (): void => void cancel(client, id);
  process.once('SIGINT', cancelOnInterrupt);
  let events = 0;
  let lastExitCode: number | null = null;
  const asker = askerFor(command, client, output);
  const isOver = (state: SessionState): boolean => state.run === null && state.runs_started > before;
  const end = await watch(
    client,
    id,
    (watched) => {
      events += 1;
      if (watched.after.runs_started <= before) return;
      lastExitCode = exitCodeOf(upcast(watched.record.event)) ?? lastExitCode;
      output.object({ event: 'folded', record: watched.record });
      for (const line of progressLines(watched)) output.line(line);
      asker.update(watched.after);
    },
    isOver,
  ).finally(() => asker.close());
  process.removeListener('SIGINT', cancelOnInterrupt);
  return { ...end, sessionId: id, events, elapsedMs: Math.round(performance.now() - startedAt), lastExitCode };
}

/** Who answers when a call waits for a person: the one at the terminal, or whoever is told how. */
function askerFor({ allowBecause, unattended, workspace }: RunCommand, client: EngineClient, output: Output): Asker {
  const attended = unattended !== true && !output.json && process.stdin.isTTY && process.stdout.isTTY;
  if (attended) {
    const print = (line: string): void => output.line(line);
    return newTerminalAsker({ client, by: userName(), readFile: workspaceFile(workspace), print });
  }
  return allowBecause === undefined ? newTellingAsker(output) : newAllowingAsker(client, allowBecause, output);
}

/** A person pressed Ctrl-C: the run is cancelled, and its end is watched like any other. */
async function cancel(client: EngineClient, id: SessionId): Promise<void> {
  const view = await client.session(id)();
  if (isLeft(view) || view.right.state.run === null) return;
  const { run_id } = view.right.state.run;
  await client.submit(id, { events: [{ kind: 'RunCancelled', run_id, reason: 'interrupted at the terminal' }] })();
}
