// Which calls ask a person: the table by mode, exceptions, the flags of the tool, and grants (docs/design.md, "Consent" and
// law 6).
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type ConsentPolicy,
  type Grant,
  type JsonObject,
  type ToolMode,
  brand,
  canonicalText,
  digestText,
} from '../../schemas/index.ts';
import type { ToolDefinition } from '../../schemas/define-tool.ts';
import type { ToolPermission } from '../../schemas/consent.ts';
import { GRANT_VALUE_CHARS_MAX } from '../../schemas/limits.ts';
import { decideConsent, grantFor, isGranted, matches } from '../../reducers/consent.ts';
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { policyOf } from '../support/consent.ts';
import { tool } from '../support/tools.ts';

const MODES: readonly ToolMode[] = ['read', 'safe_write', 'destructive', 'local', 'external'];

/** A tool of this mode, with defaults for everything else. */
const ofMode = (mode: ToolMode, rest: Partial<ToolDefinition> = {}) =>
  tool('t', { mode, destructive: mode === 'destructive', ...rest });

const decided = (policy: ConsentPolicy, of: ReturnType<typeof ofMode>, grants: readonly Grant[] = []) =>
  decideConsent({ policy, grants }, of, {});

describe('presets', () => {
  // `default`: docs/design.md, "Consent". `steerable`: Steerable Tools Spec, "ToolMode", where only `local` asks.
  // `september`: September, "Confirm before destructive".
  const TABLE = {
    default: ['allow', 'allow', 'ask', 'ask', 'allow'],
    steerable: ['allow', 'allow', 'allow', 'ask', 'allow'],
    september: ['allow', 'allow', 'ask', 'allow', 'ask'],
    careful: ['allow', 'ask', 'ask', 'ask', 'ask'],
    allow_all: ['allow', 'allow', 'allow', 'allow', 'allow'],
    read_only: ['allow', 'deny', 'deny', 'deny', 'deny'],
  } as const;

  test.each(Object.entries(TABLE))('%s: read, safe_write, destructive, local, external are %j', (name, row) => {
    const policy = CONSENT_PRESETS[name as keyof typeof TABLE];
    expect(MODES.map((mode) => decided(policy, ofMode(mode)).decision)).toEqual(row);
  });

  test('there are no further presets', () => {
    expect(Object.keys(CONSENT_PRESETS).sort()).toEqual(Object.keys(TABLE).sort());
  });
});

