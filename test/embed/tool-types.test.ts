// What `tool` infers: the arguments of its function from the schema, its result from the function. `npm run check:types`
// checks the types; running the test checks the schemas that the model is offered.
import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { type JsonObject, ToolSpec, defineTool } from '../../schemas/index.ts';
import { type AgentOptions, type StandardSchema, type Tool, tool } from '../../embed/agent/index.ts';

type ArgumentsIn<T> = T extends Tool<infer Args> ? Args : never;
type ResultIn<T> = T extends Tool<unknown, infer Result> ? Result : never;

const named = { name: 'one', description: 'One.' } as const;

describe('a schema of Zod 4', () => {
  test('gives the arguments as it parses them', () => {
    const made = tool({
      ...named,
      input: z.object({ order: z.string(), cents: z.int(), note: z.string().default('none') }),
      run: (args) => {
        expectTypeOf(args).toEqualTypeOf<{ order: string; cents: number; note: string }>();
        return Promise.resolve({ refunded: args.cents });
      },
    });
    expectTypeOf<ArgumentsIn<typeof made>>().toEqualTypeOf<{ order: string; cents: number; note: string }>();
    expectTypeOf<ResultIn<typeof made>>().toEqualTypeOf<{ refunded: number }>();
    expect(made.spec.input_schema).toMatchObject({ type: 'object', required: ['order', 'cents'] });
  });

  test('may be given as the JSON Schema that it makes', () => {
    const made = tool({
      ...named,
      input: z.toJSONSchema(z.object({ order: z.string() })),
      run: ({ order }) => {
        expectTypeOf(order).toEqualTypeOf<string>();
        return order;
      },
    });
    expect(made.spec.input_schema).toEqual({
      type: 'object',
      properties: { order: { type: 'string' } },
      required: ['order'],
    });
  });

  test('is taken by defineTool as the JSON Schema that it makes', () => {
    const input_schema = z.toJSONSchema(z.object({ order: z.string() }));
    const spec = defineTool({ tool_id: 'shop.find', tool_name: 'find', description: 'Find.', input_schema });
    expect(ToolSpec.is(spec)).toBe(true);
    expect(spec.input_schema).toMatchObject({ properties: { order: { type: 'string' } } });
  });

  test('of the output bounds what the function returns', () => {
    const output = z.object({ cents: z.int() });
    const input = z.object({});
    const made = tool({ ...named, input, output, run: () => ({ cents: 1, more: true }) });
    expectTypeOf<ResultIn<typeof made>>().toEqualTypeOf<{ cents: number; more: boolean }>();
    // @ts-expect-error: cents is a number
    expect(tool({ ...named, input, output, run: () => ({ cents: '1' }) }).spec.tool_name).toBe('one');
  });
});

describe('a schema of any other library', () => {
  const trimmed: StandardSchema<{ text: string }, { text: string; length: number }> = {
    '~standard': {
      version: 1,
      vendor: 'by-hand',
      validate: (value) => {
        const { text } = value as { readonly text?: unknown };
        if (typeof text !== 'string') return { issues: [{ message: 'must be a text', path: [{ key: 'text' }] }] };
        return { value: { text: text.trim(), length: text.trim().length } };
      },
    },
  };
  const inputSchema = { type: 'object', properties: { text: { type: 'string' } } };
  const made = tool({
    ...named,
    input: trimmed,
    inputSchema,
    run: (args) => {
      expectTypeOf(args).toEqualTypeOf<{ text: string; length: number }>();
      return args.length;
    },
  });
  const context = { signal: new AbortController().signal, timeoutMs: 1, session: 's', call: 'a' };

  test('gives the arguments as it makes them of what the model sent', async () => {
    expect(await made.run({ text: ' abc ' }, context)).toEqual({ success: true, text: '3' });
    expect(made.spec.input_schema).toEqual(inputSchema);
  });

  test('answers the model with each fault, and does not run the tool', async () => {
    expect(await made.run({ text: 1 }, context)).toMatchObject({
      success: false,
      code: 'tool_invalid_args',
      text: 'error: tool_invalid_args: text: must be a text',
    });
  });

  test('without a JSON Schema is refused, with what to give', () => {
    expect(() => tool({ ...named, input: trimmed, run: () => 0 })).toThrow('Give `inputSchema`');
  });
});

describe('a JSON Schema', () => {
  test('written in place gives the arguments', () => {
    const made = tool({
      ...named,
      input: {
        type: 'object',
        properties: {
          order: { type: 'string' },
          lines: { type: 'array', items: { type: 'integer' } },
          speed: { enum: ['slow', 'fast'] },
        },
        required: ['order', 'lines'],
      },
      run: (args) => {
        expectTypeOf(args).toEqualTypeOf<{
          readonly order: string;
          readonly lines: readonly number[];
          readonly speed?: 'slow' | 'fast';
        }>();
        return args.order;
      },
    });
    expectTypeOf<ResultIn<typeof made>>().toEqualTypeOf<string>();
    expect(made.spec.tool_id).toBe('app.one');
  });

  test('known only as an object gives an object of JSON', () => {
    const made = tool({
      ...named,
      input: { type: 'object' },
      run: (args) => {
        expectTypeOf(args).toEqualTypeOf<JsonObject>();
        return null;
      },
    });
    expect(made.spec.input_schema).toEqual({ type: 'object' });
  });

  test('of no object is refused', () => {
    expect(() => tool({ ...named, input: { type: 'string' }, run: () => 0 })).toThrow('must be a schema of an object');
  });
});

describe('a tool', () => {
  test('of any types goes into an agent, and its context is typed', () => {
    const one = tool({
      ...named,
      input: z.object({ a: z.string() }),
      run: ({ a }, { signal, call }) => {
        expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
        return a + call;
      },
    });
    expectTypeOf([one]).toExtend<NonNullable<AgentOptions['tools']>>();
    expectTypeOf<'anthropic:claude'>().toExtend<AgentOptions['model']>();
    expectTypeOf<'claude'>().not.toExtend<AgentOptions['model']>();
    expect(() => tool({ ...named, name: 'a b', input: { type: 'object' }, run: () => 0 })).toThrow('"a b" cannot be');
  });

  test.each([
    ['read', { read_only: true, destructive: false, idempotent: true, parallelism_hint: { parallel_safe: true } }],
    ['safe_write', { read_only: false, destructive: false, idempotent: false }],
    ['destructive', { read_only: false, destructive: true, idempotent: false }],
    ['external', { read_only: false, destructive: false, parallelism_hint: { parallel_safe: false } }],
  ] as const)('of mode %s says so in its spec', (mode, spec) => {
    expect(tool({ ...named, mode, input: { type: 'object' }, run: () => 0 }).spec).toMatchObject({ mode, ...spec });
  });

  test('without a mode takes the safest fields', () => {
    const { spec } = tool({ ...named, input: { type: 'object' }, run: () => 0 });
    expect(spec).toMatchObject({ mode: 'local', read_only: false, destructive: true, idempotent: false });
  });

  test('takes what its options say over its mode', () => {
    const options = { mode: 'read', ask: true, parallel: false, repeatable: false, timeoutMs: 5 } as const;
    const { spec } = tool({ ...named, ...options, input: { type: 'object' }, run: () => 0 });
    expect(spec).toMatchObject({ permission_policy: 'always_ask', idempotent: false, timeout_ms: 5 });
    expect(spec.parallelism_hint).toEqual({ parallel_safe: false });
  });
});
