// Files of the user from which programs of the user run commands, whatever directory these programs start in: the
// configuration of version control programs, of ssh, and what shells read when they start. Where the workspace contains the
// home directory, tools read them and do not write them.
import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, relative } from 'node:path';
import { isWithin, pathsShowing, readMounts } from './mounts.ts';

/** Below the home directory. */
const FILES: readonly string[] = [
  ['.gitconfig', '.config/git', '.hgrc', '.config/hg', '.jjconfig.toml', '.config/jj', '.ssh', '.gnupg'],
  ['.config/sapling', '.darcs', '.config/pijul', '.bazaar', '.config/breezy', '.monotone', '.fossil', '.repoconfig'],
  ['.profile', '.bashrc', '.bash_profile', '.bash_login', '.bash_logout', '.bash_aliases', '.config/fish'],
  ['.zshenv', '.zshrc', '.zprofile', '.zlogin', '.zlogout'],
  ['.config/systemd', '.config/autostart', '.pam_environment'],
].flat();

/** The names that lead to each of them from the workspace; some may not exist. None when the home directory lies elsewhere. */
export function userFilesIn(workspace: string, home: string = homedir()): readonly (readonly string[])[] {
  if (!isAbsolute(home)) return [];
  const mounts = readMounts();
  const homes = pathsShowing(realOrSame(home), mounts).filter((path) => isWithin(path, workspace));
  return homes.flatMap((path) => FILES.map((file) => relative(workspace, join(path, file)).split('/')));
}

function realOrSame(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
