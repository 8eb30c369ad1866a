// The edge measures and records facts itself and ignores what a client claims about them.
import { describe, expect, test } from 'vitest';
import { digestText, canonicalText } from '../../schemas/canonical.ts';
import { defineTool } from '../../schemas/define-tool.ts';
import type { Json, JsonObject } from '../../schemas/json.ts';
import { CLAIM_CHARS_PER_BATCH_MAX, JSON_DEPTH_MAX } from '../../schemas/limits.ts';
import type { ToolCallObserved } from '../../schemas/tool-call.ts';
import { must } from '../../src/client/must.ts';
import { newRequestBudget } from '../../src/engine/edge/budget.ts';
import { newSchemaCheck } from '../../src/engine/edge/schema-check.ts';
import { ZERO_DIGEST, nested } from '../support/engine/inputs.ts';
import { SESSION, type World, durable, newWorld, packageOf } from '../support/engine/world.ts';
import type { Loose } from '../support/session.ts';
import { READ, tool } from '../support/tools.ts';
import { refusal } from '../support/journal/outcomes.ts';
import { eventsOf } from '../support/records.ts';

const STRICT = tool('strict', {
  input_schema: {
    type: 'object',
    properties: { path: { type: 'string' }, n: { type: 'integer' } },
    required: ['path'],
    additionalProperties: false,
  },
});

/** The call as it was recorded. */
async function recorded(call: Partial<Loose<ToolCallObserved>>): Promise<{ call: ToolCallObserved; world: World }> {
  const world = await newWorld();
  await world.talk.create(packageOf([STRICT, READ]));
  await world.talk.run();
  const calls = [{ call_id: 'a', tool_name: 'read', ...call }];
  await world.talk.submit([{ kind: 'ToolCallsObserved', run_id: 'run-1', turn: 1, calls }]);
  const state = await world.talk.state();
  // The recorded event can be read again.
  expect(await durable(world.disk)).toEqual(state);
  const [observed] = state.active_tool_batch?.observed ?? [];
  if (observed === undefined) throw new Error('no call was observed');
  return { call: observed, world };
}

const text = async (arguments_text: string): Promise<ToolCallObserved> => (await recorded({ arguments_text })).call;

describe('the text of arguments', () => {
  test.each([
    ['an object', '{"path":"x"}', { path: 'x' }],
    ['empty', '', {}],
    ['white space', ' \n\t ', {}],
    ['a double', '{"x":0.1}', { x: 0.1 }],
    ['an integer that no double holds', '{"x":12345678901234567890}', { x: 12345678901234567000 }],
    ['escapes', String.raw`{"\u0061":"\u00e4"}`, { a: 'ä' }],
  ])('that is %s is read', async (_name, given, expected) => {
    const call = await text(given);
    expect(call.arguments).toEqual(expected);
    expect(call.arguments_digest).toBe(digestText(canonicalText(expected)));
    expect(call.arguments_verdict).toEqual({ valid: true });
    expect(call).not.toHaveProperty('arguments_text');
  });

  test.each([
    ['not JSON', 'call me'],
    ['cut off', '{"path":'],
    ['a list', '[1]'],
    ['null', 'null'],
    ['negative zero', '{"x":-0}'],
    ['a lone surrogate', String.raw`{"x":"\ud800"}`],
    ['a number beyond all doubles', '{"x":1e999}'],
    ['one key twice', '{"x":1,"x":2}'],
    ['one key in two spellings', String.raw`{"a":1,"\u0061":2}`],
    ['the key __proto__', '{"__proto__":{}}'],
    ['deeper than an event may be', JSON.stringify(nested(JSON_DEPTH_MAX - 1))],
    ['a fault at the end of a very long path', `{"${'k'.repeat(3_000)}":-0}`],
    ['a very long key twice', `{"${'k'.repeat(3_000)}":1,"${'k'.repeat(3_000)}":1}`],
  ])('that is %s is kept unchanged, with a verdict', async (_name, given) => {
    const { call, world } = await recorded({ arguments_text: given });
    expect(call.arguments_verdict?.valid).toBe(false);
    expect(call.arguments).toBeUndefined();
    expect(call.arguments_digest).toBe(digestText(given));
    if (call.arguments_ref === undefined) expect(call.arguments_text).toBe(given);
    else if ('ref' in call.arguments_ref) {
      const bytes = await must(world.talk.client.getBlob(call.arguments_ref.ref));
      expect(new TextDecoder().decode(bytes)).toBe(given);
    }
    const plan = (await world.talk.state()).active_tool_batch?.plan;
    expect(plan?.rejected).toMatchObject([{ code: 'tool_invalid_args' }]);
  });

  test('may nest as deep as arguments sent as an object', async () => {
    const deepest = nested(JSON_DEPTH_MAX - 5) as JsonObject;
    expect((await text(JSON.stringify(deepest))).arguments).toEqual(deepest);
    expect((await recorded({ arguments: deepest })).call.arguments).toEqual(deepest);
  });
});

