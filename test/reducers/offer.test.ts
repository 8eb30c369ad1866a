// The cut of an offer: which tools a generate offers when there are more than the config of its run allows, and how the others
// are found.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type JsonObject, brand, limits } from '../../schemas/index.ts';
import { cutOffer } from '../../reducers/toolsets/offer.ts';
import { newSearchWork, rankTools, withFound, searchWords } from '../../reducers/toolsets/search.ts';
import { defaultToolPackage } from '../../src/index.ts';
import { DEFAULT_CONFIG } from '../../src/core/index.ts';
import { toolsetTool } from '../../src/testing/toolset-facts.ts';
import { toolsFind } from '../../src/toolsets/tools-find.ts';
import { type Session, call, session } from '../support/session.ts';
import { SPARE, profileOf, testPackage, tool } from '../support/tools.ts';

const LOOK = tool('look', { description: 'Looks at issues.' });
const LIST = tool('list');

/** A profile of two tools and the one that finds others; `spare` is in none. */
const small = (offer_max: number): Session =>
  session({
    tool_package: {
      registry: [LOOK, LIST, SPARE, toolsFind()],
      profiles: [profileOf('all', [LOOK, LIST, toolsFind()])],
      provider_profiles: testPackage().provider_profiles,
    },
    config: { offer_max },
  });

const outside = (count: number, of: Session): Session =>
  of.takes('ToolsetSet', {
    toolset: 'mcp.hub',
    owner: 'outside',
    trust: 'first',
    tools: Array.from({ length: count }, (_, at) => toolsetTool(`mcp.hub.t${at}`, 0)),
  });

const offered = ({ state }: Session): readonly string[] =>
  state.run?.offer?.ordered_tools.map(({ tool_name }) => tool_name) ?? [];
const effective = ({ state }: Session): readonly string[] =>
  state.effective_tools.ordered_tools.map(({ tool_name }) => tool_name);
const verdictIn = ({ state }: Session, id: string) => state.run?.offer?.verdicts.find(({ tool_id }) => tool_id === id);

function textIn(of: Session, id: string): string {
  const output = of.callState(id)?.output;
  if (output === null || output === undefined || !('text' in output)) throw new Error(`${id} has no answer`);
  return output.text;
}

interface Answer {
  readonly tools: readonly JsonObject[];
  readonly more: number;
}
const answerOf = (of: Session, id: string): Answer => JSON.parse(textIn(of, id)) as Answer;
const found = (of: Session, id: string) => answerOf(of, id).tools.map(({ name }) => name);

