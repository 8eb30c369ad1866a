// The cache of the committer is bounded, has all event ids of the sessions it answers for, and is cleared by a failed write.
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { EventId, SessionId, Version } from '../../schemas/ids.ts';
import { EVENT_IDS_CACHED_MAX, HEADS_CACHED_MAX, PACKAGES_SHARED_MAX } from '../../schemas/limits.ts';
import type { KnownHead, Write } from '../../src/journal/admission.ts';
import { newKnownStreams } from '../../src/journal/known-streams.ts';
import { idleHead, samplePackage, storedPackage } from '../support/journal/samples.ts';

const id = (name: string): SessionId => name as SessionId;
const event = (name: string): EventId => name as EventId;
const create = (session: string, tool_package = samplePackage): Write => ({
  kind: 'create',
  session: id(session),
  genesis: '',
  tool_package: { digest: tool_package.digest, value: new Uint8Array() },
  head: idleHead,
});
const append = (session: string, ...events: readonly string[]): Write => ({
  kind: 'append',
  session: id(session),
  expected: 0 as Version,
  events: events.map(event),
  puts: [],
  head: idleHead,
});
const headAt = (version: number): KnownHead => ({
  version: version as Version,
  owing: false,
  wake_at_ms: null,
  card: { status: 'idle' },
});
const at = (session: string, version: number): ReadonlyMap<SessionId, KnownHead> =>
  new Map([[id(session), headAt(version)]]);

describe('known streams', () => {
  test('hold every event id of a stream that was created here, and answer undefined for any other', () => {
    const known = newKnownStreams();
    known.remember([create('a'), append('a', 'x', 'y')], at('a', 2));
    known.remember([append('b', 'x')], at('b', 9));
    expect([known.head(id('a'))?.version, known.head(id('b'))?.version, known.head(id('c'))?.version]).toEqual([
      2,
      9,
      undefined,
    ]);
    expect(['x', 'y', 'z'].map((name) => known.holds(id('a'), event(name)))).toEqual([true, true, false]);
    expect(known.holds(id('b'), event('x'))).toBeUndefined();
  });

  test('drop all ids of the least recently written stream when the cache is full', () => {
    const known = newKnownStreams();
    known.remember([create('old')], at('old', 0));
    known.remember([append('old', 'x')], at('old', 1));
    const names = Array.from({ length: EVENT_IDS_CACHED_MAX }, (_, index) => `e${index}`);
    known.remember([create('new'), append('new', ...names.slice(1))], at('new', names.length - 1));
    expect(known.holds(id('old'), event('x'))).toBe(true);
    known.remember([append('new', 'e0')], at('new', names.length));
    expect(known.holds(id('old'), event('x'))).toBeUndefined();
    expect(known.holds(id('new'), event('e0'))).toBe(true);
    // Dropped ids stay unknown: the ids of later appends are not complete.
    known.remember([append('old', 'y')], at('old', 2));
    expect(known.holds(id('old'), event('y'))).toBeUndefined();
  });

  test('drop the least recently written session for each new one when the cache is full', () => {
    const known = newKnownStreams();
    const first = Array.from({ length: HEADS_CACHED_MAX }, (_, index) => [id(`s${index}`), headAt(1)] as const);
    known.remember([], new Map(first));
    known.remember([], at('s0', 2));
    for (const name of ['x', 'y']) known.remember([], at(name, 1));
    // The entries after the dropped ones keep their order, and a session that is written again becomes the newest.
    expect(['s0', 's1', 's2', 's3', 'x', 'y'].map((name) => known.head(id(name))?.version)).toEqual([
      2,
      undefined,
      undefined,
      1,
      1,
      1,
    ]);
    known.forget();
    known.remember([], new Map(first));
    known.remember([], at('x', 1));
    expect(['s0', 's1', 'x'].map((name) => known.head(id(name))?.version)).toEqual([undefined, 1, 1]);
  });

  test('are not iterated while the cache has room', () => {
    const known = newKnownStreams();
    const starts = vi.spyOn(Map.prototype, 'keys');
    onTestFinished(() => starts.mockRestore());
    for (let index = 0; index < HEADS_CACHED_MAX; index += 1) {
      known.remember([create(`s${index}`)], at(`s${index}`, 0));
    }
    const roomy = starts.mock.calls.length;
    known.remember([create('x')], at('x', 0));
    const full = starts.mock.calls.length;
    expect([roomy, full]).toEqual([0, 2]);
  });

  test('know the tool packages of the latest sessions, up to a maximum number', () => {
    const known = newKnownStreams();
    const packages = Array.from({ length: PACKAGES_SHARED_MAX + 1 }, (_, index) => storedPackage(`{"n":${index}}`));
    expect(known.hasPackage(samplePackage.digest)).toBe(false);
    for (const [index, one] of packages.entries()) known.remember([create(`s${index}`, one)], at(`s${index}`, 0));
    const held = packages.map(({ digest }) => known.hasPackage(digest));
    expect(held).toEqual(packages.map((_, index) => index > 0));
  });

  test('are empty after a failed write', () => {
    const known = newKnownStreams();
    known.remember([create('a'), append('a', 'x')], at('a', 1));
    expect(known.hasPackage(samplePackage.digest)).toBe(true);
    known.forget();
    expect([known.head(id('a'))?.version, known.holds(id('a'), event('x'))]).toEqual([undefined, undefined]);
    expect(known.hasPackage(samplePackage.digest)).toBe(false);
  });
});
