import { describe, expect, test } from 'vitest';
import { must } from '../../src/client/must.ts';
import { openGroupCommit } from '../../src/journal/group-commit.ts';
import { COMMIT_BYTES_MAX, COMMIT_REQUESTS_MAX, COMMIT_WAITING_BYTES_MAX } from '../../schemas/limits.ts';
import { Refusal } from '../../src/journal/refusal.ts';
import type { OpenStore } from '../../src/journal/store.ts';
import { openStoredJournal } from '../../src/journal/stored-journal.ts';
import { makeMemoryStore } from '../support/journal/memory-store.ts';
import { outcome } from '../support/journal/outcomes.ts';
import {
  commitAt,
  createSample,
  idleHead,
  owingHead,
  readIds,
  session,
  storedPackage,
} from '../support/journal/samples.ts';

/** A commit that records its groups and waits until it is released. */
function heldCommit(): {
  readonly groups: (readonly number[])[];
  readonly commit: (group: readonly number[]) => Promise<readonly number[]>;
  readonly release: () => void;
} {
  const groups: (readonly number[])[] = [];
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  return {
    groups,
    commit: async (group) => {
      groups.push(group);
      await held;
      return group.map((request) => request * 10);
    },
    release: () => release(),
  };
}

describe('group commit', () => {
  test('commits requests that are submitted together as one group, in order, and answers each', async () => {
    const { groups, commit, release } = heldCommit();
    const queue = openGroupCommit(commit);
    release();
    expect(await Promise.all([1, 2, 3].map((n) => queue.submit(n, 1)))).toEqual([10, 20, 30]);
    expect(groups).toEqual([[1, 2, 3]]);
  });

  test('merges requests that arrive during a commit into the next one', async () => {
    const { groups, commit, release } = heldCommit();
    const queue = openGroupCommit(commit);
    const first = queue.submit(1, 1);
    // The first group is taken one microtask after it was submitted.
    await Promise.resolve();
    await Promise.resolve();
    expect(groups).toEqual([[1]]);
    const later = [2, 3, 4].map((n) => queue.submit(n, 1));
    release();
    await Promise.all([first, ...later]);
    expect(groups).toEqual([[1], [2, 3, 4]]);
  });

  test('splits a group at its maximum size, and commits a larger request alone', async () => {
    const { groups, commit, release } = heldCommit();
    const queue = openGroupCommit(commit);
    release();
    const sizes = [COMMIT_BYTES_MAX + 1, COMMIT_BYTES_MAX / 2, COMMIT_BYTES_MAX / 2, 1];
    await Promise.all(sizes.map((bytes, n) => queue.submit(n, bytes)));
    expect(groups).toEqual([[0], [1, 2], [3]]);
    groups.length = 0;
    await Promise.all(Array.from({ length: COMMIT_REQUESTS_MAX + 1 }, (_, n) => queue.submit(n, 1)));
    expect(groups.map((group) => group.length)).toEqual([COMMIT_REQUESTS_MAX, 1]);
  });

  test('refuses requests beyond the maximum of waiting bytes, and accepts requests again afterwards', async () => {
    const { commit, release } = heldCommit();
    const queue = openGroupCommit(commit);
    const waiting = queue.submit(1, COMMIT_WAITING_BYTES_MAX);
    await expect(queue.submit(2, 1)).rejects.toThrow(Refusal);
    release();
    await waiting;
    expect(await queue.submit(3, 1)).toBe(30);
  });

  test('commits later requests after a commit that throws', async () => {
    let attempts = 0;
    const queue = openGroupCommit(async (group: readonly number[]) => {
      attempts += 1;
      if (attempts === 1) throw new Error('internal error');
      return group;
    });
    await expect(queue.submit(1, 1)).rejects.toThrow('internal error');
    expect(await queue.submit(2, 1)).toBe(2);
    await queue.settled();
  });
});

describe('the stored journal', () => {
  test('writes concurrent appends of a hundred sessions in one write', async () => {
    const store = makeMemoryStore();
    const journal = await must(openStoredJournal(store.open));
    const ids = Array.from({ length: 100 }, (_, n) => session(`s${n}`));
    await Promise.all(ids.map((id) => must(createSample(journal, id))));
    expect(store.writes()).toBe(1);
    await Promise.all(ids.map((id) => must(journal.append(id, [commitAt(0, 'e')], idleHead))));
    expect(store.writes()).toBe(2);
    await Promise.all(ids.map((id) => must(journal.append(id, [commitAt(1, 'f', 'g')], idleHead))));
    expect(store.writes()).toBe(3);
    await journal.close();
  });

  test('merges requests that arrive during a write into one more write, even of the same session', async () => {
    const store = makeMemoryStore();
    const journal = await must(openStoredJournal(store.open));
    const id = session('s');
    await must(createSample(journal, id));
    const release = store.hold();
    const first = journal.append(id, [commitAt(0, 'a')], idleHead)();
    while (store.writes() < 2) await Promise.resolve();
    const later = [
      outcome(journal.append(id, [commitAt(1, 'b')], idleHead)),
      outcome(journal.append(id, [commitAt(1, 'loser')], idleHead)),
      outcome(journal.append(id, [commitAt(2, 'c', 'd')], owingHead)),
      outcome(journal.append(id, [commitAt(4, 'a')], owingHead)),
      outcome(journal.append(id, [commitAt(4, 'd')], owingHead)),
      outcome(createSample(journal, session('t'))),
      outcome(journal.append(session('t'), [commitAt(0, 'a')], owingHead)),
    ];
    release();
    await first;
    expect(await Promise.all(later)).toEqual([
      'done',
      'version_conflict',
      'done',
      'version_conflict',
      'version_conflict',
      'done',
      'done',
    ]);
    expect(store.writes()).toBe(3);
    expect(await readIds(journal, id)).toEqual(['a', 'b', 'c', 'd']);
    await journal.close();
  });

  test('stores a tool package once, in the write of the first session that names it', async () => {
    const store = makeMemoryStore();
    const packages = (): number => [...store.disk.keys()].filter((key) => key.startsWith('p')).length;
    const puts: number[] = [];
    const open: OpenStore = async () => {
      const opened = await store.open();
      return {
        ...opened,
        write: async (group) => {
          puts.push(group.filter(({ key }) => key[0] === 'p'.codePointAt(0)).length);
          await opened.write(group);
        },
      };
    };
    const journal = await must(openStoredJournal(open));
    const other = storedPackage('{"other":true}');
    await Promise.all(['a', 'b'].map((name) => must(createSample(journal, session(name)))));
    await must(createSample(journal, session('c')));
    await must(journal.create(session('d'), '{}', other, idleHead));
    await journal.close();
    // Nothing is remembered from before the opening: the store is asked.
    const again = await must(openStoredJournal(open));
    await must(createSample(again, session('e')));
    await must(again.create(session('f'), '{}', other, idleHead));
    expect(puts).toEqual([1, 0, 1, 0, 0]);
    expect(packages()).toBe(2);
    await again.close();
  });

  test('writes nothing for a group in which every request is refused', async () => {
    const store = makeMemoryStore();
    const journal = await must(openStoredJournal(store.open));
    const id = session('s');
    await must(createSample(journal, id));
    expect(await outcome(journal.append(id, [commitAt(7, 'a')], idleHead))).toBe('version_conflict');
    expect(store.writes()).toBe(1);
    await journal.close();
  });
});
