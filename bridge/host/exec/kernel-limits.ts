// The resource limits of a command, which prlimit(1) in front of it sets: processes, memory, CPU time, size and number of
// files.
import {
  COMMAND_CPU_SECONDS_MAX,
  COMMAND_FILES_OPEN_MAX,
  COMMAND_FILE_BYTES_MAX,
  COMMAND_MEMORY_BYTES_MAX,
  COMMAND_PROCESSES_MAX,
} from '../../../schemas/limits.ts';
import type { Owner } from '../workspace/workspace.ts';
import { findHelper } from '../../../src/files/helper-programs.ts';
import { worksInFront } from './find-program.ts';

/** Empty where prlimit is not installed, or where these limits exceed the host's own. */
export function limitPrefix(identity: Owner | null): readonly string[] {
  const prlimit = findHelper('prlimit');
  if (prlimit === null) return [];
  const prefix = [
    prlimit,
    `--nproc=${COMMAND_PROCESSES_MAX}`,
    `--data=${COMMAND_MEMORY_BYTES_MAX}`,
    `--cpu=${COMMAND_CPU_SECONDS_MAX}`,
    `--fsize=${COMMAND_FILE_BYTES_MAX}`,
    `--nofile=${COMMAND_FILES_OPEN_MAX}`,
    '--core=0',
    '--',
  ];
  return worksInFront(prefix, identity) ? prefix : [];
}
