// The column of fields of a transcript: the important fields of each kind of event, without ids that other columns show.
import type { Attachment, Attachments } from '../../../schemas/content.ts';
import type { EventOfKind, IngressEvent, IngressKind } from '../../../schemas/event.ts';
import type { ToolCallObserved } from '../../../schemas/tool-call.ts';
import type { HostSessionFacts, ToolOverrides } from '../../../schemas/tool-set.ts';
import type { RunConfigPatch, Usage } from '../../../schemas/run.ts';
import { fieldsOf, namesOf, optional, quoted, since, textOf } from './words.ts';

type Texts = { readonly [K in IngressKind]: (event: EventOfKind<K>, startMs: number) => readonly string[] };

const TEXTS: Texts = {
  RunRequested: ({ input, attachments, run_overrides, tools, cause }) => [
    textOf(input),
    ...filesText(attachments),
    ...configText(run_overrides),
    ...toolsText(tools),
    ...(cause === undefined || cause.kind === 'direct' ? [] : [`cause ${cause.kind}`]),
  ],
  ToolCallsObserved: ({ turn, calls, content, usage }) => [
    `turn ${turn}`,
    ...(calls.length === 0 ? [] : [`calls ${namesOf(calls.map(callText))}`]),
    ...(content === undefined ? [] : [textOf(content)]),
    ...usageText(usage),
  ],
  GenerateFailed: ({ turn, code, retryable, retry_after_ms, jitter_permille }) => [
    `turn ${turn}: ${code}`,
    ...optional('retryable', retryable),
    ...optional('retry after', retry_after_ms),
    ...optional('jitter', jitter_permille),
  ],
  ContextCompacted: ({ turn, summary, usage }) => [`turn ${turn}`, textOf(summary), ...usageText(usage)],
  CompactFailed: ({ turn, code, retryable, retry_after_ms, jitter_permille }) => [
    `turn ${turn}: ${code}`,
    ...optional('retryable', retryable),
    ...optional('retry after', retry_after_ms),
    ...optional('jitter', jitter_permille),
  ],
  ToolCallStarted: ({ call_id, attempt, owner }) => [`${attemptText(call_id, attempt)} by ${owner}`],
  ToolCallSettled: ({ call_id, attempt, result, outcome, code, output, ...event }) => [
    `${attemptText(call_id, attempt)} ${outcome ?? (result.success ? 'succeeded' : 'failed')}`,
    ...optional('code', code),
    ...optional('terminal', result.terminal),
    ...optional('needs follow-up', result.needsFollowup),
    ...optional('retryable', event.retryable),
    ...optional('jitter', event.jitter_permille),
    ...(event.output_verdict?.valid === false ? ['output invalid'] : []),
    ...(event.changes === undefined ? [] : [`changed ${namesOf(event.changes.map(({ path }) => path))}`]),
    ...hostText(event.host_session),
    textOf(output),
    ...filesText(event.attachments),
  ],
  ToolBatchSettled: ({ batch_id }) => [batch_id],
  LeaseExpired: ({ call_id, attempt }) => [attemptText(call_id, attempt)],
  CallPreviewed: ({ call_id, attempt, preview }) => [
    attemptText(call_id, attempt),
    ...('files' in preview
      ? [`would change ${namesOf(preview.files.map(({ path }) => path))}`, textOf(preview.diff)]
      : [`no preview ${preview.code}`, quoted(preview.message)]),
  ],
  ToolCallNoted: ({ call_id, attempt, handle }) => [attemptText(call_id, attempt), `handle ${quoted(handle)}`],
  ToolCallAsked: ({ call_id, attempt, question: { from, message, schema, url }, resume }) => [
    `${attemptText(call_id, attempt)} asks ${quoted(message)}`,
    ...(from === undefined ? [] : [`from ${quoted(from)}`]),
    ...(url === undefined ? [] : [`at ${quoted(url)}`]),
    ...(schema === undefined ? [] : ['with a schema']),
    ...(resume === undefined ? [] : [`resumes with ${textOf(resume)}`]),
  ],
  HostSessionUpdated: ({ host_session, detail }, startMs) => [
    ...hostText(host_session, startMs),
    ...(detail === undefined ? [] : [quoted(detail)]),
  ],
  ToolRegistrySet: ({ registry }) => [`tools ${namesOf(registry.map(({ tool_name }) => tool_name))}`],
  ToolsetSet: ({ toolset, owner, tools, trust }) => [
    `${toolset} by ${owner}`,
    ...optional('trust', trust),
    `tools ${namesOf(tools.map(({ spec }) => spec.tool_name))}`,
  ],
  ToolsetApproved: ({ toolset, tools, by }) => [toolset, `tools ${namesOf(Object.keys(tools))}`, ...optional('by', by)],
  ToolsetRemoved: ({ toolset, by }) => [toolset, ...optional('by', by)],
  ToolProfileSelected: ({ profile_id }) => [profile_id],
  ToolOverridesSet: ({ scope, ...tools }) => [scope, ...toolsText(tools)],
  SessionConfigured: ({ config }) => configText(config),
  RunSteered: ({ input, attachments }) => [textOf(input), ...filesText(attachments)],
  FollowUpQueued: ({ follow_up: { input, attachments, run_overrides, tools } }) => [
    textOf(input),
    ...filesText(attachments),
    ...configText(run_overrides),
    ...toolsText(tools),
  ],
  RunPaused: ({ run_id }) => [run_id],
  RunResumed: ({ run_id }) => [run_id],
  RunCancelled: ({ run_id, reason }) => [run_id, ...(reason === undefined ? [] : [quoted(reason)])],
  RunCompleted: ({ run_id, output }) => [run_id, ...(output === undefined ? [] : [textOf(output)])],
  RunFailed: ({ run_id, code, message }) => [run_id, code, quoted(message)],
  ConsentPolicySet: ({ policy, by }) => [fieldsOf(policy.modes), ...optional('by', by)],
  RulesAdopted: ({ rules, since, by }) => [`rules ${rules}`, `since ${since}`, ...optional('by', by)],
  'user.tool_confirmation': ({ call_id, result, message, grant, instead, preview, by }) => [
    `${result} ${call_id}`,
    ...(preview === undefined ? [] : ['as previewed']),
    ...(grant === undefined ? [] : [`grant ${fieldsOf(grant)}`]),
    ...(instead === undefined ? [] : [`instead ${callText(instead)} ${JSON.stringify(instead.arguments ?? {})}`]),
    ...(message === undefined ? [] : [quoted(message)]),
    ...optional('by', by),
  ],
  'user.custom_tool_result': ({ call_id, result, output, attachments, output_verdict, by }) => [
    `${call_id} ${result.success ? 'succeeded' : 'failed'}`,
    ...optional('terminal', result.terminal),
    ...(output_verdict?.valid === false ? ['output invalid'] : []),
    textOf(output),
    ...filesText(attachments),
    ...optional('by', by),
  ],
  'user.elicitation_result': ({ call_id, attempt, action, content, content_verdict, by }) => [
    `${attemptText(call_id, attempt)} ${action}`,
    ...(content === undefined ? [] : [quoted(JSON.stringify(content))]),
    ...(content_verdict?.valid === false ? ['content invalid'] : []),
    ...optional('by', by),
  ],
  'user.interrupt': ({ run_id, input, attachments, reason }) => [
    run_id,
    ...(input === undefined ? [] : [`with ${textOf(input)}`]),
    ...filesText(attachments),
    ...(reason === undefined ? [] : [quoted(reason)]),
  ],
  UndoRequested: ({ call_id, changes = [] }) => [
    call_id,
    ...(changes.length === 0 ? [] : [`files ${namesOf(changes.map(({ path }) => path))}`]),
  ],
  UndoSettled: ({ call_id, position, success, code }) => [
    `${call_id} requested at ${position}`,
    success ? 'succeeded' : 'failed',
    ...optional('code', code),
  ],
  TimeReached: ({ due_at_ms, late }, startMs) => [`due ${since(due_at_ms, startMs)}`, ...optional('late', late)],
};

