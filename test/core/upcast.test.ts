// Events of retired kinds are digested in their recorded form and folded in their upcast form; events that no version knows
// are refused. The kind `RunHalted` is retired by this test only.
import { describe, expect, test, vi } from 'vitest';
import { EVENT_VERSION, type IngressEvent, type RecordedEvent } from '../../schemas/index.ts';
import type * as RetiredKinds from '../../schemas/retired-kinds.ts';
import { decodeEvent, eventDigest, nextChain, replay, step } from '../../src/core/index.ts';
import { recordsOf } from '../audit/records.ts';
import { accepted, rejectionOf, session, textOf } from '../support/session.ts';

vi.mock('../../schemas/retired-kinds.ts', async (importActual): Promise<object> => {
  const actual = await importActual<typeof RetiredKinds>();
  const { integer, list, tagged, text } = await import('../../schemas/codec.ts');
  const { EventId, RunId, TimeMs } = await import('../../schemas/ids.ts');
  const { RunEnd } = await import('../../schemas/run.ts');
  const fields = { v: integer('v', 1, 1), event_id: EventId, at_ms: TimeMs, run_id: RunId };
  const codec = tagged('RunHalted', fields, { why: text('why', { max: 1_024 }), ends: list(RunEnd, 1) });
  const translate = ({ why, ...event }: { readonly why?: string }): object => ({
    ...event,
    ...(why === undefined ? {} : { reason: why }),
    kind: 'user.interrupt',
  });
  return { ...actual, RETIRED_KINDS: { RunHalted: { codec, last_version: 1, translate } } };
});

const run = session().runRequested();
const interrupt = run.interrupted('enough').events.at(-1) as IngressEvent;
const { reason: _reason, ...bare } = interrupt as typeof interrupt & { readonly reason: string };
const halted = { ...bare, kind: 'RunHalted', why: 'enough' } as unknown as RecordedEvent;

describe('an event of a retired kind', () => {
  test('decodes into the current kind', () => {
    expect(decodeEvent(halted)).toMatchObject({ _tag: 'Right', right: interrupt });
  });

  test('is digested in its recorded form, not in its upcast form', () => {
    const [, genesis, record] = recordsOf(
      { genesis: run.genesis, tool_package: run.tool_package, events: [...run.events, halted] },
      [2],
    );
    if (genesis?.kind !== 'genesis' || record?.kind !== 'commit') throw new Error('no commit');
    expect(record.events[1]).toEqual(halted);
    const digests = [...run.events.map(eventDigest), eventDigest(halted)];
    expect(record.chain).toBe(nextChain(genesis.chain, digests, record.state_digest));
    expect(eventDigest(halted)).not.toBe(eventDigest(interrupt));
  });

  test('is folded in its upcast form', () => {
    const stepped = step(run.state, halted);
    expect(stepped).toMatchObject({ _tag: 'Right' });
    expect(stepped._tag === 'Right' && textOf(stepped.right.state)).toBe(textOf(accepted(run.state, interrupt)));
  });

  test('replays byte-identically in its stream, and diverges in its upcast form', () => {
    const records = recordsOf(
      { genesis: run.genesis, tool_package: run.tool_package, events: [...run.events, halted] },
      [2],
    );
    expect(replay(records)).toMatchObject({ divergence: null, events: 2 });
    const upcast = records.map((record) =>
      record.kind === 'commit' ? { ...record, events: [...run.events, interrupt] } : record,
    );
    expect(replay(upcast).divergence).toMatchObject({ position: 1, commit: 0, what: 'chain' });
  });
});

describe('an event that no version knows', () => {
  test.each([
    ['a future version', { ...interrupt, v: EVENT_VERSION + 1 }, 'invalid_shape', '/v'],
    ['version 0', { ...interrupt, v: 0 }, 'invalid_shape', '/v'],
    ['no version', { ...interrupt, v: undefined }, 'invalid_shape', '/v'],
    ['an unknown kind', { ...interrupt, kind: 'user.sighs' }, 'unknown_kind', '/kind'],
    ['a kind of every object', { ...interrupt, kind: 'constructor' }, 'unknown_kind', '/kind'],
    ['a retired kind in a version that does not write it', { ...halted, v: 2 }, 'invalid_shape', '/v'],
    [
      'a field that came later, in a kind that was retired before',
      { ...halted, input: { text: 'x' } },
      'invalid_shape',
      '/input',
    ],
  ])('%s is refused', (_, event, code, path) => {
    const before = textOf(run.state);
    expect(rejectionOf(run.state, event as never)).toMatchObject({ code, path });
    expect(textOf(run.state)).toBe(before);
  });
});
