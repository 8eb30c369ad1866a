// Recorded sessions under other tools or another policy: what would be offered, rejected, asked, or run in another order.
import { readFile, readdir } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import {
  type StreamRecord,
  type ToolCallObserved,
  type ToolPackage,
  type ToolSpec,
  brand,
  defineTool,
} from '../../schemas/index.ts';
import { type Alternative, type Judged, type TurnWhatIf, newWhatIf } from '../../src/core/index.ts';
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { randomFrom, roundsOf } from '../support/random.ts';
import { type Session, call, session } from '../support/session.ts';
import { walk } from '../support/streams.ts';
import { BARRIER, READ, SPARE, WRITE, profileOf, testPackage } from '../support/tools.ts';
import { foldedIn, recordsOf } from './records.ts';

type Judge = (call: ToolCallObserved, tool: ToolSpec) => Judged | null;

/** All turns of a stream under an alternative. */
function turns(records: readonly StreamRecord[], alternative: Alternative, judge: Judge = () => null): TurnWhatIf[] {
  const whatIf = newWhatIf(alternative);
  return foldedIn(records).flatMap((folded) => {
    const judged = whatIf.toJudge(folded).flatMap(({ index, call, tool }) => {
      const made = judge(call, tool);
      return made === null ? [] : [[index, made] as const];
    });
    return whatIf.add(folded, new Map(judged)) ?? [];
  });
}

const of = (story: Session, alternative: Alternative, judge?: Judge): TurnWhatIf[] =>
  turns(recordsOf(story), alternative, judge);

function only(story: Session, alternative: Alternative, judge?: Judge): TurnWhatIf {
  const found = of(story, alternative, judge);
  expect(found).toHaveLength(1);
  return found[0] as TurnWhatIf;
}

const inShort = ({ changes }: TurnWhatIf): readonly string[] =>
  changes.map(({ call_id, kind, recorded, alternative, fields }) => {
    const decisionText = (side: typeof recorded): string => (side.accepted ? `runs@${side.group}` : side.code);
    return `${call_id} ${kind} ${decisionText(recorded)} ${decisionText(alternative)} ${fields.join()}`.trimEnd();
  });

const { registry, profiles } = testPackage();
const without = (...gone: readonly ToolSpec[]): Alternative => ({
  registry: registry.filter((tool) => !gone.includes(tool)),
});
const instead = (tool: ToolSpec): Alternative => ({
  registry: registry.map((known) => (known.tool_id === tool.tool_id ? tool : known)),
});

const story = session()
  .runRequested()
  .observed([
    call('w', 'write', { path: 'a' }),
    call('r', 'read', { path: 'a' }),
    call('free', 'free'),
    call('s', 'spare'),
    call('?', 'absent'),
  ]);

