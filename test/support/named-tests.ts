// The tests that a document names: [`PATH`](…): "NAME", "NAME".
import { existsSync } from 'node:fs';
import { inRepository, readDocument } from './documents.ts';

export interface NamedTests {
  /** How many files the document names. */
  readonly files: number;
  /** The files, and the names of tests, that do not exist. */
  readonly missing: readonly string[];
}

export async function namedTests(text: string): Promise<NamedTests> {
  const named = [...text.matchAll(/\[`([^`]+)`\]\([^)]*\)(?:: ((?:"[^"]+"(?:, )?)+))?/g)];
  const missing: string[] = [];
  for (const [, path = '', names = ''] of named) {
    const source = existsSync(inRepository(path)) ? await readDocument(path) : null;
    for (const [, name = ''] of names.matchAll(/"([^"]+)"/g))
      if (source?.includes(name) !== true) missing.push(`${path}: ${name}`);
    if (source === null) missing.push(path);
  }
  return { files: named.length, missing };
}
