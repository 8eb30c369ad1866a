// The workflow tools: their answers are a function of state, settled in the fold, and bounded (openboa, "Permission
// policies").
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type JsonObject, brand } from '../../schemas/index.ts';
import { INLINE_CHARS_MAX } from '../../schemas/limits.ts';
import { planBatch, effects } from '../../src/core/index.ts';
import { WORKFLOWS, runWorkflow } from '../../reducers/workflows.ts';
import { newSearchWork } from '../../reducers/tool-search.ts';
import { permissionTools } from '../../src/toolsets/permission-tools.ts';
import { toolsFind } from '../../src/toolsets/tools-find.ts';
import { CONSENT_TOOLS, asking, calling, owed, statuses } from '../support/consent.ts';
import { type Session, ZERO_DIGEST, call } from '../support/session.ts';
import { tool } from '../support/tools.ts';

/** The answer of a call of a workflow tool. */
function answerOf(of: Session, id: string): JsonObject {
  const output = of.callState(id)?.output;
  if (output === null || output === undefined || !('text' in output)) throw new Error(`${id} has no answer`);
  return JSON.parse(output.text) as JsonObject;
}

/** Arguments as long as a model may write them: each string property of the tool's schema, in characters that JSON escapes. */
function longestArguments(workflow: string): JsonObject {
  const schema = [...permissionTools(), toolsFind()].find(({ tool_id }) => tool_id === workflow)?.input_schema as {
    readonly properties: Readonly<Record<string, { readonly type?: string }>>;
  };
  const texts = Object.keys(schema.properties).filter((name) => schema.properties[name]?.type === 'string');
  return Object.fromEntries(texts.map((name) => [name, '\u0001'.repeat(4_000)]));
}

const check = (args: JsonObject, of = asking()): JsonObject =>
  answerOf(calling(of, call('c', 'permissions_check', args)), 'c');

describe('permissions_check', () => {
  test.each([
    ['read', 'allow', []],
    ['asks', 'ask', ['tool_asks']],
    ['permissions_describe', 'allow', []],
  ])('of %s answers %s', (tool_name, decision, reasons) => {
    expect(check({ tool_name })).toMatchObject({ tool_name, decision, reasons, read_only_alternative: null });
  });

  test('applies the policy and the grants to the arguments', () => {
    expect(check({ tool_name: 'free' }, asking({ tools: { free: 'deny' } }))).toMatchObject({
      decision: 'deny',
      reasons: ['session_denies'],
    });
    const granted = calling(asking(), call('a', 'asks_write', { path: 'src/a' }))
      .allowed('a', { grant: { argument: 'path', pattern: 'src/*' } })
      .batchDone();
    const ask = (path: string) =>
      answerOf(
        granted.observed([call('c', 'permissions_check', { tool_name: 'asks_write', arguments: { path } })]),
        'c',
      )['decision'];
    expect([ask('src/b'), ask('etc/b')]).toEqual(['allow', 'ask']);
  });

  test('predicts how the call is treated', () => {
    for (const spec of CONSENT_TOOLS) {
      const of = asking({ tools: { read: 'always_ask', write: 'deny', asks: 'always_allow' } });
      const decision = check({ tool_name: spec.tool_name }, of)['decision'];
      const made = calling(of, call('x', spec.tool_name));
      const status = statuses(made)[0];
      expect(decision).toBe(status === 'waiting' ? 'ask' : status === 'rejected' ? 'deny' : 'allow');
    }
  });

  test('of an unknown tool answers not_available, with the name cut to well-formed text', () => {
    expect(check({ tool_name: 'nothing' })['decision']).toBe('not_available');
    expect(check({})['decision']).toBe('not_available');
    // A surrogate pair spans the cut.
    expect(JSON.stringify(check({ tool_name: `${'x'.repeat(255)}😀` }))).not.toContain(String.raw`\ud83d`);
  });
});