describe('reasons', () => {
  const strict = policyOf({ modes: { ...CONSENT_PRESETS.allow_all.modes, external: 'ask', destructive: 'ask' } });

  test('a mode that asks, and a destructive tool of another mode', () => {
    expect(decided(strict, ofMode('external'))).toEqual({ decision: 'ask', reasons: ['mode_asks'] });
    expect(decided(strict, ofMode('safe_write', { destructive: true }))).toEqual({
      decision: 'ask',
      reasons: ['destructive_asks'],
    });
    expect(decided(strict, ofMode('external', { destructive: true })).reasons).toEqual([
      'mode_asks',
      'destructive_asks',
    ]);
  });

  test.each([
    ['effect', { kind: 'effect', effect_kind: 'host.exec' }, 'host.exec'],
    ['skill', { kind: 'skill', skill: 'deploy' }, 'skill.deploy'],
    ['mcp', { kind: 'mcp', server: 'hub', tool: 'remove' }, 'mcp.hub.remove'],
  ] as const)(
    'a tool under another name (%s) is denied, and asks, where the tool that it runs does',
    (_kind, executor, id) => {
      const alias = ofMode('external', { executor });
      const own = alias.tool_id;
      const to = (tools: Readonly<Record<string, ToolPermission>>) =>
        decided(policyOf({ ...CONSENT_PRESETS.allow_all, tools }), alias).decision;
      expect(to({ [id]: 'deny' })).toBe('deny');
      expect(to({ [id]: 'deny', [own]: 'always_allow' })).toBe('deny');
      expect(to({ [id]: 'always_allow', [own]: 'deny' })).toBe('deny');
      expect(to({ [id]: 'always_ask' })).toBe('ask');
      expect(to({ [id]: 'always_ask', [own]: 'always_allow' })).toBe('allow');
      expect(to({})).toBe('allow');
      const asking = ofMode('external', { executor, permission_policy: 'always_ask' });
      expect(
        decided(policyOf({ ...CONSENT_PRESETS.allow_all, tools: { [id]: 'always_allow' } }), asking).decision,
      ).toBe('ask');
    },
  );

  test('the destructive flag does not count for commands and custom tools', () => {
    expect(decided(strict, ofMode('local', { destructive: true }))).toEqual({ decision: 'allow', reasons: [] });
    const byHand = ofMode('safe_write', { destructive: true, executor: { kind: 'custom' } });
    expect(decided(strict, byHand)).toEqual({ decision: 'allow', reasons: [] });
  });

  test('a tool that always asks, in any mode', () => {
    for (const mode of MODES) {
      expect(decided(policyOf(), ofMode(mode, { permission_policy: 'always_ask' }))).toEqual({
        decision: 'ask',
        reasons: ['tool_asks'],
      });
    }
  });

  test('exceptions of the session for one tool', () => {
    const asks = policyOf({ tools: { t: 'always_ask' } });
    expect(decided(asks, ofMode('read'))).toEqual({ decision: 'ask', reasons: ['session_asks'] });
    const allows = { ...strict, tools: { t: 'always_allow' as const } };
    expect(decided(allows, ofMode('external', { permission_policy: 'always_ask' }))).toEqual({
      decision: 'allow',
      reasons: ['mode_asks', 'tool_asks', 'session_allows'],
    });
    expect(decided(allows, ofMode('read'))).toEqual({ decision: 'allow', reasons: [] });
  });

  test('a workflow tool never asks, but can be denied', () => {
    const workflow = ofMode('read', { executor: { kind: 'workflow', workflow: 'w' }, permission_policy: 'always_ask' });
    expect(decided(policyOf(), workflow)).toEqual({ decision: 'allow', reasons: [] });
    expect(decided(policyOf({ tools: { t: 'deny' } }), workflow).decision).toBe('deny');
  });
});

const policies = fc.record({
  modes: fc.record(
    Object.fromEntries(MODES.map((mode) => [mode, fc.constantFrom('allow', 'ask', 'deny')])) as never,
  ) as fc.Arbitrary<ConsentPolicy['modes']>,
  tools: fc.dictionary(fc.constantFrom('t', 'u'), fc.constantFrom('always_allow', 'always_ask', 'deny')),
}) as unknown as fc.Arbitrary<ConsentPolicy>;
const tools = fc
  .tuple(fc.constantFrom(...MODES), fc.boolean(), fc.constantFrom('always_allow' as const, 'always_ask' as const))
  .map(([mode, destructive, permission_policy]) => ofMode(mode, { destructive, permission_policy }));
const { tool_id, tool_ref } = tool('t');
const T = { tool_id, tool_ref };
const GRANT: Grant = T;

test('deny wins, over exceptions and grants, for every policy and tool', () => {
  fc.assert(
    fc.property(policies, tools, fc.boolean(), (policy, of, granted) => {
      const { decision, reasons } = decided(policy, of, granted ? [GRANT] : []);
      const beside = of.destructive && of.mode !== 'local' && policy.modes.destructive === 'deny';
      const denied = policy.modes[of.mode] === 'deny' || policy.tools[of.tool_id] === 'deny' || beside;
      expect(decision === 'deny').toBe(denied);
      // Every question and refusal has a reason, and a grant leaves no question.
      if (decision !== 'allow') expect(reasons.length).toBeGreaterThan(0);
      if (granted) expect(decision).not.toBe('ask');
    }),
  );
});

