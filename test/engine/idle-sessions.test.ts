// Which sessions are put aside, and how many are looked at to find them.
import { describe, expect, test } from 'vitest';
import type { SessionId } from '../../schemas/ids.ts';
import { type IdleSessions, newIdleSessions } from '../../src/engine/idle-sessions.ts';

const id = (name: string): SessionId => name as SessionId;

interface Rests {
  readonly resting: IdleSessions;
  /** Sessions that may not go. */
  readonly held: Set<SessionId>;
  readonly looked: SessionId[];
}

function restingWith(sessionsMax: number, looksMax: number, ...names: readonly string[]): Rests {
  const held = new Set<SessionId>();
  const looked: SessionId[] = [];
  const mayEvict = (one: SessionId): boolean => {
    looked.push(one);
    return !held.has(one);
  };
  const resting = newIdleSessions({ sessionsMax, looksMax, mayEvict });
  for (const name of names) resting.add(id(name));
  return { resting, held, looked };
}

describe('sessions at rest', () => {
  test('stay while there are not too many, and are not looked at', () => {
    const { resting, looked } = restingWith(3, 2, 'a', 'b', 'c');
    expect(resting.removeExcess()).toEqual([]);
    expect(looked).toEqual([]);
  });

  test('go in order of use, as many as are too many', () => {
    const { resting, looked } = restingWith(2, 9, 'a', 'b', 'c', 'd');
    resting.touch(id('a'));
    resting.add(id('b'));
    expect(resting.removeExcess()).toEqual(['c', 'd']);
    expect(resting.removeExcess()).toEqual([]);
    expect(looked).toEqual(['c', 'd']);
  });

  test('are not those that went to work, nor those that were only used there', () => {
    const { resting } = restingWith(0, 9, 'a', 'b');
    resting.delete(id('a'));
    resting.touch(id('a'));
    expect(resting.removeExcess()).toEqual(['b']);
  });

  test('go after those that may not, which are met again last', () => {
    const { resting, held } = restingWith(2, 9, 'a', 'b', 'c');
    held.add(id('a'));
    expect(resting.removeExcess()).toEqual(['b']);
    held.clear();
    resting.add(id('d'));
    expect(resting.removeExcess()).toEqual(['c']);
  });

  test('are looked at so many at a time, however many may not go, and the others the next time', () => {
    const { resting, held, looked } = restingWith(1, 2, 'a', 'b', 'c', 'd');
    held.add(id('a')).add(id('b'));
    expect(resting.removeExcess()).toEqual([]);
    expect(looked).toEqual(['a', 'b']);
    expect(resting.removeExcess()).toEqual(['c', 'd']);
    held.clear();
    expect(resting.removeExcess()).toEqual(['a']);
  });
});
