// Installs a folder that has a lock file of its own, once for each state of that file.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What npm names when there is no way to the registry, as opposed to an answer of it. */
const UNREACHABLE =
  /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|ERR_SOCKET_TIMEOUT|ENOTCACHED)\b/;

/**
 * Runs `npm ci` in the folder when what is installed there is not what its lock file says. Returns `{ unreachable: code }`
 * when the registry cannot be reached; throws with npm's words when the installation fails otherwise.
 */
export function installFolder(folder, npm = runNpm) {
  const stamp = join(folder, 'node_modules/.refold-lock');
  const lock = createHash('sha256')
    .update(readFileSync(join(folder, 'package-lock.json')))
    .digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return {};
  const { status, stderr } = npm(['ci', '--prefer-offline', '--no-audit', '--no-fund'], folder);
  if (status !== 0) {
    const code = UNREACHABLE.exec(stderr)?.[0];
    if (code !== undefined) return { unreachable: code };
    throw new Error(`npm ci in ${folder} failed:\n${stderr}`);
  }
  writeFileSync(stamp, lock);
  return {};
}

const runNpm = (args, cwd) => spawnSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'inherit', 'pipe'] });
