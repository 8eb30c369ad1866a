// What one patch may cost. A patch runs without letting other work of the bridge run in between, so that no other call sees
// half of it; its work is therefore bounded, by sizes where it begins and by the lines it compares.
import { PATCH_COMPARED_MAX, PATCH_LINES_MAX, PATCH_READ_BYTES_MAX } from '../../../schemas/limits.ts';
import { ToolFault } from '../outcome.ts';

export interface PatchWork {
  /** Counts the bytes of a file before it is read. */
  load(bytes: number, shown: string): void;
  /** Counts the lines of a file to update. */
  read(text: string, shown: string): void;
  /** Counts lines before they are compared. */
  compare(lines: number): void;
}

/** Each method throws a `ToolFault` when the patch would cost too much. */
export function newPatchWork(): PatchWork {
  let bytesRead = 0;
  let linesRead = 0;
  let compared = 0;
  return {
    load(bytes, shown) {
      bytesRead += bytes;
      if (bytesRead <= PATCH_READ_BYTES_MAX) return;
      throw tooLarge(`with ${shown}, the files of the patch have more than ${PATCH_READ_BYTES_MAX} bytes`);
    },
    read(text, shown) {
      linesRead += 1;
      for (let at = text.indexOf('\n'); at !== -1 && linesRead <= PATCH_LINES_MAX; at = text.indexOf('\n', at + 1))
        linesRead += 1;
      if (linesRead <= PATCH_LINES_MAX) return;
      throw tooLarge(`with ${shown}, the files that the patch updates have more than ${PATCH_LINES_MAX} lines`);
    },
    compare(lines) {
      compared += lines;
      if (compared <= PATCH_COMPARED_MAX) return;
      throw new ToolFault(
        'patch_too_expensive',
        `to find its hunks the patch would compare more than ${PATCH_COMPARED_MAX} lines. Nothing was written; send fewer ` +
          'hunks at a time, each beginning with a line that occurs once in the file',
      );
    },
  };
}

const tooLarge = (why: string): ToolFault =>
  new ToolFault(
    'file_too_large',
    `${why}. Nothing was written; send several patches of fewer files, or change a large file with edit_file`,
  );
