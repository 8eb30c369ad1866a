// What `tool()` infers from the schema libraries that people use. `declarations.test.ts` checks the types of this file;
// running it checks the schemas that a model is offered, and that arguments are read through the library.
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { toJsonSchema, toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import { type StandardSchema, type Tool, type ToolContext, createAgent, tool } from 'refold/agent';
import { type JsonObject, type ToolSpec, defineTool } from 'refold/schemas';
import * as v from 'valibot';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';

type ArgumentsIn<T> = T extends Tool<infer Args> ? Args : never;
type ResultIn<T> = T extends Tool<unknown, infer Result> ? Result : never;

const named = { name: 'refund_order', description: 'Refund an order.' } as const;
const context: ToolContext = { signal: new AbortController().signal, timeoutMs: 1_000, session: 's', call: 'a' };

interface Refund {
  order: string;
  cents: number;
  speed?: 'slow' | 'fast' | undefined;
}

/** The schema that a model is offered, without what the libraries write differently. */
function offeredBy({ spec }: Tool): object {
  const { type, properties, required } = spec.input_schema as {
    readonly type: string;
    readonly properties: JsonObject;
    readonly required: readonly string[];
  };
  return {
    type,
    order: properties['order'],
    fields: Object.keys(properties).toSorted(),
    required: required.toSorted(),
  };
}

const REFUND = {
  type: 'object',
  order: { type: 'string' },
  fields: ['cents', 'order', 'speed'],
  required: ['cents', 'order'],
};

/** The report of a call whose arguments fit, and of one whose cents do not. */
const tried = async (made: Tool): Promise<readonly unknown[]> => [
  await made.run({ order: '42', cents: 7 }, context),
  await made.run({ order: '42', cents: 'many' }, context),
];

const RAN_AND_REFUSED = [
  { success: true, text: '{"refunded":7}', data: { refunded: 7 } },
  { success: false, code: 'tool_invalid_args', text: expect.stringContaining('cents') as string },
];

describe('a schema of Zod 4', () => {
  const input = z.object({ order: z.string(), cents: z.int(), speed: z.enum(['slow', 'fast']).optional() });

  test('gives the arguments and the result their types', async () => {
    const made = tool({
      ...named,
      input,
      run: (args) => {
        expectTypeOf(args).toEqualTypeOf<Refund>();
        return { refunded: args.cents };
      },
    });
    expectTypeOf<ArgumentsIn<typeof made>>().toEqualTypeOf<Refund>();
    expectTypeOf<ResultIn<typeof made>>().toEqualTypeOf<{ refunded: number }>();
    expect(offeredBy(made)).toEqual(REFUND);
    expect(await tried(made)).toMatchObject(RAN_AND_REFUSED);
  });

  test('gives the function what it transforms and defaults, and offers the model what it accepts', async () => {
    const made = tool({
      ...named,
      input: z.object({ order: z.string().transform(Number), note: z.string().default('none') }),
      run: (args) => {
        expectTypeOf(args).toEqualTypeOf<{ order: number; note: string }>();
        return [args.order, args.note];
      },
    });
    expectTypeOf<ResultIn<typeof made>>().toEqualTypeOf<(string | number)[]>();
    expect(made.spec.input_schema).toMatchObject({ properties: { order: { type: 'string' } }, required: ['order'] });
    expect(await made.run({ order: '42' }, context)).toMatchObject({ text: '[42,"none"]' });
  });

  test('may be given as the JSON Schema that z.toJSONSchema makes, to tool() and to defineTool()', () => {
    const made = tool({
      ...named,
      input: z.toJSONSchema(input),
      run: (args) => {
        expectTypeOf(args).not.toBeAny();
        return args;
      },
    });
    expect(offeredBy(made)).toEqual(REFUND);
    const spec = defineTool({
      tool_id: 'shop.refund',
      tool_name: 'refund',
      description: 'Refund.',
      input_schema: z.toJSONSchema(input),
    });
    expectTypeOf(spec).toEqualTypeOf<ToolSpec>();
    expect(spec.input_schema).toMatchObject({ type: 'object', required: ['order', 'cents'] });
  });
});

describe('a schema of Valibot', () => {
  const input = v.object({
    order: v.string(),
    cents: v.pipe(v.number(), v.integer()),
    speed: v.optional(v.picklist(['slow', 'fast'])),
  });

  test('gives the arguments and the result their types, with its JSON Schema beside it', async () => {
    const made = tool({
      ...named,
      input,
      inputSchema: toJsonSchema(input),
      run: (args) => {
        expectTypeOf(args).toEqualTypeOf<Refund>();
        return { refunded: args.cents };
      },
    });
    expectTypeOf<ArgumentsIn<typeof made>>().toEqualTypeOf<Refund>();
    expectTypeOf<ResultIn<typeof made>>().toEqualTypeOf<{ refunded: number }>();
    expect(offeredBy(made)).toEqual(REFUND);
    expect(await tried(made)).toMatchObject(RAN_AND_REFUSED);
  });

  test('gives them without more when it is a Standard JSON Schema', async () => {
    const made = tool({
      ...named,
      input: { '~standard': { ...input['~standard'], ...toStandardJsonSchema(input)['~standard'] } },
      run: (args) => {
        expectTypeOf(args).toEqualTypeOf<Refund>();
        return { refunded: args.cents };
      },
    });
    expect(offeredBy(made)).toEqual(REFUND);
    expect(await tried(made)).toMatchObject(RAN_AND_REFUSED);
  });

  test('alone makes no JSON Schema, and the error says what to give', () => {
    expect(() => tool({ ...named, input, run: () => 0 })).toThrow('Give `inputSchema`');
  });
});

describe('a schema of ArkType', () => {
  test('gives the arguments and the result their types', async () => {
    const made = tool({
      ...named,
      input: type({ order: 'string', cents: 'number.integer', 'speed?': "'slow' | 'fast'" }),
      run: (args) => {
        expectTypeOf(args).toEqualTypeOf<{ order: string; cents: number; speed?: 'slow' | 'fast' }>();
        return { refunded: args.cents };
      },
    });
    expectTypeOf<ResultIn<typeof made>>().toEqualTypeOf<{ refunded: number }>();
    expect(offeredBy(made)).toEqual(REFUND);
    expect(await tried(made)).toMatchObject(RAN_AND_REFUSED);
  });

  test('gives the function what it morphs', () => {
    const input = type({ order: 'string.numeric.parse' });
    const made = tool({
      ...named,
      input,
      inputSchema: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] },
      run: ({ order }) => {
        expectTypeOf(order).toEqualTypeOf<number>();
        return order;
      },
    });
    expectTypeOf<ArgumentsIn<typeof made>>().toEqualTypeOf<{ order: number }>();
    expect(made.spec.tool_name).toBe('refund_order');
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
          cents: { type: 'integer' },
          speed: { enum: ['slow', 'fast'] },
        },
        required: ['order', 'cents'],
      },
      run: (args) => {
        expectTypeOf(args).toEqualTypeOf<{
          readonly order: string;
          readonly cents: number;
          readonly speed?: 'slow' | 'fast';
        }>();
        return { refunded: args.cents };
      },
    });
    expectTypeOf<ResultIn<typeof made>>().toEqualTypeOf<{ refunded: number }>();
    expect(offeredBy(made)).toEqual(REFUND);
  });
});

