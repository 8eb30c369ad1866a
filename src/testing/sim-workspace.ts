// The files that the tools of a simulated machine change and that undos restore. Each call writes a different text, so the
// content of a file identifies the call that wrote it.
import { digestText } from '../../schemas/canonical.ts';
import type { Digest } from '../../schemas/ids.ts';
import type { FileChange } from '../../schemas/undo.ts';
import type { FileBefore, ToolAnswer } from './bridge-world.ts';
import type { Execution } from './sim-tools.ts';

type Keep = (bytes: Uint8Array) => Promise<Digest>;

export interface SimWorkspace {
  /** Writes the token of a call to a file. Returns the change, once the former content is kept. */
  write(execution: Execution, name: string, keep: Keep | undefined): Promise<FileChange>;
  /** Somebody who is no tool writes a file, by its whole path. */
  edit(path: string, text: string): void;
  /** The digest of a file, by its whole path; null when there is none. */
  digestOf(path: string): Digest | null;
  /** The execution that wrote the content these changes name; null when there is none. */
  writerOf(files: readonly FileBefore[]): Execution | null;
  /** Restores files, all or none. */
  restore(files: readonly FileBefore[]): ToolAnswer;
}

export function newSimWorkspace(): SimWorkspace {
  const files = new Map<string, string>();
  const writers = new Map<Digest, Execution>();

  const digestOf = (path: string): Digest | null => {
    const text = files.get(path);
    return text === undefined ? null : digestText(text);
  };

  return {
    async write(execution, name, keep) {
      const path = `${execution.session_id}/${name}`;
      const text = files.get(path);
      const after_digest = digestText(execution.token);
      files.set(path, execution.token);
      writers.set(after_digest, execution);
      return { path, before: text === undefined ? null : await keptAs(text, keep), after_digest };
    },
    edit: (path, text) => void files.set(path, text),
    digestOf,
    writerOf: ([first]) => (first?.after_digest ? (writers.get(first.after_digest) ?? null) : null),
    restore(changed) {
      const isBefore = ({ path, before }: FileBefore): boolean => files.get(path) === textOf(before);
      const since = changed.find((file) => !isBefore(file) && digestOf(file.path) !== file.after_digest);
      if (since !== undefined) return { success: false, code: 'changed_since', text: `${since.path} changed after it` };
      for (const { path, before } of changed) {
        if (before === null) files.delete(path);
        else files.set(path, textOf(before) ?? '');
      }
      return { success: true, text: 'put back' };
    },
  };
}

const textOf = (before: Uint8Array | null): string | undefined =>
  before === null ? undefined : new TextDecoder().decode(before);

async function keptAs(text: string, keep: Keep | undefined): Promise<FileChange['before']> {
  const bytes = new TextEncoder().encode(text);
  try {
    if (keep !== undefined) return { ref: await keep(bytes), bytes: bytes.length };
  } catch {
    // The bridge can no longer store the blob, but the call has done its work.
  }
  return { withheld: 'not_kept' };
}
