// Real folders of skills for tests.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A temporary directory, which is removed when the test has ended. */
export function temporaryDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'refold-skills-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Writes files by their paths below a directory. */
export function writeFiles(root: string, files: Readonly<Record<string, string | Uint8Array>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
}

/** The text of a SKILL.md. */
export const skillText = (name: string, more = '', body = `How to use ${name}.\n`): string =>
  `---\nname: ${name}\ndescription: Does what ${name} does.\n${more}---\n${body}`;

export const noPause = (): Promise<void> => Promise.resolve();
