// Codecs: unknown keys are refused, faults carry their path, and each codec agrees with its JSON Schema.
import { Ajv2020 } from 'ajv/dist/2020.js';
import { isLeft } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import * as schemas from '../../schemas/index.ts';
import { RunConfigPatch, ToolCall, ToolResult, decode, inferToolMode, isTerminalResult } from '../../schemas/index.ts';
import { defaultGenesis, initialState } from '../../src/core/index.ts';
import { flag, shape } from '../../schemas/codec.ts';
import { permutations } from '../support/random.ts';
import { call, session } from '../support/session.ts';

const faultOf = <A>(codec: schemas.Codec<A>, value: unknown): schemas.Rejection | null => {
  const decoded = decode(codec, value);
  return isLeft(decoded) ? decoded.left : null;
};

const EVENT = session().next('RunRequested', { input: { text: 'go' } });

describe('paths of faults (RFC 6901)', () => {
  test.each([
    [{ ...EVENT, extra: 1 }, '/extra'],
    [{ ...EVENT, input: { text: 7 } }, '/input'],
    [{ ...EVENT, at_ms: 1.5 }, '/at_ms'],
    [{ ...EVENT, at_ms: -0 }, '/at_ms'],
    [{ ...EVENT, v: 3 }, '/v'],
    [{ ...EVENT, v: 0 }, '/v'],
    [{ ...EVENT, event_id: 'with space' }, '/event_id'],
    [{ ...EVENT, run_overrides: { turns_max: 0 } }, '/run_overrides/turns_max'],
    [{ ...EVENT, run_overrides: { 'a/b': 0 } }, '/run_overrides/a~1b'],
    [{ ...EVENT, tools: { enable: [], disable: ['ok', 'not ok'], force: [] } }, '/tools/disable/1'],
    [{ ...EVENT, kind: 'RunRequest' }, '/kind'],
    [{ kind: 'RunRequested' }, '/input'],
    ['text', '/kind'],
  ])('%j at %s', (value, path) => {
    expect(faultOf(schemas.IngressEvent, value)).toMatchObject({ code: 'invalid_shape', path });
  });

  // To list the fields of an object takes long where a request has tens of thousands of them.
  test.each([
    ['unknown fields', 'run_overrides', { a: 1, turns_max: 7 }, 2],
    ['a field of the wrong type', 'run_overrides', { turns_max: 'x' }, 2],
    ['unknown fields of either of two shapes', 'input', { a: 1, text: 'go' }, 4],
  ])('finding %s lists the fields of the object once for yes or no, and once for the path', (_, at, fields, times) => {
    let listed = 0;
    const inner = new Proxy(fields, {
      ownKeys(target) {
        listed += 1;
        return Reflect.ownKeys(target);
      },
    });
    const events = [{ kind: 'RunRequested', input: { text: 'go' }, [at]: inner }];
    expect(faultOf(schemas.Submit, { events })?.path).toContain(`/events/0/${at}`);
    expect(listed).toBe(times);
  });

  test('a decoded value is the given value, not a copy', () => {
    const decoded = decode(schemas.IngressEvent, EVENT);
    expect(!isLeft(decoded) && decoded.right).toBe(EVENT);
  });

  test('__proto__ is not an id', () => {
    expect(faultOf(schemas.CallId, '__proto__')).not.toBeNull();
    expect(faultOf(schemas.ToolName, '__proto__')).not.toBeNull();
    expect(faultOf(schemas.CallId, 'constructor')).toBeNull();
  });
});

describe('an object of given fields', () => {
  const [REQUIRED, OPTIONAL] = [
    ['b', 'd'],
    ['a', 'c'],
  ];
  const codec = shape('Sample', { d: flag, b: flag }, { c: flag, a: flag });

  test('is accepted in any order of its keys, without further keys', () => {
    let taken = 0;
    for (const keys of subsets(['a', 'b', 'c', 'd', 'e'])) {
      for (const order of permutations(keys)) {
        for (const wrong of [null, ...order]) {
          const value = Object.fromEntries(order.map((key) => [key, key === wrong ? 'no' : true]));
          const known = keys.every((key) => REQUIRED.includes(key) || OPTIONAL.includes(key));
          const right = known && REQUIRED.every((key) => keys.includes(key)) && wrong === null;
          expect([order, wrong, codec.is(value)]).toEqual([order, wrong, right]);
          expect(faultOf(codec, value) === null).toBe(right);
          taken += right ? 1 : 0;
        }
      }
    }
    // Two orders of two fields, six of three for each optional one, 24 of all four.
    expect(taken).toBe(2 + 2 * 6 + 24);
  });

  test('inherited fields do not count', () => {
    expect(codec.is(Object.create({ b: true, d: true }))).toBe(false);
    expect(codec.is(Object.assign(Object.create(null) as object, { b: true, d: true }))).toBe(true);
  });
});

