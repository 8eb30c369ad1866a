// One connection for writes, with partitions of its own: no write of one lane waits for a row that another lane holds. A
// group becomes rounds, in each of which a session has at most one write, and each round a statement of each kind.
import { left } from 'fp-ts/lib/Either.js';
import type { Digest, SessionId } from '../../schemas/ids.ts';
import { PACKAGES_SHARED_MAX } from '../../schemas/limits.ts';
import { type GroupCommit, openGroupCommit } from '../journal/group-commit.ts';
import { rejectionOf } from '../journal/refusal.ts';
import { type DoubtPorts, answerInDoubt } from './doubt.ts';
import { type Connect, type Connection, isLost } from './driver.ts';
import { type WriteAnswer, appendRound, createRound, deleteOne } from './rounds.ts';
import type { AppendCommits, CreateStream, DeleteStream, StreamWrite } from './writes.ts';

export interface Lane extends GroupCommit<StreamWrite, WriteAnswer> {
  close(): Promise<void>;
}

export interface LanePorts extends DoubtPorts {
  readonly connect: Connect;
  /** Called with the milliseconds that each statement took. */
  readonly onWrite: (took: number) => void;
}

export function openLane(ports: LanePorts): Lane {
  const { connect, tenures, onWrite } = ports;
  let connection: Connection | null = null;
  const known = new Set<Digest>();

  /** Refused here, nothing is written: the answer is certain. */
  async function connected(): Promise<Connection> {
    if (connection === null || !connection.isOpen) connection = await connect();
    return connection;
  }

  async function answer(
    writes: readonly StreamWrite[],
    work: (connection: Connection) => Promise<readonly WriteAnswer[]>,
  ): Promise<readonly WriteAnswer[]> {
    try {
      await tenures.settle(writes.map(({ partition }) => partition));
      const using = await connected();
      const startedAt = performance.now();
      const answers = await work(using);
      onWrite(performance.now() - startedAt);
      for (const [index, write] of writes.entries()) {
        const answered = answers[index];
        if (answered?._tag === 'Left' && answered.left.code === 'not_owner') tenures.lose(write.partition);
      }
      return answers;
    } catch (error) {
      if (isLost(error)) return await answerInDoubt(ports, writes, error);
      const refused = left(rejectionOf(error));
      return writes.map(() => refused);
    }
  }

  async function create(writes: readonly CreateStream[]): Promise<readonly WriteAnswer[]> {
    const answers = await answer(writes, (using) => createRound(using, { tenures, known }, writes));
    if (known.size >= PACKAGES_SHARED_MAX) known.clear();
    for (const [index, { tool_package }] of writes.entries()) {
      if (answers[index]?._tag === 'Right') known.add(tool_package.digest);
    }
    return answers;
  }

  const append = (writes: readonly AppendCommits[]): Promise<readonly WriteAnswer[]> =>
    answer(writes, (using) => appendRound(using, tenures, writes));

  const remove = (write: DeleteStream): Promise<readonly WriteAnswer[]> =>
    answer([write], async (using) => [await deleteOne(using, tenures, write)]);

  const commits = openGroupCommit<StreamWrite, WriteAnswer>(async (group) => {
    const answers = new Map<StreamWrite, WriteAnswer>();
    const note = (writes: readonly StreamWrite[], got: readonly WriteAnswer[]): void => {
      for (const [index, write] of writes.entries()) answers.set(write, got[index] as WriteAnswer);
    };
    for (const { creates, appends, deletes } of roundsOf(group)) {
      if (creates.length > 0) note(creates, await create(creates));
      if (appends.length > 0) note(appends, await append(appends));
      for (const write of deletes) note([write], await remove(write));
    }
    return group.map((write) => answers.get(write) as WriteAnswer);
  });
  return {
    ...commits,
    close: async () => {
      await commits.settled();
      await connection?.end();
    },
  };
}

interface Round {
  readonly creates: CreateStream[];
  readonly appends: AppendCommits[];
  readonly deletes: DeleteStream[];
}

/** The n-th write of a session to the n-th round. */
function roundsOf(group: readonly StreamWrite[]): readonly Round[] {
  const rounds: Round[] = [];
  const seen = new Map<SessionId, number>();
  for (const write of group) {
    const nth = seen.get(write.session) ?? 0;
    seen.set(write.session, nth + 1);
    const round = (rounds[nth] ??= { creates: [], appends: [], deletes: [] });
    if (write.kind === 'create') round.creates.push(write);
    else if (write.kind === 'append') round.appends.push(write);
    else round.deletes.push(write);
  }
  return rounds;
}
