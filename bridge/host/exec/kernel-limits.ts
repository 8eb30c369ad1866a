// What the kernel holds a command to, set by prlimit(1) in front of it: processes, CPU time, memory, file sizes.
import { spawnSync } from 'node:child_process';
import {
  COMMAND_CPU_SECONDS_MAX,
  COMMAND_FILES_OPEN_MAX,
  COMMAND_FILE_BYTES_MAX,
  COMMAND_MEMORY_BYTES_MAX,
  COMMAND_PROCESSES_MAX,
  PROBE_MS_MAX,
} from '../../../schemas/limits.ts';
import type { Owner } from '../workspace/workspace.ts';
import { findProgram, programDirectories } from './program.ts';

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
  const { status } = spawnSync(prlimit, [...prefix.slice(1), 'true'], {
    ...identity,
    cwd: '/',
    env: { PATH: programDirectories().join(':') },
    stdio: 'ignore',
    timeout: PROBE_MS_MAX,
  });
  return status === 0 ? prefix : [];
}
