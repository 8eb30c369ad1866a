// The whole command line as a function of its arguments and streams, so tests can run commands in their own process.
// Each command loads its module when it is called; `refold --version` loads none.
import { Command, CommanderError } from 'commander';
import { PACKAGE_VERSION } from '../version.ts';
import { addAudit, addCheckpoint, addFork, addRequest, addTimeline, addWhatIf } from './audit-commands.ts';
import { addBench } from './bench-command.ts';
import { addCatalog, addSkills } from './catalog-commands.ts';
import type { Program } from './command.ts';
import { addInspection, addOpen, addProcesses, addRuns, addUndo } from './commands.ts';
import { addTransfer } from './transfer-commands.ts';
import { addJournal } from './journal/journal-commands.ts';
import { addMcpConfig } from './mcp-config-commands.ts';
import type { Streams } from './output.ts';
import { addMcp } from './mcp-commands.ts';
import { addAnswers, addRules, addSteering, addToolsets } from './people-commands.ts';
import { addTokens } from './token-command.ts';

/** Runs one command line and returns its exit code. */
export async function runCommandLine(args: readonly string[], streams: Streams): Promise<number> {
  const program = newProgram(streams);
  try {
    await program.root.parseAsync([...args], { from: 'user' });
  } catch (error) {
    // Help and version end with 0; every other error of the parser is misuse.
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? 0 : 2;
  }
  return program.exitCode;
}

function newProgram(streams: Streams): Program {
  const root = new Command('refold')
    .description('The deterministic engine under an AI agent’s tool calls: decide, plan, log, replay.')
    .version(PACKAGE_VERSION)
    .showHelpAfterError('(see refold --help)')
    .configureHelp({ sortSubcommands: false })
    .configureOutput({
      writeOut: (text) => void streams.stdout.write(text),
      writeErr: (text) => void streams.stderr.write(text),
    })
    .exitOverride();
  const program: Program = { root, streams, exitCode: 0 };
  addRuns(program);
  addAnswers(program);
  addSteering(program);
  addRules(program);
  addToolsets(program);
  addUndo(program);
  addProcesses(program);
  addTokens(program);
  addMcp(program);
  addCatalog(program);
  addSkills(program);
  addOpen(program);
  addInspection(program);
  addAudit(program);
  addTimeline(program);
  addRequest(program);
  addCheckpoint(program);
  addTransfer(program);
  addFork(program);
  addWhatIf(program);
  addMcpConfig(program);
  addJournal(program);
  addBench(program);
  return program;
}
