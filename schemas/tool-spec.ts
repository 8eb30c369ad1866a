// One tool: what the model sees of it, what runs it, when it is available and which calls may run at the same time
// (AOS P7, "Tool Inventory Layer"; docs/design.md, "Tools").
import { type TypeOf, flag, integer, jsonObject, list, oneOf, shape, tagged, text, variants } from './codec.ts';
import { Digest, ToolId, ToolName } from './ids.ts';
import {
  APPROVAL_TTL_MS_MAX,
  CALL_TIMEOUT_MS_MAX,
  CAPABILITIES_MAX,
  CLAIM_RULES_MAX,
  DESCRIPTION_CHARS_MAX,
  OUTPUT_BYTES_MAX,
} from './limits.ts';
import { ToolMode } from './tool-mode.ts';

const name = (of: string) => text(of, { min: 1, max: 128, pattern: /^[\x21-\x7e]+$/ });

/** What settles a call: a bridge (`effect`, `host_loop`, `mcp`, `skill`), a person (`custom`), the fold (`workflow`). */
export const ToolExecutor = variants('ToolExecutor', 'kind', {
  effect: tagged('effect', { effect_kind: name('effect_kind') }),
  host_loop: tagged('host_loop', { bridge: name('bridge') }),
  mcp: tagged('mcp', { server: name('server'), tool: name('tool') }),
  custom: tagged('custom', {}),
  /** `digest`: of the files that a call may use; what runs it compares them first. */
  skill: tagged('skill', { skill: name('skill') }, { digest: Digest }),
  workflow: tagged('workflow', { workflow: name('workflow') }),
});
export type ToolExecutor = TypeOf<typeof ToolExecutor>;

/** The id of the tool that a call of this one really runs, as an entry of a catalog names another tool; null where there is none. */
export function toolRunBy(executor: ToolExecutor): string | null {
  if (executor.kind === 'effect') return executor.effect_kind;
  if (executor.kind === 'skill') return `skill.${executor.skill}`;
  return executor.kind === 'mcp' ? `mcp.${executor.server}.${executor.tool}` : null;
}

/**
 * `always`, `host_session_ready`, `host_session_not_ready`, `capability:<name>`, or `offer_exceeded`: more tools are effective
 * than a generate offers. Every rule of a tool must hold.
 */
export const ToolAvailabilityRule = text('ToolAvailabilityRule', {
  max: 96,
  pattern: /^(always|host_session_ready|host_session_not_ready|offer_exceeded|capability:[A-Za-z0-9_.-]{1,64})$/,
});
export type ToolAvailabilityRule = TypeOf<typeof ToolAvailabilityRule>;

/**
 * How an argument of a call becomes claims on what the call touches. The key is `space` and, below it, what `argument`
 * holds: with `path` a workspace path, with `patch` every path a v4a patch names, with `text` the text as one segment. A
 * missing or malformed argument claims the whole space.
 */
export const ClaimRule = shape('ClaimRule', {
  space: text('space', { min: 1, max: 64, pattern: /^[A-Za-z0-9_.-]+$/ }),
  argument: text('argument', { min: 1, max: 64 }),
  form: oneOf('form', ['path', 'patch', 'text']),
  access: oneOf('access', ['read', 'write']),
});
export type ClaimRule = TypeOf<typeof ClaimRule>;

/** Whether calls of the tool may run at the same time as others. Without `claims`, `resource_key` is a write claim. */
export const ToolParallelismHint = shape(
  'ToolParallelismHint',
  { parallel_safe: flag },
  {
    resource_key: text('resource_key', { min: 1, max: 256, pattern: /^[\x21-\x7e]+$/ }),
    claims: list(ClaimRule, CLAIM_RULES_MAX),
  },
);
export type ToolParallelismHint = TypeOf<typeof ToolParallelismHint>;

export const ToolSpec = shape(
  'ToolSpec',
  {
    tool_id: ToolId,
    tool_name: ToolName,
    /** Digest of name, description and schemas: a tool with another definition has another `tool_ref`. */
    tool_ref: Digest,
    description: text('description', { max: DESCRIPTION_CHARS_MAX }),
    /** JSON Schema, draft 2020-12, of the arguments. */
    input_schema: jsonObject,
    ownership: oneOf('ownership', ['managed', 'mcp', 'custom']),
    permission_policy: oneOf('permission_policy', ['always_allow', 'always_ask']),
    /** Names of the effects of a call, for people to read: `fs.write`, `net`, … */
    effects: list(text('effect', { min: 1, max: 64 }), CAPABILITIES_MAX),
    read_only: flag,
    destructive: flag,
    idempotent: flag,
    open_world: flag,
    interrupt_behavior: oneOf('interrupt_behavior', ['block', 'cancel', 'continue']),
    mode: ToolMode,
    executor: ToolExecutor,
    availability_rules: list(ToolAvailabilityRule, CAPABILITIES_MAX),
    parallelism_hint: ToolParallelismHint,
    timeout_ms: integer('timeout_ms', 1, CALL_TIMEOUT_MS_MAX),
    output_bytes_max: integer('output_bytes_max', 1, OUTPUT_BYTES_MAX),
  },
  {
    /** JSON Schema of the `data` of a result. A bridge's result that does not fit fails; a person's answer is refused. */
    output_schema: jsonObject,
    /** How long a person may take to fulfil a custom call, in milliseconds; absent for no limit. Only on custom tools. */
    answer_within_ms: integer('answer_within_ms', 1, APPROVAL_TTL_MS_MAX),
    /**
     * What runs the tool can say what a call would change before it runs: a call that waits for a person gets a preview. Does
     * nothing on a tool whose calls a person or the fold settles.
     */
    preview: flag,
  },
);
export type ToolSpec = TypeOf<typeof ToolSpec>;