const subsets = <T>(values: readonly T[]): readonly (readonly T[])[] =>
  values.reduce<readonly (readonly T[])[]>((all, value) => [...all, ...all.map((some) => [...some, value])], [[]]);

describe('JSON Schemas', () => {
  const ajv = new Ajv2020({ strict: false });
  const codecs = Object.entries(schemas as Readonly<Record<string, unknown>>).filter(
    (entry): entry is [string, schemas.Codec<unknown>] => entry[1] instanceof schemas.Codec,
  );

  test('every codec has a valid schema', () => {
    expect(codecs.length).toBeGreaterThan(60);
    expect(codecs.filter(([, codec]) => ajv.validateSchema(codec.jsonSchema) !== true).map(([name]) => name)).toEqual(
      [],
    );
  });

  const run = session()
    .runRequested()
    .observed([call('a', 'free'), call('b', 'nope')]);
  test.each([
    ['IngressEvent', schemas.IngressEvent, EVENT, { ...EVENT, extra: 1 }],
    ['SessionState', schemas.SessionState, run.state, { ...run.state, run: 1 }],
    ['Genesis', schemas.Genesis, defaultGenesis(), { ...defaultGenesis(), v: 9 }],
    ['ToolBatchPlan', schemas.ToolBatchPlan, run.plan(), { ...run.plan(), plan_hash: 'x' }],
    ['Effect', schemas.Effect, run.effects()[0], { ...run.effects()[0], kind: 'tool.kall' }],
    ['ToolSpec', schemas.ToolSpec, initialState(defaultGenesis()).effective_tools.ordered_tools[0], {}],
  ] as const)('%s: codec and schema agree', (_, codec, good, bad) => {
    const validate = ajv.compile(codec.jsonSchema);
    expect([codec.is(good), validate(good)]).toEqual([true, true]);
    expect([codec.is(bad), validate(bad)]).toEqual([false, false]);
  });
});

describe('ToolCall and ToolResult', () => {
  const CALL = { id: 'c_42', name: 'create_event', arguments: { title: 'Lunch' } };

  test('a call is strict, a result is open', () => {
    expect(faultOf(ToolCall, CALL)).toBeNull();
    expect(faultOf(ToolCall, { ...CALL, meta: 1 })).toMatchObject({ path: '/meta' });
    expect(faultOf(ToolResult, { success: true, data: { eventId: 'e_777' }, later: [1] })).toBeNull();
  });

  test.each([[{}], [{ success: 'true' }], [{ success: true, message: null }], [{ success: true, data: [] }], [null]])(
    '%j is not a result',
    (value) => {
      expect(faultOf(ToolResult, value)).not.toBeNull();
    },
  );

  test.each([
    [{ success: true }, false],
    [{ success: false }, true],
    [{ needsFollowup: true, success: false }, false],
    [{ terminal: true }, true],
    [{ success: false, terminal: true }, true],
    [{ success: false, terminal: true, needsFollowup: true }, true],
    [{ success: false, terminal: false }, true],
    [{ success: 'false' }, false],
    [{ terminal: 'true' }, false],
    [{ success: false, needsFollowup: 'true' }, true],
    [{}, false],
    [null, false],
    [undefined, false],
  ])('isTerminalResult(%j) is %s', (result, terminal) => {
    expect(isTerminalResult(result)).toBe(terminal);
  });
});

describe('tool modes', () => {
  test.each([
    ['get_x', 'read'],
    ['LIST_things', 'read'],
    ['search-web', 'read'],
    ['create_x', 'safe_write'],
    ['write_file', 'safe_write'],
    ['delete_x', 'destructive'],
    ['purge_all', 'destructive'],
    ['exec_now', 'local'],
    ['slack.get_thread', 'read'],
    ['mcp__x__delete_y', 'destructive'],
    ['a/b:update_c', 'safe_write'],
    ['frobnicate', 'external'],
    ['getter', 'external'],
    ['', 'external'],
  ])('%s is %s', (name, mode) => {
    expect(inferToolMode(name)).toBe(mode);
  });

  test('a name without a known prefix is never read', () => {
    expect(inferToolMode('shell', 'local')).toBe('local');
  });

  test('a config patch may omit fields, but not set them to undefined', () => {
    expect(faultOf(RunConfigPatch, {})).toBeNull();
    expect(faultOf(RunConfigPatch, { model: undefined })).toMatchObject({ path: '/model' });
  });
});
