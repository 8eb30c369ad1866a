// A tool of an application: what the model sees of it, what it may do, and the function that does it.
import { type ToolMode, type ToolSpec, defineTool } from '../../schemas/index.ts';
import type { CallReport } from '../../bridge/index.ts';
import { type FromJsonSchema, type JsonSchema, inputSchemaOf } from './json-schema.ts';
import { type ToolContext, runTool } from './run-tool.ts';
import type { InputOf, OutputOf, StandardSchema } from './standard-schema.ts';

/** The arguments that `run` is given, from the schema of the input. */
export type ArgumentsOf<Input> = Input extends StandardSchema ? OutputOf<Input> : FromJsonSchema<Input>;

export interface ToolOptions<Input, Output extends StandardSchema, Result> {
  /** The name the model sees: 1 to 64 characters of `A-Z a-z 0-9 _ -`. */
  readonly name: string;
  /** What the model reads about it. */
  readonly description: string;
  /** The arguments: a schema of Zod, Valibot, ArkType or any other Standard Schema, or a JSON Schema. */
  readonly input: Input;
  /** The JSON Schema of `input`, when its library makes none. */
  readonly inputSchema?: JsonSchema;
  /** What `run` must return. A result that does not fit is a failure that the model reads. */
  readonly output?: Output;
  /**
   * What a call may do, which decides whether it asks a person (`docs/consent.md`, "Presets"). `read` also says that calls may
   * run in parallel and, after a crash, again. When absent, it is inferred from the name, and the call counts as destructive.
   */
  readonly mode?: ToolMode;
  /** Every call asks a person, whatever the policy says of its mode. */
  readonly ask?: boolean;
  /** A call that was cut off by a crash may run again. Otherwise the model is told that its outcome is unknown. */
  readonly repeatable?: boolean;
  /** Calls may run at the same time as others. */
  readonly parallel?: boolean;
  /** How long a call may take, in milliseconds; two minutes by default. */
  readonly timeoutMs?: number;
  /** Further fields of its spec, such as `tool_id`, `parallelism_hint` or `output_bytes_max`. */
  readonly spec?: Partial<Omit<ToolSpec, 'tool_ref' | 'tool_name' | 'tool_id'>> & {
    /** Its id in the record; `app.` and the name by default. */
    readonly tool_id?: string;
  };
  /** Does it. What it returns, any JSON value, is what the model reads; what it throws is a failure that the model reads. */
  readonly run: (args: ArgumentsOf<Input>, context: ToolContext) => Result | Promise<Result>;
}

/** A tool as `createAgent` takes it. `Args` is what its function is given, `Result` what that returns. */
export interface Tool<Args = unknown, Result = unknown> {
  /** What the engine knows of it. */
  readonly spec: ToolSpec;
  /** Runs one call, and reports on it. */
  readonly run: (args: unknown, context: ToolContext) => Promise<CallReport>;
  /** Never set: it carries the types. */
  readonly types?: {
    /** What its function is given. */
    readonly args: Args;
    /** What its function returns. */
    readonly result: Result;
  };
}

/** Makes a tool. Throws a TypeError for a name or schema that cannot be offered to a model. */
export function tool<
  const Input extends StandardSchema | JsonSchema,
  Output extends StandardSchema = StandardSchema,
  Result extends InputOf<Output> = InputOf<Output>,
>(options: ToolOptions<Input, Output, Result>): Tool<ArgumentsOf<Input>, Result> {
  const { name, description, input, inputSchema, mode, output } = options;
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
    throw new TypeError(`"${name}" cannot be the name of a tool: give 1 to 64 characters of A-Z a-z 0-9 _ -`);
  }
  const spec = defineTool({
    tool_name: name,
    description,
    input_schema: inputSchemaOf(name, input, inputSchema),
    ...(mode === undefined ? {} : specOfMode(mode)),
    ...specOfOptions(options),
    ...options.spec,
    tool_id: options.spec?.tool_id ?? `app.${name}`,
  });
  const run = options.run as (args: unknown, context: ToolContext) => unknown;
  return { spec, run: (args, context) => runTool({ input, output, run }, args, context) };
}

const specOfMode = (mode: ToolMode): Partial<ToolSpec> => ({
  mode,
  read_only: mode === 'read',
  destructive: mode === 'destructive' || mode === 'local',
  idempotent: mode === 'read',
  parallelism_hint: { parallel_safe: mode === 'read' },
});

type Given = Pick<ToolOptions<unknown, StandardSchema, unknown>, 'ask' | 'repeatable' | 'parallel' | 'timeoutMs'>;

const specOfOptions = ({ ask, repeatable, parallel, timeoutMs }: Given): Partial<ToolSpec> => ({
  ...(ask === true ? { permission_policy: 'always_ask' } : {}),
  ...(repeatable === undefined ? {} : { idempotent: repeatable }),
  ...(parallel === undefined ? {} : { parallelism_hint: { parallel_safe: parallel } }),
  ...(timeoutMs === undefined ? {} : { timeout_ms: timeoutMs }),
});