describe('permissions_describe', () => {
  test('lists the waiting calls, the tools that would ask, the grants, and the policy', () => {
    const granted = calling(asking(), call('a', 'asks_run', { argv: ['git', 'status'] }))
      .allowed('a', { grant: { argument: 'argv', pattern: 'git *' } })
      .batchDone();
    const run = granted.observed([
      call('d', 'permissions_describe'),
      call('q', 'asks', { n: 1 }),
      call('p', 'person'),
      call('f', 'free'),
    ]);
    expect(answerOf(run, 'd')).toMatchObject({
      policy: { modes: { local: 'allow' } },
      pending: {
        shown: [
          { call_id: 'q', tool_name: 'asks', waits_for: 'confirmation', position: 1 },
          { call_id: 'p', tool_name: 'person', waits_for: 'result', position: 2 },
        ],
        more: 0,
      },
      grants: { shown: [{ tool_id: 'asks_run', argument: 'argv', pattern: 'git *' }], more: 0 },
    });
    const asks = answerOf(run, 'd')['asking'] as { readonly shown: readonly { readonly tool_name: string }[] };
    expect(asks.shown.map((entry) => entry.tool_name)).toEqual(['asks', 'asks_write', 'asks_run', 'asks_person']);
  });
});

describe('workflow tools', () => {
  test('are settled by the fold at once, next to any other call, and change nothing', () => {
    const run = calling(asking(), call('b', 'barrier'), call('c', 'permissions_check', { tool_name: 'asks' }));
    expect(statuses(run)).toEqual(['queued', 'succeeded']);
    expect(owed(run)).toEqual(['tool.call b']);
    const alone = calling(asking(), call('d', 'permissions_describe'));
    expect(owed(alone)).toEqual(['batch.settle']);
    expect(alone.batchSettled().transcript().at(-1)).toMatch(/^tool d \{/);
  });

  test('never ask under any policy, and can be denied like any tool', () => {
    const asks = asking({
      modes: { read: 'ask', safe_write: 'ask', destructive: 'ask', local: 'ask', external: 'ask' },
      tools: { 'permissions.check': 'always_ask' },
    });
    for (const { tool_name } of permissionTools()) {
      expect([tool_name, ...statuses(calling(asks, call('c', tool_name)))]).toEqual([tool_name, 'succeeded']);
    }
    const denied = asking({ tools: { 'permissions.describe': 'deny' } });
    expect(calling(denied, call('d', 'permissions_describe')).rejections()).toEqual({ 0: 'permission_denied' });
  });

  test('keep their answers inline for any registry, batch and grants', () => {
    const odd = fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }).map((text) => text.toWellFormed());
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 300 }),
        fc.integer({ min: 0, max: 60 }),
        fc.array(fc.tuple(odd, odd), { maxLength: 40 }),
        fc.integer({ min: 1, max: 100 }),
        (toolCount, callCount, patterns, repeat) => {
          const many = Array.from({ length: toolCount }, (_, index) =>
            tool(`t${index}_${'n'.repeat(40)}`, {
              permission_policy: 'always_ask',
              tool_id: `t${index}.${'i'.repeat(90)}`,
            }),
          );
          const of = asking({}, {}, [...permissionTools(), ...many]).runRequested();
          const grants = patterns.map(([argument, pattern]) => ({
            tool_id: brand<'ToolId'>(`t.${'i'.repeat(100)}`),
            tool_ref: ZERO_DIGEST as never,
            argument: argument.slice(0, 64).toWellFormed(),
            pattern: pattern.repeat(repeat).slice(0, 1_024).toWellFormed(),
          }));
          const consent = { policy: of.state.consent?.policy as never, grants };
          const calls = Array.from({ length: toolCount === 0 ? 0 : callCount }, (_, index) =>
            call(`${'c'.repeat(100)}${index}`, `t0_${'n'.repeat(40)}`, { index }),
          );
          const plan = planBatch(of.state.effective_tools, calls, { consent });
          const state = { ...of.state, consent };
          for (const name of Object.keys(WORKFLOWS)) {
            const length = JSON.stringify(
              runWorkflow(name, { state, args: longestArguments(name), plan, calls, searches: newSearchWork() }),
            ).length;
            expect([name, length <= INLINE_CHARS_MAX || length]).toEqual([name, true]);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  test('with an unknown workflow are refused, and nothing is owed for them', () => {
    const unknown = tool('w', { executor: { kind: 'workflow', workflow: 'none-yet' } });
    const run = calling(asking({}, {}, [unknown]), call('w', 'w'));
    expect(run.rejections()).toEqual({ 0: 'executor_unsupported' });
    expect(effects(run.state).map((effect) => effect.kind)).toEqual(['batch.settle']);
  });
});
