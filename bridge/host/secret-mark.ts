// The mark that stands for a secret must not be written back: a file would then hold the mark in place of the secret, and a
// command would pass it on. A file that already contains the mark as ordinary text may keep it.
import { Buffer } from 'node:buffer';
import { SECRET_MARK } from '../secrets/redactor.ts';
import { ToolFault } from './outcome.ts';

const MARK = Buffer.from(SECRET_MARK, 'utf8');

/** Refuses content with more marks than the file has now; `before` reads the file, and is called only if it matters. */
export function refuseNewMarks(after: Buffer, before: () => Buffer | null, shown: string): void {
  const marks = countMarks(after);
  if (marks === 0 || marks <= countMarks(before() ?? Buffer.alloc(0))) return;
  throw new ToolFault(
    'secret_mark',
    `the new content of ${shown} contains ${SECRET_MARK}, which stands for a secret that you cannot see; the file would ` +
      'hold the mark in place of the secret. Nothing was written. Edit around it: change only passages without the mark, ' +
      'or let the file name the variable that holds the secret',
  );
}

/** Refuses a command that would pass the mark on in place of the secret. */
export function refuseMarksInCommand(texts: readonly string[]): void {
  if (!texts.some((text) => text.includes(SECRET_MARK))) return;
  throw new ToolFault(
    'secret_mark',
    `the command contains ${SECRET_MARK}, which stands for a secret that you cannot see; the command would get the mark ` +
      'and not the secret. It was not started. Let the command read the secret from the file or variable that holds it',
  );
}

/** What to add to the message that a text was not found: empty when the text has no mark. */
export const adviceOnMark = (text: string): string =>
  text.includes(SECRET_MARK)
    ? `. It contains ${SECRET_MARK}, which stands for a secret that the file holds in its place; choose a passage without it`
    : '';

function countMarks(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(MARK); at !== -1; at = bytes.indexOf(MARK, at + MARK.length)) count += 1;
  return count;
}
