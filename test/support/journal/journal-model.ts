// The simplest possible model of a journal, and the commands that compare an adapter with it.
import * as fc from 'fast-check';
import { isRight } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import { expect } from 'vitest';
import type { SessionId } from '../../../schemas/ids.ts';
import type { Rejection } from '../../../schemas/rejection.ts';
import type { Journal, JournalRecord } from '../../../src/journal/journal.ts';
import { eventId, position, recordOf, session, version } from './samples.ts';

interface ModelStream {
  readonly genesis: string;
  records: readonly JournalRecord[];
  owing: boolean;
}

export type JournalModel = Map<SessionId, ModelStream>;

export interface JournalSubject {
  journal: Journal;
  readonly reopen: () => Promise<Journal>;
}

type Command = fc.AsyncCommand<JournalModel, JournalSubject>;

// One id is a prefix of another, and a third sorts between them, so that overlapping key ranges make a test fail.
const SESSIONS = ['a', 'a.b', 'a-', 'B'].map(session);
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

const createCommand = (id: SessionId, genesis: string): Command =>
  command(`create ${id}`, async (model, { journal }) => {
    const exists = model.has(id);
    if (!exists) model.set(id, { genesis, records: [], owing: false });
    expect(await answerOf(journal.create(id, genesis))).toBe(exists ? 'session_exists' : undefined);
  });

interface AppendInput {
  readonly id: SessionId;
  readonly drift: number;
  readonly events: readonly string[];
  readonly owing: boolean;
}

const appendCommand = ({ id, drift, events, owing }: AppendInput): Command =>
  command(`append ${id} ${drift} [${events.join()}] ${owing}`, async (model, { journal }) => {
    const stream = model.get(id);
    const at = Math.max(0, (stream?.records.length ?? 0) + drift);
    const records = events.map((event) => recordOf(event));
    const answer = await answerOf(journal.append(id, version(at), records, owing));
    const all = [...(stream?.records ?? []), ...records];
    if (new Set(events).size < events.length) expect(answer).toBe('version_conflict');
    else if (stream === undefined) expect(answer).toBe('unknown_session');
    else if (at !== stream.records.length || new Set(all.map(({ event_id }) => event_id)).size < all.length) {
      expect(answer).toBe('version_conflict');
    } else {
      expect(answer).toBe(all.length);
      stream.records = all;
      stream.owing = owing;
    }
  });

const readCommand = (id: SessionId, from: number, limit: number): Command =>
  command(`read ${id} ${from} ${limit}`, async (model, { journal }) => {
    const stream = model.get(id);
    expect(await answerOf(journal.read(id, position(from), limit))).toEqual(
      stream === undefined ? 'unknown_session' : stream.records.slice(from, from + limit),
    );
    expect(await answerOf(journal.genesis(id))).toEqual(stream?.genesis ?? 'unknown_session');
  });

const findCommand = (id: SessionId, event: string): Command =>
  command(`find ${id} ${event}`, async (model, { journal }) => {
    const stream = model.get(id);
    const index = stream?.records.findIndex(({ event_id }) => event_id === event) ?? -1;
    const found = index === -1 ? null : index;
    expect(await answerOf(journal.find(id, eventId(event)))).toBe(stream === undefined ? 'unknown_session' : found);
  });

const headsCommand = (): Command =>
  command('heads', async (model, { journal }) => {
    const heads = [...model]
      .map(([id, { records, owing }]) => ({ session_id: id, version: records.length, owing }))
      .sort((a, b) => (a.session_id < b.session_id ? -1 : 1));
    expect(await answerOf(journal.sessions())).toEqual(heads);
    for (const head of heads) expect(await answerOf(journal.head(head.session_id))).toEqual(head);
  });

const reopenCommand = (): Command =>
  command('reopen', async (_, subject) => {
    subject.journal = await subject.reopen();
  });

const anySession = fc.constantFrom(...SESSIONS);
const anyEvents = fc.array(fc.constantFrom(...EVENT_IDS), { minLength: 1, maxLength: 4 });

export const journalCommands: fc.Arbitrary<Iterable<Command>> = fc.commands(
  [
    fc.tuple(anySession, fc.string({ unit: 'grapheme' })).map(([id, genesis]) => createCommand(id, genesis)),
    fc
      .record({ id: anySession, drift: fc.constantFrom(0, 0, 0, -1, 1), events: anyEvents, owing: fc.boolean() })
      .map(appendCommand),
    fc.record({ id: anySession, drift: fc.constant(0), events: anyEvents, owing: fc.boolean() }).map(appendCommand),
    fc.tuple(anySession, fc.nat(12), fc.integer({ min: 1, max: 5 })).map((input) => readCommand(...input)),
    fc.tuple(anySession, fc.constantFrom(...EVENT_IDS)).map((input) => findCommand(...input)),
    fc.constant(headsCommand()),
    fc.constant(reopenCommand()),
  ],
  { maxCommands: 40 },
);