describe('an offer', () => {
  test('of a new session has at most 64 tools, and a session without a number has no cut', () => {
    expect(DEFAULT_CONFIG.offer_max).toBe(64);
    expect(limits.OFFER_DEFAULT).toBe(64);
    expect(outside(100, small(512)).runRequested().state.run?.offer?.ordered_tools).toHaveLength(102);
  });

  test('is the effective set itself while all fit, and nothing is to be found', () => {
    const run = outside(1, small(3)).runRequested();
    expect(run.state.run?.offer).toBe(run.state.effective_tools);
    expect(offered(run)).toEqual(['look', 'list', 'mcp__hub__t0']);
    expect(verdictIn(run, 'tools.find')).toMatchObject({ effective: false, reasons: ['in_profile', 'all_offered'] });
  });

  test('begins with what finds others, then the profile, then what is enabled and forced, then the rest by id', () => {
    const many = outside(6, small(5));
    const enabled = many.takes('ToolOverridesSet', { scope: 'session', enable: ['mcp.hub.t4', 'spare'] });
    const run = enabled.runRequested();
    expect(effective(run)).toHaveLength(10);
    expect(offered(run)).toEqual(['look', 'list', 'tools_find', 'mcp__hub__t4', 'spare']);
    expect(offered(many.runRequested())).toEqual(['look', 'list', 'tools_find', 'mcp__hub__t0', 'mcp__hub__t1']);
    const tools = { enable: ['mcp.hub.t2', 'mcp.hub.t3'], disable: [], force: ['mcp.hub.t5'] } as never;
    const forced = enabled.runRequested({}, { tools });
    expect(offered(forced)).toEqual(['look', 'list', 'tools_find', 'mcp__hub__t3', 'mcp__hub__t5']);
  });

  test('says of the others that they are beyond it, and leaves the effective set whole', () => {
    const run = outside(6, small(5)).runRequested();
    expect(verdictIn(run, 'mcp.hub.t5')).toEqual({
      effective: false,
      reasons: ['in_toolset', 'beyond_offer'],
      tool_id: 'mcp.hub.t5',
      tool_name: 'mcp__hub__t5',
    });
    expect(run.state.effective_tools.verdicts.find(({ tool_id }) => tool_id === 'mcp.hub.t5')).toMatchObject({
      effective: true,
      reasons: ['in_toolset'],
    });
  });

  test('is the cut of the run, not that of the session', () => {
    const many = outside(6, small(5));
    expect(offered(many.runRequested({ offer_max: 4 }))).toHaveLength(4);
    expect(offered(many.runRequested({ offer_max: 9 }))).not.toContain('tools_find');
  });

  test('never has more tools than an offer holds', () => {
    let of = small(limits.TOOLS_MAX);
    for (const at of [0, 1]) {
      const tools = Array.from({ length: 300 }, (_, n) => toolsetTool(`mcp.s${at}.t${n}`, 0));
      of = of.takes('ToolsetSet', { toolset: `mcp.s${at}`, owner: 'outside', trust: 'first', tools });
    }
    const run = of.runRequested();
    expect(effective(run)).toHaveLength(603);
    expect(offered(run)).toHaveLength(limits.TOOLS_MAX);
    // Nor where no number is set, as in a session of an earlier version.
    const { offer_max: _none, ...config } = of.state.config;
    const uncut = { ...of.state, config };
    expect(cutOffer(uncut, of.state.effective_tools).ordered_tools).toHaveLength(limits.TOOLS_MAX);
  });

  test('is kept while a batch is open: an enable evicts nothing', () => {
    const open = outside(6, small(4))
      .runRequested()
      .takes('ToolOverridesSet', { scope: 'run', enable: ['mcp.hub.t5'] });
    const judged = open.observed([call('a', 'mcp__hub__t0'), call('b', 'mcp__hub__t5')]);
    expect(judged.rejections()).toEqual({ 1: 'tool_not_offered' });
    expect(judged.callState('b')?.output).toMatchObject({ text: expect.stringContaining('Find it with tools_find') });
    expect(offered(judged.batchDone())).toEqual(['look', 'list', 'tools_find', 'mcp__hub__t5']);
  });
});

describe('a profile that fills the offer', () => {
  /** 20 tools in the profile, 8 offered, 40 more outside. */
  const many = Array.from({ length: 20 }, (_, at) => tool(`p${String(at).padStart(2, '0')}`));
  const full = outside(
    40,
    session({
      tool_package: {
        registry: [...many, toolsFind()],
        profiles: [profileOf('all', [...many, toolsFind()])],
        provider_profiles: testPackage().provider_profiles,
      },
      config: { offer_max: 8 },
    }),
  ).runRequested();

  test('has room for what tools_find found, with the newest of it first, and for half of itself', () => {
    expect(offered(full)).toEqual(['p00', 'p01', 'p02', 'p03', 'p04', 'p05', 'p06', 'tools_find']);
    const one = full.observed([call('f', 'tools_find', { query: 't7', limit: 1 })]).batchDone();
    expect(offered(one)).toEqual(['p00', 'p01', 'p02', 'p03', 'p04', 'p05', 'tools_find', 'mcp__hub__t7']);
    const more = one.observed([call('g', 'tools_find', { query: 'hub', limit: 16 })]).batchDone();
    expect(offered(more).filter((name) => name.startsWith('mcp__'))).toHaveLength(3);
    expect(offered(more)).not.toContain('mcp__hub__t7');
    expect(offered(more)).toContain('p03');
  });

  test('has it also for the other tools of the profile that were found', () => {
    const found = full.observed([call('f', 'tools_find', { query: 'p19', limit: 1 })]).batchDone();
    expect(offered(found)).toContain('p19');
  });
});

