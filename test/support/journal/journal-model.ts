// The simplest possible model of a journal, and the commands that compare an adapter with it.
import * as fc from 'fast-check';
import { isRight } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import { expect } from 'vitest';
import type { Digest, SessionId } from '../../../schemas/ids.ts';
import { versionAfter } from '../../../schemas/record.ts';
import type { Rejection } from '../../../schemas/rejection.ts';
import type { HeadFacts, Tombstone } from '../../../schemas/session-head.ts';
import type { Journal, JournalCommit, StoredPackage } from '../../../src/journal/journal.ts';
import {
  commitAt,
  eventId,
  headOf,
  idsIn,
  lengthOf,
  position,
  session,
  storedPackage,
  storedPage,
  tombstoneOf,
} from './samples.ts';

interface ModelStream {
  readonly genesis: string;
  readonly tool_package: StoredPackage;
  commits: readonly JournalCommit[];
  head: HeadFacts;
}

export class JournalModel extends Map<SessionId, ModelStream> {
  readonly deleted = new Map<SessionId, Tombstone>();
  readonly pages = new Set<Digest>();

  /** The code of every request to a session that does not exist. */
  absent(id: SessionId): string {
    return this.deleted.has(id) ? 'session_deleted' : 'unknown_session';
  }
}

export interface JournalSubject {
  journal: Journal;
  readonly reopen: () => Promise<Journal>;
}

type Command = fc.AsyncCommand<JournalModel, JournalSubject>;

// One id is a prefix of another, and a third sorts between them, so that overlapping key ranges make a test fail.
const SESSIONS = ['a', 'a.b', 'a-', 'B'].map(session);
const PAGES = ['{}', 'ü', 'page'];
const EVENT_IDS = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '10', '11', '~'];

const command = (name: string, run: (model: JournalModel, subject: JournalSubject) => Promise<void>): Command => ({
  check: () => true,
  run,
  toString: () => name,
});

/** The value of a task, or the code of its rejection. */
async function answerOf(task: TaskEither<Rejection, unknown>): Promise<unknown> {
  const answer = await task();
  return isRight(answer) ? answer.right : answer.left.code;
}

const createCommand = (id: SessionId, genesis: string, tool_package: StoredPackage): Command =>
  command(`create ${id}`, async (model, { journal }) => {
    const exists = model.has(id);
    const head = headOf(genesis.length % 2 === 0);
    const refused = model.deleted.has(id) ? 'session_deleted' : undefined;
    if (!exists && refused === undefined) model.set(id, { genesis, tool_package, commits: [], head });
    const answer = await answerOf(journal.create(id, genesis, tool_package, head));
    expect(answer).toBe(exists ? 'session_exists' : refused);
  });

interface AppendInput {
  readonly id: SessionId;
  readonly drift: number;
  /** The event ids of each commit. */
  readonly parts: readonly (readonly string[])[];
  readonly owing: boolean;
  /** The text of the page that it seals, if any. */
  readonly page: string | null;
}

const appendCommand = ({ id, drift, parts, owing, page }: AppendInput): Command =>
  command(`append ${id} ${drift} [${parts.join('|')}] ${owing} ${page}`, async (model, { journal }) => {
    const stream = model.get(id);
    const at = Math.max(0, lengthOf(stream?.commits ?? []) + drift);
    const events = parts.flat();
    let next = at;
    const commits = parts.map((part) => {
      next += part.length;
      return commitAt(next - part.length, ...part);
    });
    const pages = page === null ? [] : [storedPage(page)];
    const answer = await answerOf(journal.append(id, commits, headOf(owing), pages));
    const all = [...(stream?.commits ?? []), ...commits];
    const ids = idsIn(all);
    if (new Set(events).size < events.length) expect(answer).toBe('version_conflict');
    else if (stream === undefined) expect(answer).toBe(model.absent(id));
    else if (at !== lengthOf(stream.commits) || new Set(ids).size < ids.length) {
      expect(answer).toBe('version_conflict');
    } else {
      expect(answer).toBe(ids.length);
      stream.commits = all;
      stream.head = headOf(owing);
      for (const { digest } of pages) model.pages.add(digest);
    }
  });

const readCommand = (id: SessionId, from: number, limit: number): Command =>
  command(`read ${id} ${from} ${limit}`, async (model, { journal }) => {
    const stream = model.get(id);
    const page = stream?.commits.filter((commit) => commit.position < from + limit && versionAfter(commit) > from);
    expect(await answerOf(journal.read(id, position(from), limit))).toEqual(page ?? model.absent(id));
    expect(await answerOf(journal.genesis(id))).toEqual(stream?.genesis ?? model.absent(id));
    if (stream === undefined) return;
    expect(await answerOf(journal.toolPackage(stream.tool_package.digest))).toBe(stream.tool_package.text);
  });

