// The tools of a framework's loop, as the engine stores them. The loop has their functions, and offers them call by call.
import {
  type JsonObject,
  type SessionState,
  type ToolMode,
  type ToolPackage,
  type ToolSpec,
  brand,
  defineTool,
  limits,
} from '../../schemas/index.ts';

/** The ids of these tools begin with it. */
export const OWN_TOOLS = 'app.';

const PROFILE = brand<'ProfileId'>('agent');

/** What an application says of a tool that its framework does not. */
export interface ToolHints {
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
}

/** A tool as a loop knows it. */
export interface LoopTool extends ToolHints {
  readonly name: string;
  readonly description: string;
  /** The JSON Schema of its arguments; null when the loop does not offer the tool now, and so does not tell. */
  readonly schema: JsonObject | null;
  /** The loop has no function for it: the application brings the result, with a later prompt or with `answer()`. */
  readonly external?: boolean;
}

/** Throws a TypeError for a name or schema that cannot be offered to a model. */
function specOf({ name, description, schema, external = false, ...hints }: LoopTool): ToolSpec {
  const { mode, ask = false, repeatable, parallel, timeoutMs } = hints;
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
    throw new TypeError(`"${name}" cannot be the name of a tool: give 1 to 64 characters of A-Z a-z 0-9 _ -`);
  }
  return defineTool({
    tool_id: `${OWN_TOOLS}${name}`,
    tool_name: name,
    description: description.toWellFormed().slice(0, limits.DESCRIPTION_CHARS_MAX),
    input_schema: { ...schema, type: 'object' },
    output_bytes_max: limits.OUTPUT_BYTES_MAX,
    ...(mode === undefined ? {} : specOfMode(mode)),
    ...(ask ? { permission_policy: 'always_ask' } : {}),
    ...(repeatable === undefined ? {} : { idempotent: repeatable }),
    ...(parallel === undefined ? {} : { parallelism_hint: { parallel_safe: parallel } }),
    ...(timeoutMs === undefined ? {} : { timeout_ms: timeoutMs }),
    ...(external ? { ownership: 'custom', executor: { kind: 'custom' } } : {}),
  });
}

const specOfMode = (mode: ToolMode): Partial<ToolSpec> => ({
  mode,
  read_only: mode === 'read',
  destructive: mode === 'destructive' || mode === 'local',
  idempotent: mode === 'read',
  parallelism_hint: { parallel_safe: mode === 'read' },
});

/** A package of these tools alone. */
export function loopPackage(specs: readonly ToolSpec[]): ToolPackage {
  const profile = { profile_id: PROFILE, tool_ids: specs.map(({ tool_id }) => tool_id) };
  return {
    registry: specs,
    profiles: [profile],
    provider_profiles: [{ provider_contains: '', profile_id: PROFILE }],
  };
}

/**
 * The tools to register. One that is not offered now is as it is on record, or takes any object: it must be known by then,
 * because the model is only believed to have been offered what was registered before the turn.
 */
export function registryFor(tools: readonly LoopTool[], state: SessionState | null): readonly ToolSpec[] {
  return tools.map((tool) => {
    const recorded = tool.schema === null ? state?.tool_registry[`${OWN_TOOLS}${tool.name}`] : undefined;
    return recorded ?? specOf(tool);
  });
}
