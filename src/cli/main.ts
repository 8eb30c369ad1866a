#!/usr/bin/env node
// The command line. Each command loads its own module when it is called, so that `refold --version` loads none.
import { Command, CommanderError } from 'commander';
import { PACKAGE_VERSION } from '../version.ts';
import { addAudit, addCheckpoint, addFork, addTimeline, addWhatIf } from './audit-commands.ts';
import { addBench, addInspection, addProcesses, addRuns, addTransfer, addUndo } from './commands.ts';
import { endWithReader } from './output.ts';
import { addPeople } from './people-commands.ts';

const program = new Command('refold')
  .description('The deterministic engine under an AI agent’s tool calls: decide, plan, log, replay.')
  .version(PACKAGE_VERSION)
  .showHelpAfterError('(see refold --help)')
  .configureHelp({ sortSubcommands: false })
  .exitOverride();

addRuns(program);
addPeople(program);
addUndo(program);
addProcesses(program);
addInspection(program);
addAudit(program);
addTimeline(program);
addCheckpoint(program);
addTransfer(program);
addFork(program);
addWhatIf(program);
addBench(program);

endWithReader();
try {
  await program.parseAsync();
} catch (error) {
  // Help and version end with 0; everything else that the parser ends is misuse.
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : 2;
}
