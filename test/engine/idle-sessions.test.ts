// Tests which sessions are evicted, and how many are checked for that.
import { describe, expect, test } from 'vitest';
import type { SessionId } from '../../schemas/ids.ts';
import { type IdleSessions, newIdleSessions } from '../../src/engine/sessions/idle-sessions.ts';

const id = (name: string): SessionId => name as SessionId;

interface Idle {
  readonly idle: IdleSessions;
  /** Sessions that must not be evicted. */
  readonly held: Set<SessionId>;
  readonly checked: SessionId[];
}

function idleWith(sessionsMax: number, checksMax: number, ...names: readonly string[]): Idle {
  const held = new Set<SessionId>();
  const checked: SessionId[] = [];
  const mayEvict = (one: SessionId): boolean => {
    checked.push(one);
    return !held.has(one);
  };
  const idle = newIdleSessions({ sessionsMax, checksMax, mayEvict });
  for (const name of names) idle.add(id(name));
  return { idle, held, checked };
}

describe('idle sessions', () => {
  test('stay while there are not too many, and are not checked', () => {
    const { idle, checked } = idleWith(3, 2, 'a', 'b', 'c');
    expect(idle.removeExcess()).toEqual([]);
    expect(checked).toEqual([]);
  });

  test('are evicted in order of use, as many as exceed the maximum', () => {
    const { idle, checked } = idleWith(2, 9, 'a', 'b', 'c', 'd');
    idle.touch(id('a'));
    idle.add(id('b'));
    expect(idle.removeExcess()).toEqual(['c', 'd']);
    expect(idle.removeExcess()).toEqual([]);
    expect(checked).toEqual(['c', 'd']);
  });

  test('do not include sessions that became active, also when these are used', () => {
    const { idle } = idleWith(0, 9, 'a', 'b');
    idle.delete(id('a'));
    idle.touch(id('a'));
    expect(idle.removeExcess()).toEqual(['b']);
  });

  test('are evicted in place of those that must not be, which are checked again last', () => {
    const { idle, held } = idleWith(2, 9, 'a', 'b', 'c');
    held.add(id('a'));
    expect(idle.removeExcess()).toEqual(['b']);
    held.clear();
    idle.add(id('d'));
    expect(idle.removeExcess()).toEqual(['c']);
  });

  test('are checked a bounded number at a time, and the others the next time', () => {
    const { idle, held, checked } = idleWith(1, 2, 'a', 'b', 'c', 'd');
    held.add(id('a')).add(id('b'));
    expect(idle.removeExcess()).toEqual([]);
    expect(checked).toEqual(['a', 'b']);
    expect(idle.removeExcess()).toEqual(['c', 'd']);
    held.clear();
    expect(idle.removeExcess()).toEqual(['a']);
  });
});