const findCommand = (id: SessionId, event: string): Command =>
  command(`find ${id} ${event}`, async (model, { journal }) => {
    const stream = model.get(id);
    const index = idsIn(stream?.commits ?? []).indexOf(event);
    const found = index === -1 ? null : index;
    expect(await answerOf(journal.find(id, eventId(event)))).toBe(stream === undefined ? model.absent(id) : found);
  });

const deleteCommand = (id: SessionId, drift: number): Command =>
  command(`delete ${id} ${drift}`, async (model, { journal }) => {
    const stream = model.get(id);
    const length = lengthOf(stream?.commits ?? []);
    const tombstone = tombstoneOf(id, Math.max(0, length + drift));
    const answer = await answerOf(journal.delete(tombstone));
    if (stream === undefined) expect(answer).toBe(model.absent(id));
    else if ((tombstone.version as number) !== length) expect(answer).toBe('version_conflict');
    else {
      expect(answer).toBeUndefined();
      model.delete(id);
      model.deleted.set(id, tombstone);
    }
  });

const tombstonesCommand = (limit: number): Command =>
  command(`tombstones ${limit}`, async ({ deleted }, { journal }) => {
    const inOrder = [...deleted.values()].sort((a, b) => (a.session_id < b.session_id ? -1 : 1));
    expect(await answerOf(journal.tombstones(null, limit))).toEqual(inOrder.slice(0, limit));
    const after = inOrder[0]?.session_id;
    if (after !== undefined)
      expect(await answerOf(journal.tombstones(after, limit))).toEqual(inOrder.slice(1, 1 + limit));
  });

const headsCommand = (): Command =>
  command('heads', async (model, { journal }) => {
    const heads = [...model]
      .map(([id, { commits, head }]) => ({ session_id: id, version: lengthOf(commits), ...head }))
      .sort((a, b) => (a.session_id < b.session_id ? -1 : 1));
    expect(await answerOf(journal.sessions({ limit: 1_000 }))).toEqual({ sessions: heads, next: null });
    for (const head of heads) expect(await answerOf(journal.head(head.session_id))).toEqual(head);
  });

const pagesCommand = (text: string | null): Command =>
  command(`pages without ${text}`, async ({ pages }, { journal }) => {
    const { digest } = storedPage(text ?? '');
    expect(await answerOf(journal.deletePages(text === null ? [] : [digest]))).toBeUndefined();
    if (text !== null) pages.delete(digest);
    expect(await answerOf(journal.pages(null, 100))).toEqual([...pages].sort());
    for (const known of PAGES.map(storedPage)) {
      expect(await answerOf(journal.page(known.digest))).toEqual(pages.has(known.digest) ? expect.anything() : null);
    }
  });

const reopenCommand = (): Command =>
  command('reopen', async (_, subject) => {
    subject.journal = await subject.reopen();
  });

const anySession = fc.constantFrom(...SESSIONS);
const anyParts = fc.array(fc.array(fc.constantFrom(...EVENT_IDS), { minLength: 1, maxLength: 3 }), {
  minLength: 1,
  maxLength: 3,
});
const anyPage = fc.constantFrom(null, ...PAGES);
const anyPackage = fc.constantFrom('{}', '{"tools":[]}').map(storedPackage);

export const journalCommands: fc.Arbitrary<Iterable<Command>> = fc.commands(
  [
    fc
      .tuple(anySession, fc.string({ unit: 'grapheme' }), anyPackage)
      .map(([id, genesis, tool_package]) => createCommand(id, genesis, tool_package)),
    fc
      .record({
        id: anySession,
        drift: fc.constantFrom(0, 0, 0, -1, 1),
        parts: anyParts,
        owing: fc.boolean(),
        page: anyPage,
      })
      .map(appendCommand),
    fc
      .record({ id: anySession, drift: fc.constant(0), parts: anyParts, owing: fc.boolean(), page: anyPage })
      .map(appendCommand),
    fc.tuple(anySession, fc.nat(12), fc.integer({ min: 1, max: 5 })).map((input) => readCommand(...input)),
    fc.tuple(anySession, fc.constantFrom(...EVENT_IDS)).map((input) => findCommand(...input)),
    fc.tuple(anySession, fc.constantFrom(0, 0, 0, 1, -1)).map((input) => deleteCommand(...input)),
    fc.integer({ min: 1, max: 4 }).map(tombstonesCommand),
    fc.constantFrom(null, null, ...PAGES).map(pagesCommand),
    fc.constant(headsCommand()),
    fc.constant(reopenCommand()),
  ],
  { maxCommands: 40 },
);