describe('tools_find', () => {
  const run = outside(6, small(4)).runRequested();

  test('finds tools that are not offered, which the next generate offers', () => {
    const asked = run.observed([call('f', 'tools_find', { query: 'hub T4' })]);
    expect(found(asked, 'f')[0]).toBe('mcp__hub__t4');
    expect(asked.state.tool_overrides.run.enable[0]).toBe('mcp.hub.t4');
    const next = asked.batchDone();
    expect(offered(next)).toEqual(['look', 'list', 'tools_find', found(asked, 'f').at(-1)]);
    expect(found(run.observed([call('f', 'tools_find', { query: 't4', limit: 1 })]), 'f')).toEqual(['mcp__hub__t4']);
  });

  test('finds neither what is offered already nor what is disabled or not approved', () => {
    const hidden = run.takes('ToolOverridesSet', { scope: 'session', disable: ['mcp.hub.t4'] }).takes('ToolsetSet', {
      toolset: 'catalog',
      owner: 'engine',
      tools: [toolsetTool('catalog.t4', 0)],
    });
    const asked = hidden.observed([call('f', 'tools_find', { query: 't4' }), call('g', 'tools_find', { query: 't0' })]);
    expect([found(asked, 'f'), found(asked, 'g')]).toEqual([[], []]);
    expect(asked.state.tool_overrides.run.enable).toEqual([]);
    expect(answerOf(asked, 'f')).toMatchObject({ more: 0, note: expect.stringContaining('Use other words') });
  });

  test('ends with the run', () => {
    const asked = run.observed([call('f', 'tools_find', { query: 't4' })]);
    expect(asked.batchDone().answered('done').state.tool_overrides.run.enable).toEqual([]);
  });

  test('searches a few times in one batch, and says so beyond', () => {
    const calls = Array.from({ length: limits.SEARCHES_PER_BATCH_MAX + 1 }, (_, at) =>
      call(`f${at}`, 'tools_find', { query: 't4', limit: 1 + (at % 16), at }),
    );
    const asked = run.observed(calls);
    expect(found(asked, `f${calls.length - 2}`)).not.toEqual([]);
    expect(answerOf(asked, `f${calls.length - 1}`)).toMatchObject({
      tools: [],
      note: expect.stringContaining('searches are made in one turn'),
    });
  });

  test('answers inline, whatever the tools say of themselves', () => {
    const loud = Array.from({ length: 40 }, (_, at) => {
      const { definition, spec } = toolsetTool(`mcp.hub.t${at}`, 0);
      const { tool_id, tool_name, input_schema } = spec;
      return { definition, spec: tool(tool_name, { tool_id, input_schema, description: '"\\\u0001'.repeat(900) }) };
    });
    const asked = small(4)
      .takes('ToolsetSet', { toolset: 'mcp.hub', owner: 'outside', trust: 'first', tools: loud })
      .runRequested()
      .observed([call('f', 'tools_find', { query: 'hub', limit: 16 })]);
    const { tools, more } = answerOf(asked, 'f');
    expect(tools.length).toBeGreaterThan(0);
    // Two of the profile, the one that finds and one more are offered.
    expect(tools.length + more).toBe(39);
    expect(textIn(asked, 'f').length).toBeLessThan(limits.INLINE_CHARS_MAX);
  });

  test('is in the default package, in every profile, for sessions that need it', () => {
    const { registry, profiles } = defaultToolPackage();
    expect(registry.map(({ tool_id }) => tool_id)).toContain('tools.find');
    for (const { tool_ids } of profiles) expect(tool_ids.at(-1)).toBe('tools.find');
    const of = session({ tool_package: defaultToolPackage() }).hostReady();
    expect(effective(of)).not.toContain('tools_find');
    expect(effective(outside(60, of))).toContain('tools_find');
  });
});

