// The command of one tool call, before it is placed in a sandbox.
import type { GitEntry } from '../git/git-entries.ts';

export interface Command {
  readonly argv: readonly string[];
  /** Its working directory: an absolute path in the workspace, or {@link folder}. */
  readonly directory: string;
  readonly variables: Readonly<Record<string, string>>;
  /** Git directories that it must not write. */
  readonly readOnly: readonly GitEntry[];
  /** A directory outside the workspace that it sees and must not write. */
  readonly folder?: string;
}