describe('under other tools', () => {
  test('a call of a removed tool is rejected, and calls that waited for it no longer wait', () => {
    const turn = only(story, without(WRITE));
    expect(turn.offer).toEqual({ added: [], removed: ['write'], redefined: [] });
    expect(inShort(turn)).toEqual(['w rejection runs@0 tool_unknown', 'r plan runs@1 runs@0 group,after']);
  });

  test('a call of an added tool runs', () => {
    const more = profiles.map((profile) =>
      profile.profile_id === 'all' ? { ...profile, tool_ids: [...profile.tool_ids, SPARE.tool_id] } : profile,
    );
    const turn = only(story, { registry, profiles: more });
    expect(turn.offer).toEqual({ added: ['spare'], removed: [], redefined: [] });
    expect(inShort(turn)).toEqual(['s rejection tool_not_offered runs@0']);
  });

  test('another definition of a tool changes the offer, not the plan', () => {
    const turn = only(story, instead(defineTool({ ...READ, description: 'Reads, and says so.' })));
    expect(turn).toMatchObject({ offer: { added: [], removed: [], redefined: ['read'] }, changes: [] });
  });

  test('another parallelism hint changes the plan', () => {
    const turn = only(story, instead({ ...READ, timeout_ms: 7, parallelism_hint: { parallel_safe: false } }));
    expect(turn.offer).toBeNull();
    expect(inShort(turn)).toEqual([
      'r plan runs@1 runs@1 claims,parallel_safe,timeout_ms',
      'free plan runs@0 runs@2 group,after',
    ]);
  });

  test('another profile offers other tools', () => {
    const turn = only(story, { profile: brand('few') });
    expect(turn.offer?.removed).toContain('free');
    expect(inShort(turn)).toEqual(['free rejection runs@0 tool_not_offered']);
  });

  test('an unknown profile leaves no tools, and is reported', () => {
    expect(only(story, { profile: brand('absent') })).toMatchObject({
      fault: { code: 'profile_unknown' },
      changes: [],
    });
  });

  test('overrides of absent tools are ignored', () => {
    const overridden = session().takes('ToolOverridesSet', { scope: 'session', enable: ['spare'], disable: ['read'] });
    const turn = only(overridden.runRequested().observed([call('s', 'spare')]), without(SPARE, READ));
    expect(turn.fault).toBeNull();
    expect(inShort(turn)).toEqual(['s rejection runs@0 tool_unknown']);
  });

  test('the offered tools count, not those of a later registry', () => {
    const changed = session()
      .runRequested()
      .takes('ToolRegistrySet', { registry: [BARRIER], profiles: [profileOf('all', [BARRIER])] })
      .observed([call('b', 'barrier'), call('w', 'write', { path: 'a' })]);
    // Under one registry throughout, both were offered and exist.
    expect(inShort(only(changed, { registry, profiles }))).toEqual(['w rejection tool_unknown runs@1']);
  });
});

describe('under another policy', () => {
  const calls = session()
    .runRequested()
    .observed([call('w', 'write', { path: 'a' }), call('r', 'read', { path: 'b' }), call('a', 'asks')]);

  // The mode of `read` is local, that of a host tool whose name implies no mode.
  test('calls ask or are denied that ran before', () => {
    expect(inShort(only(calls, { policy: CONSENT_PRESETS.careful }))).toEqual([
      'w approval runs@0 runs@0 asks',
      'r approval runs@0 runs@0 asks',
    ]);
    expect(inShort(only(calls, { policy: CONSENT_PRESETS.read_only }))).toEqual([
      'w rejection runs@0 permission_denied',
      'r rejection runs@0 permission_denied',
      'a rejection runs@0 permission_denied',
    ]);
  });

  test('a tool that is always allowed no longer asks', () => {
    const { modes } = CONSENT_PRESETS.allow_all;
    const policy = { modes, tools: { asks: 'always_allow' as const } };
    expect(inShort(only(calls, { policy }))).toEqual(['a approval runs@0 runs@0 asks']);
  });

  test('grants of a person during the session stay', () => {
    const granted = calls
      .allowed('a', { grant: {} })
      .batchDone()
      .observed([call('again', 'asks')]);
    expect(of(granted, { policy: CONSENT_PRESETS.allow_all }).flatMap(inShort)).toEqual([]);
  });
});

describe('arguments', () => {
  const strict = defineTool({ ...READ, input_schema: { type: 'object', required: ['depth'] } });
  const bad: Judged = { verdict: { valid: false, message: 'must have a depth' }, claims: [] };

  test('are checked again when the schema differs, and only then', () => {
    const asked: string[] = [];
    const turn = only(story, instead(strict), ({ call_id }) => {
      asked.push(call_id);
      return bad;
    });
    expect(asked).toEqual(['r']);
    expect(inShort(turn)).toEqual(['r rejection runs@1 tool_invalid_args']);
  });

  test('that cannot be checked keep the recorded verdict, and are counted', () => {
    const turn = only(story, instead(strict));
    expect(turn.unjudged).toBe(1);
    expect(inShort(turn)).toEqual([]);
  });

  test('in a blob claim what they contain, or else the whole space', () => {
    const ref = { ref: brand<'Digest'>(`sha256:${'1'.repeat(64)}`), bytes: 5_000, head: '{', tail: '}' };
    const { arguments: _, ...rest } = call('w', 'write');
    const stored = session()
      .runRequested()
      .observed([{ ...rest, arguments_ref: ref, claims: [{ access: 'write', key: 'fs/a' }] }]);
    const other = instead({
      ...WRITE,
      parallelism_hint: {
        parallel_safe: true,
        claims: [{ space: 'disk', argument: 'path', form: 'path', access: 'write' }],
      },
    });
    const claims = (judge?: Judge) =>
      only(stored, other, judge).changes.map(({ alternative }) => alternative.accepted && alternative.claims);
    expect(claims()).toEqual([[{ access: 'write', key: 'disk' }]]);
    const found: Judged = { verdict: { valid: true }, claims: [{ access: 'write', key: 'disk/a' }] };
    expect(claims(() => found)).toEqual([[{ access: 'write', key: 'disk/a' }]]);
  });
});

