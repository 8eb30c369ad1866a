// Starts the program, has it killed in the middle of a refund, and starts it again: node examples/ai-sdk-refund/main.mjs
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installPackages } from './install.mjs';

installPackages();
const directory = mkdtempSync(join(tmpdir(), 'ai-sdk-refund-'));
const linesOf = (name) => readFileSync(join(directory, name), 'utf8').trim().split('\n').join(', ');

function start(env) {
  const program = fileURLToPath(new URL('refund.mjs', import.meta.url));
  const options = { env: { ...process.env, ...env }, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] };
  const { signal, status, stdout } = spawnSync(process.execPath, [program, directory], options);
  if (signal === null && status !== 0) throw new Error(`the program failed with code ${status}`);
  return signal === null ? stdout.trim() : `killed by ${signal}`;
}

try {
  console.log(`first start: ${start({ KILLED_IN: '41' })}`);
  console.log(`second start: ${start({})}`);
  console.log(`refunds that happened: ${linesOf('refunds')}`);
  console.log(`the model was asked: ${linesOf('asked')}`);
} finally {
  rmSync(directory, { recursive: true });
}