describe('grants', () => {
  const given = (pattern: string, args: JsonObject, argument = 'path'): Grant =>
    grantFor({ argument, pattern }, T, args) ?? expect.fail(`no grant for ${argument}`);
  /** A pattern that was given with a call of this shape covers a call with these arguments. */
  const covers = (pattern: string, args: JsonObject | null): boolean =>
    isGranted(given(pattern, { path: Array.isArray(args?.['path']) ? ['x'] : 'x' }), T, args);

  test('a grant without a pattern covers every call of its tool and of no other tool', () => {
    expect(grantFor({}, T, null)).toEqual(GRANT);
    expect(isGranted(GRANT, T, null)).toBe(true);
    expect(isGranted(GRANT, { ...T, tool_id: brand<'ToolId'>('t.u') }, {})).toBe(false);
  });

  test('a grant belongs to the definition of the tool it was given for', () => {
    const redefined = { ...T, tool_ref: digestText('another definition') };
    expect(isGranted(GRANT, redefined, null)).toBe(false);
    expect(isGranted(given('**', { path: 'a' }), redefined, { path: 'a' })).toBe(false);
  });

  const APPROVED = { argv: ['git', 'status'], cwd: 'src', env: { LANG: 'C' } };

  test.each<readonly [string, JsonObject, boolean]>([
    ['as approved', APPROVED, true],
    ['its fields in another order', { env: { LANG: 'C' }, cwd: 'src', argv: ['git', 'status'] }, true],
    ['another value of the granted argument', { ...APPROVED, argv: ['git', 'log'] }, true],
    ['another value of another argument', { ...APPROVED, cwd: '/' }, false],
    ['an argument more', { ...APPROVED, stdin: 'x' }, false],
    ['an argument more that is null', { ...APPROVED, stdin: null }, false],
    ['an argument less', { argv: APPROVED.argv, env: APPROVED.env }, false],
    ['a field more inside an argument', { ...APPROVED, env: { LANG: 'C', PATH: '/tmp' } }, false],
    ['an empty object for an absent argument', { ...APPROVED, limits: {} }, false],
    ['the same words as a text', { ...APPROVED, argv: 'git status' }, false],
    ['white space that only looks the same', { ...APPROVED, argv: ['git', 'status\u00a0'] }, false],
  ])('a pattern grants one argument; with %s: %j is covered: %s', (_what, args, covered) => {
    expect(isGranted(given('git *', APPROVED, 'argv'), T, args)).toBe(covered);
  });

  test('a call in which the argument is a text is not covered by a grant for a list, nor the reverse', () => {
    expect(isGranted(given('git *', { argv: 'git status' }, 'argv'), T, { argv: ['git', 'log'] })).toBe(false);
    expect(isGranted(given('git *', { argv: ['git', 'x'] }, 'argv'), T, { argv: 'git log' })).toBe(false);
  });

  test('random other arguments: covered exactly when they are the same', () => {
    const rest = fc.dictionary(
      fc.constantFrom('cwd', 'stdin', 'env', '__a'),
      fc.constantFrom('', 'a', null, 1, ['a']),
      {
        maxKeys: 3,
      },
    );
    fc.assert(
      fc.property(rest, rest, (one, other) => {
        const covered = isGranted(given('*', { ...one, path: 'x' }), T, { ...other, path: 'y' });
        expect(covered).toBe(canonicalText({ ...one }) === canonicalText({ ...other }));
      }),
    );
  });

  test('none can be given for an argument that the call lacks, that is no text or list, or that is in a blob', () => {
    for (const args of [{}, { path: 7 }, { path: null }, { path: { a: 1 } }, null]) {
      expect(grantFor({ argument: 'path', pattern: '**' }, T, args as JsonObject | null)).toBeNull();
    }
    expect(grantFor({ argument: 'toString', pattern: '**' }, T, {})).toBeNull();
  });

  test.each([
    ['src/**', 'src/a/b.ts', true],
    ['src/**', 'src/', true],
    ['src/**', 'src', false],
    ['src/*', 'src/a.ts', true],
    ['src/*', 'src/a/b.ts', false],
    ['*.ts', 'a.ts', true],
    ['*.ts', 'a/b.ts', false],
    ['**/*.ts', 'a/b/c.ts', true],
    ['**', '', true],
    ['*', 'a b', false],
    ['git *', 'git status', true],
    ['git *', 'git status\trm', false],
    ['git *', 'git push origin', false],
    ['git **', 'git push origin', true],
    ['a', 'a', true],
    ['a', 'A', false],
    ['a', 'ab', false],
    ['a.c', 'abc', false],
    // A `..` segment may lead out of the folder that the pattern names.
    ['src/**', 'src/../etc', false],
    ['**', '..', false],
    ['**', 'cat ../x', false],
    ['src/**', 'src/a..b', true],
    ['src/*', 'src/a\u0085b', false],
    ['src/*', 'src/a\u0000b', false],
    ['git *', 'git a\u2003b', false],
    // Another host, in the ways in which a host ends.
    ['https://*.a.com/**', 'https://api.a.com/x', true],
    ['https://*.a.com/**', 'https://evil.com?.a.com/x', false],
    ['https://*.a.com/**', 'https://evil.com#.a.com/x', false],
    ['https://*.a.com/**', 'https://evil.com:443\\.a.com/x', false],
    ['https://*.a.com/**', 'https://evil.com\\.a.com/x', false],
    ['https://*.a.com/**', 'https://evil.com@.a.com/x', false],
    ['https://*.a.com/**', 'https://evil.com%2f.a.com/x', false],
    // An option is no ordinary word.
    ['npm run *', 'npm run test', true],
    ['npm run *', 'npm run --script-shell=x', false],
    ['npm *', 'npm -x', false],
    ['*', '-x', false],
    ['npm -*', 'npm -x', true],
    ['a*', 'a-b', true],
    // A climb as Windows and URLs write it.
    ['src/**', 'src/..\\..\\x', false],
    ['src/**', 'src/..%2fx', false],
    ['src/**', 'src/%2E%2e/x', false],
    ['src/**', 'src/a%2Eb', true],
  ])('%s on %j: %s', (pattern, path, expected) => {
    expect(covers(pattern, { path })).toBe(expected);
  });

  test('an array of plain words is matched as a command line; other values never match', () => {
    expect(covers('git *', { path: ['git', 'status'] })).toBe(true);
    expect(covers('git *', { path: ['git', 'push', 'x'] })).toBe(false);
    for (const path of [['git', 'a b'], ['git', ''], ['git', "'"], ['git', 7], 7, true, null, { a: 1 }, ['..']]) {
      expect(covers('**', { path })).toBe(false);
    }
  });

  test('missing, inherited or too long arguments and arguments in a blob do not match', () => {
    expect(covers('**', {})).toBe(false);
    expect(covers('**', null)).toBe(false);
    expect(isGranted(given('**', { toString: 'x' }, 'toString'), T, {})).toBe(false);
    expect(covers('**', { path: 'a'.repeat(GRANT_VALUE_CHARS_MAX) })).toBe(true);
    expect(covers('**', { path: 'a'.repeat(GRANT_VALUE_CHARS_MAX + 1) })).toBe(false);
  });
});

