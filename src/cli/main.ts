#!/usr/bin/env node
// The `refold` process: the command line on this process's arguments and standard streams.
import { endWithReader } from './output.ts';
import { runCommandLine } from './program.ts';

endWithReader();
process.exitCode = await runCommandLine(process.argv.slice(2), { stdout: process.stdout, stderr: process.stderr });