export const contentOf = (event: IngressEvent, startMs: number): string =>
  (TEXTS[event.kind] as (event: IngressEvent, startMs: number) => readonly string[])(event, startMs).join(', ');

const callText = ({ call_id, tool_name }: ToolCallObserved): string => `${call_id}:${quoted(tool_name).slice(1, -1)}`;

const filesText = (attachments: Attachments | undefined): readonly string[] =>
  attachments === undefined ? [] : [`files ${namesOf(attachments.map(fileText))}`];

const fileText = ({ media_type, bytes, name }: Attachment): string =>
  `${media_type.slice(media_type.indexOf('/') + 1)}:${bytes}${name === undefined ? '' : `:${quoted(name)}`}`;

const configText = (patch: RunConfigPatch | undefined): readonly string[] =>
  patch === undefined ? [] : [fieldsOf(patch)];

function toolsText({ enable = [], disable = [], force = [] }: Partial<ToolOverrides> = {}): readonly string[] {
  const lists = Object.entries({ enable, disable, force });
  return lists.flatMap(([list, ids]) => (ids.length === 0 ? [] : [`${list} ${namesOf(ids)}`]));
}

/** `call`, or `call#2` from the second attempt on. */
export const attemptText = (call_id: string, attempt: number): string =>
  attempt === 1 ? call_id : `${call_id}#${attempt}`;

const usageText = (usage: Usage | undefined): readonly string[] =>
  usage === undefined ? [] : [`tokens ${usage.input_tokens}+${usage.output_tokens}`];

function hostText(facts: HostSessionFacts | undefined, startMs = 0): readonly string[] {
  if (facts === undefined) return [];
  const { host_session_id: id, host_session_status: status, expires_at_ms, ...rest } = facts;
  const expires = expires_at_ms === undefined ? undefined : since(expires_at_ms, startMs);
  return [`host ${fieldsOf({ status, id, expires, ...rest })}`];
}