describe('the search', () => {
  const ISSUES = [
    tool('create_issue', { tool_id: 'hub.create_issue', description: 'Opens a ticket.' }),
    tool('createIssueComment', { tool_id: 'hub.comment', description: 'Says something of a ticket.' }),
    tool('other', { tool_id: 'hub.other', description: 'Creates an issue.' }),
    tool('far', { tool_id: 'hub.far', description: `${'x '.repeat(limits.SEARCHED_CHARS_MAX)} issue` }),
  ];
  const rank = (query: string) => rankTools(ISSUES, searchWords(query)).map(({ tool_id }) => tool_id);

  test.each([
    [
      'a word of a name counts more than one of a description',
      'issue',
      ['hub.comment', 'hub.create_issue', 'hub.other'],
    ],
    [
      'the beginning of a word counts less than the word',
      'comm issue',
      ['hub.comment', 'hub.create_issue', 'hub.other'],
    ],
    ['more words count more', 'create ticket', ['hub.comment', 'hub.create_issue', 'hub.other']],
    ['a dotted id is words', 'hub.other', ['hub.other', 'hub.comment', 'hub.create_issue', 'hub.far']],
    ['a short beginning stands for itself', 'cr', []],
    ['what is beyond the searched part does not count', 'xx', []],
    ['no words find nothing', '—!', []],
  ])('%s', (_what, query, ids) => {
    expect(rank(query)).toEqual(ids);
  });

  test('reads camel case, and letters beyond ASCII as they are', () => {
    expect(searchWords('readFile READ_file2 Überblick, naïve read')).toEqual([
      'read',
      'file',
      'file2',
      'Überblick',
      'naïve',
    ]);
  });

  test('is a total order by integers, whatever the words are', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { maxLength: 8 }), fc.shuffledSubarray(ISSUES), (words, tools) => {
        const query = searchWords(words.join(' '));
        const ranked = rankTools(tools, query);
        expect(ranked).toEqual(rankTools(tools.toReversed(), query));
        expect(new Set(ranked).size).toBe(ranked.length);
      }),
    );
  });
});

describe('an offer that is pinned anew', () => {
  const held = { run_id: brand<'RunId'>('run-1'), turn: 1 };
  const more = (of: Session, generate: typeof held) => ({
    toolset: 'mcp.late',
    owner: 'outside',
    trust: 'first' as const,
    generate,
    tools: [toolsetTool('mcp.late.x', 0)],
    of,
  });

  test('has the tools of a toolset that came before its model was asked', () => {
    const run = small(8).runRequested();
    const { of, ...fields } = more(run, held);
    const after = of.takes('ToolsetSet', fields);
    expect(offered(run)).toEqual(['look', 'list']);
    expect(offered(after)).toEqual(['look', 'list', 'mcp__late__x']);
    expect(after.state.run?.offer).toBe(after.state.effective_tools);
  });

  test('stays as it is when the event names no generate', () => {
    const run = small(8).runRequested();
    const { of, generate: _left, ...fields } = more(run, held);
    expect(offered(of.takes('ToolsetSet', fields))).toEqual(['look', 'list']);
  });

  test.each([
    { what: 'no run', from: small(8), generate: held, code: 'run_not_active', path: '/generate' },
    {
      what: 'another run',
      from: small(8).runRequested(),
      generate: { ...held, run_id: brand<'RunId'>('run-2') },
      code: 'wrong_run',
      path: '/generate/run_id',
    },
    {
      what: 'another turn',
      from: small(8).runRequested(),
      generate: { ...held, turn: 2 },
      code: 'wrong_turn',
      path: '/generate/turn',
    },
    {
      what: 'a model that has answered',
      from: small(8)
        .runRequested()
        .observed([call('a', 'look')]),
      generate: held,
      code: 'wrong_phase',
      path: '/generate',
    },
  ])('is refused with $what', ({ from, generate, code, path }) => {
    const { of, ...fields } = more(from, generate);
    expect(of.refusal('ToolsetSet', fields)).toMatchObject({ code, path });
  });
});

describe('what was found', () => {
  const ids = (count: number, name = 't') => Array.from({ length: count }, (_, at) => brand<'ToolId'>(`${name}${at}`));

  test('moves to the end, so that the newest is offered first', () => {
    const overrides = { disable: [], enable: ids(3), force: [] };
    expect(withFound(overrides, new Set([brand<'ToolId'>('t0'), brand<'ToolId'>('x')])).enable).toEqual([
      't1',
      't2',
      't0',
      'x',
    ]);
  });

  test('never drops what was enabled on purpose', () => {
    const full = { disable: [], enable: ids(limits.TOOLS_MAX - 1), force: [] };
    const { enable } = withFound(full, new Set(ids(3, 'x')));
    expect(enable).toEqual([...full.enable, 'x0']);
  });

  test('is bounded by the searches of a batch', () => {
    expect(newSearchWork().left * limits.FINDS_MAX).toBeLessThanOrEqual(limits.TOOLS_MAX);
  });
});