describe('large arguments', () => {
  const large = { path: 'dir/x', filler: 'y'.repeat(10_000) };

  test.each(['arguments', 'arguments_text', 'arguments_ref'] as const)(
    'become a blob with their claims (%s)',
    async (form) => {
      const world = await newWorld();
      await world.talk.create(packageOf([READ]));
      await world.talk.run();
      const given = canonicalText(large);
      const ref = await must(world.talk.client.putBlob(new TextEncoder().encode(given)));
      const forms = {
        arguments: { arguments: large },
        arguments_text: { arguments_text: given },
        arguments_ref: { arguments_ref: { ref, bytes: given.length, head: '', tail: '' } },
      };
      const calls = [{ call_id: 'a', tool_name: 'read', ...forms[form] }];
      await world.talk.submit([{ kind: 'ToolCallsObserved', run_id: 'run-1', turn: 1, calls }]);
      const [call] = (await world.talk.state()).active_tool_batch?.observed ?? [];
      expect(call).toMatchObject({
        arguments_digest: digestText(given),
        arguments_ref: { ref: digestText(given), bytes: given.length, head: given.slice(0, 512) },
        claims: [{ key: 'fs/dir/x', access: 'read' }],
        arguments_verdict: { valid: true },
      });
      expect(call).not.toHaveProperty('arguments');
    },
  );
});

describe('calls that name one blob of many paths', () => {
  const patch = `${Array.from({ length: 256 }, (_, at) => `*** Add File: f${at}`).join('\n')}${'\n'.repeat(5_000)}`;

  test('are refused when they name more bytes than one request may, and accepted when they name fewer', async () => {
    const world = await newWorld();
    await world.talk.create();
    await world.talk.run();
    const bytes = new TextEncoder().encode(canonicalText({ patch }));
    const ref = await must(world.talk.client.putBlob(bytes));
    const observed = (count: number) => ({
      kind: 'ToolCallsObserved' as const,
      run_id: 'run-1',
      turn: 1,
      calls: Array.from({ length: count }, (_, at) => ({
        call_id: `c${at}`,
        tool_name: 'patch',
        arguments_ref: { ref, bytes: bytes.length, head: '', tail: '' },
      })),
    });
    expect(await world.talk.outcome(observed(1_000))).toBe('too_large');
    expect(await world.talk.outcome(observed(20))).toBe('done');
    const state = await world.talk.state();
    await world.restart();
    expect(await world.talk.state()).toEqual(state);
  });
});