describe('wildcards', () => {
  /** The definition by trial: a wildcard matches nothing, or one more character. */
  function naive(tokens: readonly string[], value: string, before = ' '): boolean {
    const [token, ...rest] = tokens;
    if (token === undefined) return value === '';
    if (token !== '*' && token !== '**') {
      return value.startsWith(token) && naive(rest, value.slice(token.length), token.at(-1));
    }
    if (naive(rest, value, before)) return true;
    const [first] = value;
    if (first === undefined) return false;
    if (token === '*' && (/[\s/?]/.test(first) || (first === '-' && before === ' '))) return false;
    return naive(tokens, value.slice(1), first);
  }

  const TOKENS = fc.array(fc.constantFrom('*', '**', 'a', '-', '/', ' ', 'a-'), { maxLength: 8 });
  const VALUE = fc.array(fc.constantFrom('a', '-', '/', ' ', '?'), { maxLength: 10 }).map((parts) => parts.join(''));

  test('match exactly what the definition matches', () => {
    let both = 0;
    fc.assert(
      fc.property(TOKENS, VALUE, (tokens, value) => {
        // Two adjacent `*` read as `**`, so the reference reads the text of the pattern, not its parts.
        const pattern = tokens.join('');
        const read = pattern.split(/(\*\*|\*)/).filter((token) => token !== '');
        const expected = naive(read, value);
        if (expected) both += 1;
        expect(matches(pattern, value)).toBe(expected);
      }),
      { numRuns: 3_000 },
    );
    expect(both).toBeGreaterThan(100);
  });

  test('the longest adversarial patterns are fast on the longest value', () => {
    const value = 'a'.repeat(GRANT_VALUE_CHARS_MAX);
    const started = performance.now();
    for (const part of ['*a', '**a', '*a*b', '**/', 'a**']) {
      const pattern = part.repeat(Math.floor(1_000 / part.length));
      expect(matches(`${pattern}c`, value)).toBe(false);
    }
    // Backtracking would take longer than the age of the universe; the bound is generous for slow machines.
    expect(performance.now() - started).toBeLessThan(20_000);
  });
});