describe('an output schema', () => {
  const input = z.object({ order: z.string() });

  test.each([
    ['Zod', z.object({ cents: z.int() })],
    ['Valibot', v.object({ cents: v.pipe(v.number(), v.integer()) })],
    ['ArkType', type({ cents: 'number.integer' })],
  ] as const)('of %s is checked when the function has returned', async (_, output) => {
    const made = tool({ ...named, input, output, run: ({ order }) => ({ cents: order.length / 2 }) });
    expectTypeOf<ResultIn<typeof made>>().toEqualTypeOf<{ cents: number }>();
    expect(await made.run({ order: '42' }, context)).toMatchObject({ success: true, data: { cents: 1 } });
    expect(await made.run({ order: '421' }, context)).toMatchObject({ success: false, code: 'invalid_output' });
  });

  test('refuses a function whose result does not fit, when it is compiled', () => {
    // @ts-expect-error: cents is a number
    expect(tool({ ...named, input, output: z.object({ cents: z.int() }), run: () => ({ cents: '1' }) })).toBeDefined();
    const output = v.object({ cents: v.number() });
    // @ts-expect-error: cents is missing
    expect(tool({ ...named, input, output, run: () => ({}) })).toBeDefined();
  });
});

test('every schema of the Standard Schema specification is one that tool() takes', () => {
  expectTypeOf<StandardSchemaV1<{ a: string }, { a: number }>>().toExtend<
    StandardSchema<{ a: string }, { a: number }>
  >();
  const infer = (input: StandardSchemaV1<{ a: string }, { a: number }>) =>
    tool({ ...named, input, inputSchema: { type: 'object' }, run: ({ a }) => a });
  expectTypeOf<ReturnType<typeof infer>>().toEqualTypeOf<Tool<{ a: number }, number>>();
  expect(infer(v.object({ a: v.pipe(v.string(), v.transform(Number)) })).spec.tool_name).toBe('refund_order');
});

test('tools of all libraries go into one agent', () => {
  expectTypeOf(createAgent).parameter(0).toHaveProperty('tools').extract<readonly Tool[]>().not.toBeNever();
  const tools = [
    tool({ ...named, input: z.object({ a: z.string() }), run: ({ a }) => a }),
    tool({ ...named, input: type({ b: 'number' }), run: ({ b }) => b }),
  ];
  expectTypeOf(tools).toExtend<readonly Tool[]>();
  expect(tools).toHaveLength(2);
});