describe('a claim of a client', () => {
  test('about verdict, claims and digest is dropped', async () => {
    const { call } = await recorded({
      tool_name: 'strict',
      arguments: { n: 'x' },
      arguments_verdict: { valid: true },
      arguments_digest: ZERO_DIGEST,
      claims: [{ key: 'fs', access: 'write' }],
    });
    expect(call.arguments_verdict).toMatchObject({ valid: false });
    expect(call.arguments_digest).toBe(digestText('{"n":"x"}'));
    expect(call.claims).toBeUndefined();
  });

  test('about blobs is checked', async () => {
    const world = await newWorld();
    await world.talk.create();
    const content = { ref: ZERO_DIGEST, bytes: 1, head: '', tail: '' };
    const submit = (event: object) => refusal(world.talk.client.submit(SESSION, { events: [event] } as never));
    expect(await submit({ kind: 'RunRequested', input: content })).toMatchObject({
      code: 'unknown_blob',
      path: '/events/0/input',
    });
    const instructions = { kind: 'RunRequested', input: { text: '' }, run_overrides: { instructions: content } };
    expect(await submit(instructions)).toMatchObject({ path: '/events/0/run_overrides/instructions' });
    await world.talk.run();
    const calls = [{ call_id: 'a', tool_name: 'read', arguments_ref: content }];
    expect(await submit({ kind: 'ToolCallsObserved', run_id: 'run-1', turn: 1, calls })).toMatchObject({
      code: 'unknown_blob',
      path: '/events/0/calls/0/arguments_ref',
    });
    // Arguments that look like a reference belong to the model.
    const lookalike = [{ call_id: 'a', tool_name: 'read', arguments: { x: content } }];
    expect(await world.talk.outcome({ kind: 'ToolCallsObserved', run_id: 'run-1', turn: 1, calls: lookalike })).toBe(
      'done',
    );
  });
});

describe('time', () => {
  test('never goes back within a stream', async () => {
    const { talk, clock } = await newWorld();
    await talk.create();
    for (const jump of [5_000, -60_000, 1, 120_000, -120_000]) {
      clock.jump(jump);
      await talk.submit([{ kind: 'SessionConfigured', config: {} }]);
    }
    const records = await must(talk.client.records(SESSION));
    const times = eventsOf(records).map(({ at_ms }) => at_ms);
    expect(times).toEqual([1_005_000, 1_005_000, 1_005_000, 1_065_001, 1_065_001]);
  });
});

test('the recorded claims of one turn have a bound in characters; calls beyond it claim whole spaces', async () => {
  const world = await newWorld();
  const claims = ['a', 'b'].map((space) => ({ space, argument: 'p', form: 'patch' as const, access: 'read' as const }));
  await world.talk.create(packageOf([tool('many', { parallelism_hint: { parallel_safe: true, claims } })]));
  await world.talk.run();
  const p = Array.from({ length: 20 }, (_, at) => `*** Add File: ${'f'.repeat(2_000)}${at}\n`).join('');
  const calls = Array.from({ length: 8 }, (_, at) => ({ call_id: `c-${at}`, tool_name: 'many', arguments: { p } }));
  await world.talk.submit([{ kind: 'ToolCallsObserved', run_id: 'run-1', turn: 1, calls }]);
  const recordedClaims = (await world.talk.state()).active_tool_batch?.observed.map((call) => call.claims ?? []) ?? [];
  const chars = recordedClaims.flat().reduce((sum, { key }) => sum + key.length, 0);
  expect(chars).toBeGreaterThan(CLAIM_CHARS_PER_BATCH_MAX / 2);
  expect(chars).toBeLessThan(CLAIM_CHARS_PER_BATCH_MAX + 100);
  expect(recordedClaims.map((own) => own.length)).toEqual([40, 40, 40, 2, 2, 2, 2, 2]);
});

