// Writes a journal with several sessions in several tables, and damages its files.
import { readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SessionId } from '../../../schemas/ids.ts';
import { must } from '../../../src/client/must.ts';
import type { JournalCommit, StoredPackage } from '../../../src/journal/journal.ts';
import { verifyLevelFiles } from '../../../src/journal/level/verify-files.ts';
import { openLevelJournal } from '../../../src/journal/level-journal.ts';
import type { Random } from '../random.ts';
import {
  commitWith,
  genesisNaming,
  headOf,
  idleHead,
  lengthOf,
  session,
  storedEvent,
  storedPackage,
} from './samples.ts';

/** The commits of every session. */
export type Streams = ReadonlyMap<SessionId, readonly JournalCommit[]>;

/** Three sessions, or twice as many, share a tool package. */
export const packageInTables = (id: SessionId): StoredPackage =>
  storedPackage(`{"note":"${'p'.repeat(300)}","number":${Number(id.charAt(1)) % 3}}`);

/** Every opening writes the log of the previous one to a table; from the fourth opening on, tables are merged. */
export async function writeManyTables(directory: string, random: Random): Promise<Streams> {
  const streams = new Map<SessionId, JournalCommit[]>();
  for (let opening = 0; opening < 3 + random.below(5); opening += 1) {
    const journal = await must(openLevelJournal(directory));
    for (let step = 0; step < 12; step += 1) {
      const id = session(`s${random.below(9)}${'x'.repeat(random.below(2))}`);
      const commits = streams.get(id);
      if (commits === undefined) {
        const tool_package = packageInTables(id);
        await must(journal.create(id, genesisNaming(id, tool_package), tool_package, idleHead));
        streams.set(id, []);
        continue;
      }
      const at = lengthOf(commits);
      const events = Array.from({ length: 1 + random.below(4) }, (_, n) => {
        const name = `${id}-${at + n}`;
        return storedEvent(name, `{"event_id":"${name}","note":"${noise(random)}"}`);
      });
      const cut = random.below(events.length);
      const added = [events.slice(0, cut), events.slice(cut)].filter((part) => part.length > 0);
      const parts = added.map((part, index) => commitWith(index === 0 ? at : at + cut, part));
      await must(journal.append(id, parts, headOf(random.below(2) === 0)));
      commits.push(...parts);
    }
    await journal.close();
  }
  await removeUnusedTables(directory);
  return streams;
}

/** A merge that was cut short when its store was closed may leave part of a table, which no manifest names. */
export async function removeUnusedTables(directory: string): Promise<void> {
  const live = new Set((await liveTables(directory)).map(({ name }) => name));
  for (const { name } of await storedFiles(directory, /\.ldb$/)) if (!live.has(name)) await rm(join(directory, name));
}

// Text that does not compress, so that a block holds few records.
function noise(random: Random): string {
  const length = random.below(3) === 0 ? 1_500 : 90;
  return Array.from({ length }, () => String.fromCodePoint(0x23 + random.below(50)))
    .join('')
    .replaceAll('\\', '/');
}

interface StoredFile {
  readonly name: string;
  readonly size: number;
}

export async function storedFiles(directory: string, pattern: RegExp): Promise<readonly StoredFile[]> {
  const names = (await readdir(directory)).filter((name) => pattern.test(name)).sort();
  const files = await Promise.all(
    names.map(async (name) => {
      // A store in use removes files that it has merged into others.
      const found = await stat(join(directory, name)).catch(() => null);
      return found === null ? [] : [{ name, size: found.size }];
    }),
  );
  return files.flat();
}

/** The tables in use. A table that was merged into another one may still exist. */
export async function liveTables(directory: string): Promise<readonly StoredFile[]> {
  const live = new Set((await verifyLevelFiles(directory)).tables.map(({ name }) => name));
  return (await storedFiles(directory, /\.ldb$/)).filter(({ name }) => live.has(name));
}

export async function flipBit(path: string, offset: number, bit = 0): Promise<void> {
  const bytes = await readFile(path);
  bytes[offset] = (bytes[offset] ?? 0) ^ (1 << bit);
  await writeFile(path, bytes);
}
