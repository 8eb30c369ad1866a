// `refold demo`: a whole session on a small workspace that ships with the package. The model's turns are recorded;
// everything else is real: two processes, the tools, the tests they run, and the replay in a third process.
import { chmod, chown, cp, mkdtemp, readdir, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { paint } from '../../shown/paint.ts';
import { brand } from '../../../schemas/ids.ts';
import { tokenDirectory } from '../../client/token-file.ts';
import { journalOf } from '../data-dir.ts';
import { CommandFailure, type Output } from '../output.ts';
import { runFresh } from '../processes.ts';
import { shellWord } from '../../shown/shell-word.ts';
import { type RunSummary, runPrompt } from './run.ts';

const FIXTURE = fileURLToPath(new URL('../../../../replay-fixtures/demo/', import.meta.url));

export interface DemoCommand {
  /** The engine's data directory; a new temporary one when absent. */
  readonly dataDir?: string;
  readonly sandbox: string;
}

export async function demoCommand({ dataDir, sandbox }: DemoCommand, output: Output): Promise<number> {
  const home = await realpath(await mkdtemp(join(tmpdir(), 'refold-demo-')));
  const workspace = join(home, 'workspace');
  await copyWorkspace(home, workspace);
  const data = dataDir ?? join(home, 'data');
  output.line(paint.bold('refold demo') + paint.dim('  recorded model, real tools, replay proven'));
  output.line();
  const run = (level: string): Promise<RunSummary> =>
    runPrompt(
      {
        prompt: 'The tests of this little library fail. Find out why, fix it, and run them until they pass.',
        dataDir: data,
        workspace,
        config: { provider: 'recorded', model: 'demo', tool_profile: brand<'ProfileId'>('anthropic') },
        bridgeArgs: ['--provider', 'recorded', '--recording', join(FIXTURE, 'turns.jsonl'), '--sandbox', level],
        secrets: {},
        allowBecause: 'refold demo, no terminal to ask at',
      },
      output,
    );
  // Its model is recorded, so its commands are known: it also runs where nothing confines them.
  const summary = await run(sandbox).catch(async (error: unknown) => {
    if (!(error instanceof CommandFailure) || error.code !== 'sandbox_refused') throw error;
    return await run('none');
  });
  const outcome = summary.state.run_history.at(-1)?.ending.outcome;
  if (outcome !== 'completed')
    throw new CommandFailure(
      'demo_failed',
      `the demo run did not complete: it ${outcome === undefined ? 'has not ended' : `ended as ${outcome}`}`,
      1,
    );
  if (summary.lastExitCode !== 0) {
    const message = `the tests still fail: the last command exited with ${summary.lastExitCode ?? 'no code'}. See the output above, or try --sandbox none`;
    throw new CommandFailure('demo_failed', message, 1);
  }
  return await proveReplay(summary, { data, workspace }, output);
}

/** When root starts the demo, its commands run as the user `nobody`, who must own the copy. */
const NOBODY = 65_534;

async function copyWorkspace(home: string, workspace: string): Promise<void> {
  await cp(join(FIXTURE, 'workspace'), workspace, { recursive: true });
  if (process.getuid?.() !== 0) return;
  await chmod(home, 0o755);
  await chown(workspace, NOBODY, NOBODY);
  for (const entry of await readdir(workspace, { recursive: true }))
    await chown(join(workspace, entry), NOBODY, NOBODY);
}

interface Places {
  readonly data: string;
  readonly workspace: string;
}

/** Folds the log again in a fresh process, after the engine has stopped, and compares the state digests. */
async function proveReplay(summary: RunSummary, { data, workspace }: Places, output: Output): Promise<number> {
  const { sessionId, stateDigest, state } = summary;
  let printed = '';
  const exitCode = await runFresh(['replay', sessionId, '--data-dir', data, '--json'], (text) => {
    printed += text;
  });
  const replayed = JSON.parse(printed.trim().split('\n').at(-1) ?? '{}') as Readonly<Record<string, unknown>>;
  const same = exitCode === 0 && replayed['state_digest'] === stateDigest;
  const record = state.run_history.at(-1);
  output.object({
    event: 'summary',
    session_id: sessionId,
    data_dir: data,
    workspace,
    elapsed_ms: summary.elapsedMs,
    ...replayed,
  });
  output.line();
  output.line(
    `events   ${summary.events}    turns ${record?.turn ?? 0}    calls ${record?.calls ?? 0}    ${summary.elapsedMs} ms`,
  );
  output.line(`state    ${stateDigest}`);
  output.line(
    same
      ? `replay   ${paint.green(paint.bold('byte-identical'))} ${paint.dim('(the log folded again by a fresh process)')}`
      : `replay   ${paint.red(paint.bold('DIFFERS'))} ${JSON.stringify(replayed)}`,
  );
  output.line(`log      ${journalOf(data)}`);
  output.line(`files    ${workspace}  ${paint.dim(`tokens ${tokenDirectory(data)}`)}`);
  output.line();
  output.line('next:');
  for (const line of nextCommands(sessionId, data)) output.line(`  ${line}`);
  return same ? 0 : 1;
}

/** Lines for a shell that show the session of a demo. */
function nextCommands(session: string, data: string): readonly string[] {
  const place = `--data-dir ${shellWord(data)}`;
  const file = `${session}.jsonl`;
  return [
    `npx refold show ${session} ${place}`,
    `npx refold events ${session} ${place}`,
    `npx refold timeline ${session} ${place}`,
    `npx refold export ${session} ${place} --output ${file} && npx refold replay ${file}`,
  ];
}