describe('the verdict of a schema', () => {
  const check = newSchemaCheck();
  const verdict = async (input_schema: JsonObject, args: JsonObject) =>
    await check(defineTool({ tool_id: 't', tool_name: 't', description: '', input_schema }), args, newRequestBudget());
  const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
    type: 'object',
    properties,
    ...more,
  });

  test.each([
    ['a wrong type', object({ n: { type: 'integer' } }), { n: 'x' }, '/n', /integer/],
    ['a missing field', object({}, { required: ['path'] }), {}, '', /path/],
    ['an additional field', object({}, { additionalProperties: false }), { extra: 1 }, '', /extra/],
    ['a value that is not listed', object({ m: { enum: ['a'] } }), { m: 'b' }, '/m', /allowed/],
    ['a fault deep inside', object({ a: { items: { type: 'string' } } }), { a: ['x', 1] }, '/a/1', /string/],
    [
      'draft 7',
      { $schema: 'http://json-schema.org/draft-07/schema#', ...object({ a: { items: [{ type: 'string' }] } }) },
      { a: [1] },
      '/a/0',
      /string/,
    ],
    [
      'draft 2020-12',
      {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        ...object({ a: { prefixItems: [{ type: 'string' }] } }),
      },
      { a: [1] },
      '/a/0',
      /string/,
    ],
  ] as const)('names %s', async (...[, schema, args, path, message]) => {
    const found = await verdict(schema, args);
    expect(found).toMatchObject({ valid: false, path });
    expect(found.message).toMatch(message);
  });

  // Each of these would take longer than any caller waits.
  test.each([
    ['a pattern that tries everything', { pattern: '^(a+)+$' }, `${'a'.repeat(50)}!`],
    ['names of properties', { patternProperties: { '^(a+)+$': {} } }, { [`${'a'.repeat(50)}!`]: 1 }],
    ['a comparison of all items', { uniqueItems: true }, Array.from({ length: 100_000 }, (_, n) => ({ n }))],
    [
      'a definition that doubles the work with each level',
      { $ref: '#/$defs/twice' },
      JSON.parse(`${'['.repeat(60)}1${']'.repeat(60)}`) as Json,
    ],
  ])('times out on %s, and fails the value', async (_, of, value) => {
    const twice = { allOf: [{ items: { $ref: '#/$defs/twice' } }, { items: { $ref: '#/$defs/twice' } }] };
    const schema = object({ value: of }, { $defs: { twice } });
    for (let again = 0; again < 3; again += 1) {
      const found = await verdict(schema, { value });
      expect(found).toMatchObject({ valid: false, path: '' });
      expect(found.message).toMatch(/too long/);
    }
  });

  test('accepts a simple value after another one timed out', async () => {
    const schema = object({ pattern: { pattern: '^(a+)+$' } });
    for (let again = 0; again < 10; again += 1) await verdict(schema, { pattern: `${'a'.repeat(50)}!` });
    expect(await verdict(schema, { pattern: 'aaa' })).toEqual({ valid: true });
    expect(await verdict(schema, { pattern: 'b' })).toMatchObject({ valid: false, path: '/pattern' });
  });

  test('accepts a value that fits', async () => {
    expect(await verdict(object({ n: { type: 'integer' } }), { n: 1 })).toEqual({ valid: true });
    expect(await verdict({}, { anything: [1] })).toEqual({ valid: true });
  });

  test.each([
    ['an unknown type', { type: 'strng' }],
    ['a keyword of the wrong form', { required: 'path' }],
    ['an invalid pattern', object({ x: { pattern: '(' } })],
    ['a reference to nowhere', { $ref: '#/nowhere' }],
    ['a reference to itself', { $ref: '#' }],
    ['an asynchronous one', { $async: true, required: ['x'] }],
  ])('is "not checked" for %s', async (_name, schema) => {
    expect(await verdict(schema, { x: 'y' })).toEqual({
      valid: true,
      message: 'not checked: the schema does not compile',
    });
  });

  test('does not depend on the ids of other schemas', async () => {
    const named = (type: string): JsonObject => object({ x: { $id: 'https://example.org/x', type } });
    expect(await verdict(named('string'), { x: 'y' })).toMatchObject({ valid: true });
    expect(await verdict(named('integer'), { x: 'y' })).toMatchObject({ valid: false });
  });

  test('is short enough for an event, for a fault of any length', async () => {
    const found = await verdict(object({}, { additionalProperties: false }), { ['k'.repeat(5_000)]: 1 });
    expect(found.message?.length).toBeLessThanOrEqual(1_024);
  });
});
