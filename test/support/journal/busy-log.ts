// Writes a journal with a long log and records every commit: its place in the log, and what it wrote. This is the simple
// reference for what damage to the log can lose.
import { cp, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { SessionId } from '../../../schemas/ids.ts';
import { must } from '../../../src/client/must.ts';
import type { Journal, JournalCommit, StoredPackage } from '../../../src/journal/journal.ts';
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

/** What one commit wrote, by session: the first position, or -1 when it created the session. */
type Written = ReadonlyMap<SessionId, number>;

export interface Commit {
  /** Its byte range in the log. */
  readonly from: number;
  readonly to: number;
  readonly written: Written;
  /** The sessions whose tool package it stored, among them those that later commits created. */
  readonly packagesOf: ReadonlySet<SessionId>;
}

export interface BusyLog {
  /** The journal as a clean stop left it, and as a crash would have left it. */
  readonly closed: string;
  readonly crashed: string;
  readonly log: string;
  readonly commits: readonly Commit[];
  readonly streams: ReadonlyMap<SessionId, readonly JournalCommit[]>;
}

interface Shape {
  readonly commits: number;
  readonly sessions: number;
  /** The maximum number of sessions in one commit. */
  readonly together: number;
}

/** About every second write is to one of three sessions. The idle sessions have no writes in the log. */
export async function writeBusyLog(directory: string, random: Random, shape: Shape): Promise<BusyLog> {
  const streams = new Map<SessionId, JournalCommit[]>();
  const closed = join(directory, 'closed', 'journal');
  const before = await must(openLevelJournal(closed));
  for (let n = 0; n < shape.sessions; n += 2) {
    await write(before, streams, [session(`idle-${n}`), session(`s${n}`)], random);
    await write(before, streams, [session(`idle-${n}`)], random);
  }
  await before.close();
  const journal = await must(openLevelJournal(closed));
  const log =
    (await readdir(closed))
      .filter((name) => name.endsWith('.log'))
      .sort()
      .at(-1) ?? '';
  const commits: Commit[] = [];
  let from = 0;
  while (commits.length < shape.commits) {
    const ids = new Set<SessionId>();
    for (let n = 1 + random.below(shape.together); n > 0; n -= 1) {
      const among = random.below(2) === 0 ? 3 : shape.sessions;
      ids.add(session(`s${random.below(among)}`));
    }
    const stored = new Set([...streams.keys()].map(packageOfSession));
    const written = await write(journal, streams, [...ids], random);
    const to = (await stat(join(closed, log))).size;
    const added = new Set([...ids].map(packageOfSession).filter((one) => !stored.has(one)));
    const users = Array.from({ length: shape.sessions }, (_, n) => session(`s${n}`));
    commits.push({ from, to, written, packagesOf: new Set(users.filter((id) => added.has(packageOfSession(id)))) });
    from = to;
  }
  const crashed = join(directory, 'crashed', 'journal');
  await cp(closed, crashed, { recursive: true });
  await journal.close();
  return { closed, crashed, log, commits, streams };
}

const PACKAGES = ['even', 'odd'].map((name) => storedPackage(`{"tools":[],"note":"${name}"}`));

/**
 * Many sessions share a tool package. Those with even numbers and the idle ones are created before the log, with others: the
 * package of the rest is stored by a commit in the log.
 */
export const packageOfSession = (id: SessionId): StoredPackage =>
  PACKAGES[Number(id.replace(/^\D+/, '')) % PACKAGES.length] as StoredPackage;

/** Makes one write: all its requests are submitted together. */
async function write(
  journal: Journal,
  streams: Map<SessionId, JournalCommit[]>,
  ids: readonly SessionId[],
  random: Random,
): Promise<Written> {
  const written = new Map<SessionId, number>();
  await Promise.all(
    ids.map(async (id) => {
      const commits = streams.get(id);
      written.set(id, commits === undefined ? -1 : lengthOf(commits));
      if (commits === undefined) {
        streams.set(id, []);
        const tool_package = packageOfSession(id);
        await must(journal.create(id, genesisNaming(id, tool_package), tool_package, idleHead));
        return;
      }
      const added: JournalCommit[] = [];
      for (let count = 1 + random.below(2); count > 0; count -= 1) {
        const at = lengthOf([...commits, ...added]);
        const events = Array.from({ length: 1 + random.below(3) }, (_, n) => {
          const name = `${id}-${at + n}`;
          return storedEvent(name, `{"event_id":"${name}","note":"${'n'.repeat(random.below(600))}"}`);
        });
        added.push(commitWith(at, events));
      }
      commits.push(...added);
      await must(journal.append(id, added, headOf(random.below(2) === 0)));
    }),
  );
  return written;
}

/** For each session, the first position that it lost with this byte range of the log, if nothing in the range is readable. */
export function firstLost({ commits, streams }: BusyLog, from: number, to: number): ReadonlyMap<SessionId, number> {
  const lost = new Map<SessionId, number>();
  for (const commit of commits) {
    if (commit.to <= from || commit.from >= to) continue;
    for (const [id, first] of commit.written) if (!lost.has(id)) lost.set(id, first);
    for (const id of commit.packagesOf) if (streams.has(id)) lost.set(id, -1);
  }
  return lost;
}

/** The same journal without the commits that end after this offset. */
export function cutAt(busy: BusyLog, from: number): BusyLog {
  const cut = firstLost(busy, from, Number.POSITIVE_INFINITY);
  const streams = [...busy.streams].flatMap(([id, commits]): [SessionId, readonly JournalCommit[]][] => {
    const first = cut.get(id) ?? lengthOf(commits);
    return first === -1 ? [] : [[id, commits.filter(({ position }) => position < first)]];
  });
  return { ...busy, streams: new Map(streams), commits: busy.commits.filter((commit) => commit.from < from) };
}
