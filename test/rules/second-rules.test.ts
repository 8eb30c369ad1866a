// Sessions of two rule sets side by side, the move from one to the other, and a release that knows only the first.
import { isLeft } from 'fp-ts/lib/Either.js';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { rulesOf } from '../../reducers/rules/known-rules.ts';
import type { TextKey } from '../../reducers/rules/rule-set.ts';
import { RULE_SETS } from '../../reducers/rules/rule-sets.ts';
import { openMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import { must } from '../../src/client/must.ts';
import { startEngine } from '../../src/engine/engine.ts';
import { importStream } from '../../src/engine/sessions/import-stream.ts';
import { openMemoryJournal } from '../../src/journal/memory-journal.ts';
import { canonicalText } from '../../schemas/canonical.ts';
import type { StreamRecord } from '../../schemas/record.ts';
import type { Genesis } from '../../schemas/genesis.ts';
import { checkGenesis, defaultGenesis, replay } from '../../src/core/index.ts';
import { defaultToolPackage } from '../../src/toolsets/default-package.ts';
import { recordsOf } from '../audit/records.ts';
import { roundsOf } from '../support/random.ts';
import { MARK, SECOND } from '../support/rules/second-set.ts';
import { keysOf, textsIn, writtenTexts } from '../support/rules/written-texts.ts';
import { type Session, call, fold, session, textOf } from '../support/session.ts';
import { walk } from '../support/streams.ts';

vi.mock(import('../../reducers/rules/rule-sets.ts'), async (load) => {
  const { withSecondSet } = await import('../support/rules/second-set.ts');
  return withSecondSet(await load());
});

const FIRST = { rules: 1, since: '0.2.0' } as const;
const sets = RULE_SETS as Record<number, (typeof RULE_SETS)[number]>;
const second = sets[2] as (typeof RULE_SETS)[number];

async function* inOrder(records: readonly StreamRecord[]): AsyncGenerator<StreamRecord> {
  yield* records;
}

/** This release without the second rule set. */
const asOlderRelease = (): void => {
  delete sets[2];
};

afterEach(() => {
  sets[2] = second;
});

const first = (): Session => session(FIRST);
const adopted = (of: Session): Session => of.takes('RulesAdopted', { ...SECOND, by: 'ann' });
const unknownCall = (of: Session, id: string): Session =>
  of
    .runRequested()
    .observed([call(id, 'nope')])
    .batchSettled();
const lastText = (of: Session): string | undefined => of.transcript().at(-1);

describe('two rule sets', () => {
  test('a session is created with the newest rules', () => {
    expect(defaultGenesis()).toMatchObject(SECOND);
    expect(session().state.rules).toBe(2);
    expect(first().state.rules).toBe(1);
  });

  test('each session gets the texts of its own rules', () => {
    expect(lastText(unknownCall(first(), 'a'))).toMatch(/^tool! a error: tool_unknown: There is no tool "nope"/);
    expect(lastText(unknownCall(session(), 'a'))).toBe(
      `tool! a ${MARK}${lastText(unknownCall(first(), 'a'))?.slice('tool! a '.length).replace('There', `${MARK}There`)}`,
    );
  });

  test('each session gets the read-only alternatives and workflows of its own rules', () => {
    const asks = (rules: typeof FIRST | typeof SECOND): readonly string[] =>
      session({ ...rules, tool_package: defaultToolPackage(), consent: defaultGenesis().consent })
        .hostReady()
        .runRequested()
        .observed([
          call('a', 'permissions_check', { tool_name: 'shell', arguments: { argv: ['cat', 'x'] } }),
          call('b', 'permissions_describe', {}),
        ])
        .batchSettled()
        .transcript()
        .slice(-2);
    expect(asks(FIRST)[0]).toContain('"read_only_alternative":{"arguments":{"path":"x"}');
    expect(asks(FIRST)[1]).not.toContain('executor_unsupported');
    expect(asks(SECOND)[0]).toContain('"read_only_alternative":{"arguments":{"encoding":"utf8","path":"x"}');
    expect(asks(SECOND)[1]).toContain('executor_unsupported');
  });
});

describe('adopting rules', () => {
  test('changes what is written later, and nothing that was written before', () => {
    const before = unknownCall(first(), 'a').answered('done');
    const after = unknownCall(adopted(before), 'b');
    expect(adopted(before).transcript()).toEqual(before.transcript());
    expect(adopted(before).state.rules).toBe(2);
    expect(after.transcript().filter((entry) => entry.startsWith('tool! a'))).toEqual(
      before.transcript().filter((entry) => entry.startsWith('tool! a')),
    );
    expect(lastText(after)).toContain(MARK);
  });

  test('is refused downwards, and to the same rules', () => {
    const moved = adopted(first());
    for (const rules of [FIRST, SECOND]) {
      expect(moved.refusal('RulesAdopted', rules)).toMatchObject({ code: 'rules_not_newer', path: '/rules' });
    }
    expect(first().refusal('RulesAdopted', FIRST)).toMatchObject({ code: 'rules_not_newer', path: '/rules' });
  });

  test('is refused for rules that this release does not know, with the version that does', () => {
    expect(first().refusal('RulesAdopted', { rules: 3, since: '0.9.1' })).toEqual({
      code: 'rules_unknown',
      path: '/rules',
      message: 'rules 3 are known since refold 0.9.1; update refold',
    });
    expect(first().refusal('RulesAdopted', { rules: 2, since: '0.4.0' })).toEqual({
      code: 'rules_unknown',
      path: '/since',
      message: 'rules 2 are known since refold 0.3.0, not 0.4.0',
    });
  });

  test('is refused while a run is live, in every phase, and possible again after it', () => {
    const running = first().runRequested();
    const batch = running.observed([call('a', 'once')]).started('a');
    const phases = [
      first().runRequested({ host_session_open: true }),
      running,
      batch,
      first().runRequested({ host_session_open: true }).paused(),
      running.paused(),
      batch.paused(),
      batch.interrupted(),
      batch.cancelled(),
    ];
    expect(new Set(phases.map((of) => of.phase())).size).toBe(8);
    for (const of of phases) {
      expect(of.refusal('RulesAdopted', SECOND)).toMatchObject({ code: 'run_already_active', path: '/kind' });
    }
    expect(adopted(running.answered('done')).state.rules).toBe(2);
  });

  test.each<[string, object, string]>([
    ['no rules', { since: '0.3.0' }, '/rules'],
    ['rules 0', { rules: 0, since: '0.3.0' }, '/rules'],
    ['half a rule set', { rules: 1.5, since: '0.3.0' }, '/rules'],
    ['no version', { rules: 2 }, '/since'],
    ['a version that is none', { rules: 2, since: 'soon' }, '/since'],
    ['another field', { rules: 2, since: '0.3.0', reason: 'x' }, '/reason'],
  ])('refuses %s', (_, fields, path) => {
    expect(first().refusal('RulesAdopted', fields as never)).toMatchObject({ code: 'invalid_shape', path });
  });
});

describe('a stream with adopted rules', () => {
  const recorded = (): Session => unknownCall(adopted(unknownCall(first(), 'a').answered('done')), 'b');

  test('replays to the same bytes', () => {
    const { genesis, tool_package, events, state } = recorded();
    const again = fold(
      { genesis: JSON.parse(canonicalText(genesis)) as Genesis, tool_package },
      JSON.parse(JSON.stringify(events)) as typeof events,
    );
    expect(textOf(again)).toBe(textOf(state));
    expect(replay(recordsOf(recorded()))).toMatchObject({ events: events.length, divergence: null });
  });

  test('is refused by an older release at the event, which quotes the version', () => {
    const records = recordsOf(recorded());
    const at = recorded().events.findIndex(({ kind }) => kind === 'RulesAdopted');
    asOlderRelease();
    expect(replay(records).divergence).toMatchObject({
      position: at,
      message: 'rules_unknown at "/rules": rules 2 are known since refold 0.3.0; update refold',
    });
  });

  test('its genesis record is refused by an older release, also when it has fields of a later shape', () => {
    const genesis = { ...structuredClone(session().genesis), later: true };
    asOlderRelease();
    const checked = checkGenesis(genesis, first().tool_package);
    expect(isLeft(checked) && checked.left).toEqual({
      code: 'rules_unknown',
      path: '/rules',
      message: 'rules 2 are known since refold 0.3.0; update refold',
    });
    expect(isLeft(checkGenesis(structuredClone(first().genesis), first().tool_package))).toBe(false);
  });

  test('is not imported by an older release beyond that event, and not called damaged', async () => {
    const records = recordsOf(recorded());
    asOlderRelease();
    const stores = { journal: openMemoryJournal(), blobs: openMemoryBlobs(), own_facts_at_ms: null };
    const imported = await importStream(stores, inOrder(records));
    expect(isLeft(imported) && imported.left).toMatchObject({
      code: 'rules_unknown',
      message: expect.stringContaining('update refold; an incomplete copy of what comes before it is stored'),
    });
  });

  test('is not loaded by an older release, and not called damaged', async () => {
    const stores = { journal: openMemoryJournal(), blobs: openMemoryBlobs(), own_facts_at_ms: null };
    for (const of of [recorded(), unknownCall(session({ session_id: 'second' }), 'a')]) {
      expect(isLeft(await importStream(stores, inOrder(recordsOf(of))))).toBe(false);
    }
    asOlderRelease();
    const older = await must(startEngine(stores));
    for (const id of ['default', 'second']) {
      const read = await older.client.session(id as never)();
      expect(isLeft(read) && read.left).toMatchObject({
        code: 'rules_unknown',
        message: expect.stringContaining('rules 2 are known since refold 0.3.0; update refold'),
      });
    }
    await older.close();
  });

  test('a genesis record that gives another version for its rules is refused', () => {
    const checked = checkGenesis({ ...structuredClone(first().genesis), since: '0.1.0' }, first().tool_package);
    expect(isLeft(checked) && checked.left).toMatchObject({ code: 'rules_unknown', path: '/since' });
  });
});

test('every text that a random stream writes is one of the rules it has then', () => {
  const hit = new Map<number, Set<TextKey>>([
    [1, new Set()],
    [2, new Set()],
  ]);
  for (let seed = 1; seed <= roundsOf(40); seed += 1) {
    const known = new Set<string>();
    walk(seed, 150, (before, _event, after) => {
      if (after === null) return;
      const given = textsIn({ genesis: after.genesis, tool_package: after.tool_package, events: after.events });
      for (const text of writtenTexts(after.state, given)) {
        if (known.has(text)) continue;
        known.add(text);
        const keys = keysOf(rulesOf(before.state), text, given);
        expect(keys, `rules ${before.state.rules} have no text for ${JSON.stringify(text)}`).not.toEqual([]);
        for (const key of keys) hit.get(before.state.rules)?.add(key);
      }
    });
  }
  expect(hit.get(1)?.size).toBeGreaterThan(15);
  expect(hit.get(2)?.size, 'adopted in some streams').toBeGreaterThan(8);
});
