// What the kernel holds a command to, set by prlimit(1) in front of it: processes, CPU time, memory, file sizes.
import {
  COMMAND_CPU_SECONDS_MAX,
  COMMAND_FILES_OPEN_MAX,
  COMMAND_FILE_BYTES_MAX,
  COMMAND_MEMORY_BYTES_MAX,
  COMMAND_PROCESSES_MAX,
} from '../../../schemas/limits.ts';
import type { Owner } from '../workspace/workspace.ts';
import { findProgram, worksInFront } from './program.ts';

/** Empty where prlimit is not installed, or where these limits lie above what the host itself is held to. */
export function limitPrefix(identity: Owner | null): readonly string[] {
  const prlimit = findProgram('prlimit');
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
