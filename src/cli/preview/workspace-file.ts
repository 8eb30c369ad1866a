// Reads files of the local workspace for display. The path in a call may be hostile: a path that leaves the workspace, or
// names anything but a text file of bounded size, is refused with a reason.
import { closeSync, constants, fstatSync, openSync, readFileSync, realpathSync } from 'node:fs';
import { resolve, sep } from 'node:path';
import { PREVIEW_FILE_CHARS_MAX } from '../../../schemas/limits.ts';

/** The text of a file below `workspace`; null when it does not exist. Throws when it must not or cannot be shown. */
export function workspaceFile(workspace: string): (path: string) => string | null {
  const root = realpathSync(workspace);
  return (path) => {
    const real = realPath(resolve(root, path));
    if (real === null) return null;
    if (!real.startsWith(`${root}${sep}`)) throw new Error('it is outside the workspace');
    // Opened non-blocking: opening a named pipe would otherwise block.
    const file = openSync(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    try {
      const stats = fstatSync(file);
      if (!stats.isFile()) throw new Error('it is not a regular file');
      if (stats.size > PREVIEW_FILE_CHARS_MAX) throw new Error(`it has ${stats.size} bytes`);
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(file));
    } catch (error) {
      throw error instanceof TypeError ? new Error('it is not UTF-8 text', { cause: error }) : error;
    } finally {
      closeSync(file);
    }
  };
}

function realPath(path: string): string | null {
  try {
    return realpathSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new Error('its path cannot be resolved', { cause: error });
  }
}