describe('laws', () => {
  const folder = new URL('../../replay-fixtures/', import.meta.url);

  test('no recorded session changes without an alternative', async () => {
    let calls = 0;
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      if (!entry.isDirectory()) continue;
      const lines = (await readFile(new URL(`${entry.name}/session.jsonl`, folder), 'utf8')).trimEnd().split('\n');
      for (const turn of turns(
        lines.map((line) => JSON.parse(line) as StreamRecord),
        {},
      )) {
        calls += turn.calls;
        expect(turn).toMatchObject({ offer: null, changes: [], unjudged: 0, fault: null });
      }
    }
    expect(calls).toBeGreaterThan(5_000);
  });

  test('no stream changes under its own tools', () => {
    let seen = 0;
    for (let seed = 0; seed < roundsOf(15, 600); seed += 1) {
      const walked = walk(seed, 60).session;
      for (const turn of of(walked, { ...walked.tool_package })) {
        seen += turn.calls;
        expect(turn).toMatchObject({ offer: null, changes: [], unjudged: 0, fault: null });
      }
    }
    expect(seen).toBeGreaterThan(100);
  });

  test('the predicted decisions are those of a session with these tools', () => {
    let changed = 0;
    for (let seed = 0; seed < roundsOf(70, 1_500); seed += 1) {
      const random = randomFrom(seed);
      const calls = randomCalls(seed);
      const other: ToolPackage = otherPackage(random);
      const here = session().runRequested().observed(calls);
      const there = session({ tool_package: other }).runRequested().observed(calls);
      const { changes } = only(here, other);
      changed += changes.length;
      const expected = decisions(there.plan());
      for (const { call_id, index, alternative } of changes) {
        expect(alternative.accepted ? `runs@${alternative.group}` : alternative.code).toBe(expected(call_id, index));
      }
      const differing = new Set(changes.map(({ index }) => index));
      const recorded = decisions(here.plan());
      for (const [index, { call_id }] of calls.entries()) {
        if (!differing.has(index)) expect(recorded(call_id, index)).toBe(expected(call_id, index));
      }
    }
    expect(changed).toBeGreaterThan(150);
  });

  const randomCalls = (seed: number): readonly ToolCallObserved[] => {
    const random = randomFrom(seed + 1_000);
    const names = [...registry.map(({ tool_name }) => tool_name as string), 'absent'];
    return Array.from({ length: 1 + random.below(12) }, (_, index) =>
      call(random.oneIn(15) ? 'twice' : `c${index}`, random.pick(names), {
        path: `d${random.below(2)}/f${random.below(3)}`,
        index,
      }),
    );
  };

  const otherPackage = (random: ReturnType<typeof randomFrom>): ToolPackage => {
    const kept = registry.flatMap((tool): readonly ToolSpec[] => {
      if (random.oneIn(6)) return [];
      if (random.oneIn(6)) return [{ ...tool, parallelism_hint: { parallel_safe: random.oneIn(2) } }];
      return [tool];
    });
    const offered = kept.filter(() => !random.oneIn(8));
    return { ...testPackage(), registry: kept, profiles: [profileOf('all', offered)] };
  };

  const decisions = ({ planned_calls, rejected, execution_plan }: ReturnType<Session['plan']>) => {
    const codes = new Map(rejected.map(({ index, code }) => [index, code as string]));
    const known = new Set(planned_calls.map(({ call_id }) => call_id));
    return (id: ToolCallObserved['call_id'], index: number): string =>
      codes.get(index) ??
      (known.has(id) ? `runs@${execution_plan.groups.findIndex((group) => group.includes(id))}` : 'nothing');
  };
});
