// Describes one event of a session as lines for a person who watches a run.
import pc from 'picocolors';
import { callStateAt, plannedOf } from '../../reducers/batch-index.ts';
import { type Content, isInline } from '../../schemas/content.ts';
import type { EventOfKind, IngressEvent, IngressKind } from '../../schemas/event.ts';
import type { CallId } from '../../schemas/ids.ts';
import type { ActiveToolBatch, SessionState } from '../../schemas/state.ts';
import type { ToolCallObserved } from '../../schemas/tool-call.ts';
import { upcast } from '../../schemas/upcast.ts';
import { visible } from './preview/visible.ts';
import type { Watched } from './watch.ts';

const WIDTH = 100;

/** The lines of one event; none for events that people need not see. */
export function progressLines(watched: Watched): readonly string[] {
  const event = upcast(watched.record.event);
  const describe = LINES[event.kind] as ((watched: Watched, event: IngressEvent) => readonly string[]) | undefined;
  return [...(describe?.(watched, event) ?? []), ...endLines(watched.before, watched.after)];
}

type LinesByKind = { readonly [K in IngressKind]?: (watched: Watched, event: EventOfKind<K>) => readonly string[] };

const LINES: LinesByKind = {
  RunRequested: ({ after }, event) => [
    pc.bold(`${after.run?.run_id ?? 'run'} `) + textOf(event.input),
    offerLine(after),
  ],
  ToolCallsObserved: ({ after }, event) => turnLines(event, after),
  ToolCallStarted: ({ before }, event) => {
    const { call, group } = callOf(before.active_tool_batch, event.call_id);
    return [`  ${pc.blue('▸')} ${pc.dim(`g${group}`)} ${describeCall(call)} ${pc.dim('started')}`];
  },
  ToolCallSettled: ({ before, after }, event) => [settledLine(event, before), ...hostLines(before, after)],
  ToolBatchSettled: ({ before, after }) => (after.run === null || sameOffer(before, after) ? [] : [offerLine(after)]),
  HostSessionUpdated: ({ before, after }) => hostLines(before, after),
  TimeReached: ({ before, after }) => hostLines(before, after),
  LeaseExpired: (_, event) => [pc.yellow(`  ! ${event.call_id}: its bridge was lost`)],
  GenerateFailed: ({ after }, event) => {
    const again = after.run?.retry?.not_before_ms ?? null;
    const then = again === null ? '' : pc.dim(`; retrying in ${again - event.at_ms} ms`);
    return [pc.red(`  ! the model request failed: ${event.code}: ${event.message}`) + then];
  },
  ConsentPolicySet: (_, { by }) => [pc.dim(`  policy set${byPerson(by)}; earlier grants are revoked`)],
  'user.tool_confirmation': ({ before }, event) => [confirmationLine(event, before)],
  'user.custom_tool_result': ({ before }, event) => {
    const { call } = callOf(before.active_tool_batch, event.call_id);
    const mark = event.result.success ? pc.green('✓') : pc.red('✗');
    return [
      `  ${mark} ${describeCall(call)} ${pc.dim(`answered${byPerson(event.by)}`)} ${pc.dim(clip(textOf(event.output)))}`,
    ];
  },
  'user.interrupt': (_, { input, by }) => [
    pc.yellow(`  interrupted${byPerson(by)}`) + (input === undefined ? '' : `: ${textOf(input)}`),
  ],
  RunSteered: (_, event) => [pc.dim(`  steered: ${textOf(event.input)}`)],
  RunPaused: () => [pc.dim('  paused')],
  RunResumed: () => [pc.dim('  resumed')],
};

const byPerson = (by: string | undefined): string => (by === undefined ? '' : ` by ${visible(by)}`);

function confirmationLine(event: EventOfKind<'user.tool_confirmation'>, before: SessionState): string {
  const { call } = callOf(before.active_tool_batch, event.call_id);
  const who = byPerson(event.by);
  if (event.result === 'allow') {
    const more = event.grant === undefined ? '' : ', and for the rest of the session';
    return `  ${pc.green('✓')} ${describeCall(call)} ${pc.dim(`allowed${who}${more}`)}`;
  }
  const why = event.message === undefined ? '' : `: ${visible(event.message)}`;
  const instead = event.instead === undefined ? '' : pc.dim(' (replaced by other arguments)');
  return `  ${pc.red('✗')} ${describeCall(call)} ${pc.red(`denied${who}`)}${why}${instead}`;
}

function turnLines(event: EventOfKind<'ToolCallsObserved'>, after: SessionState): readonly string[] {
  const text = event.content === undefined ? '' : textOf(event.content);
  const head = `${pc.bold(pc.cyan(`turn ${event.turn}`))} ${text}`;
  const batch = after.active_tool_batch;
  if (batch === null) return [head];
  const calls = new Map(event.calls.map((call) => [call.call_id, call]));
  const groups = batch.plan.execution_plan.groups.map((ids, group) => {
    const names = ids.map((id) => describeCall(calls.get(id)));
    return (
      pc.dim(`  group ${group}${ids.length > 1 ? ` (${ids.length} in parallel)` : ''}: `) + names.join(pc.dim(', '))
    );
  });
  const rejected = batch.plan.rejected.map(
    ({ index, code, message }) =>
      `  ${pc.yellow('✗')} ${describeCall(event.calls[index])} ${pc.yellow(`rejected: ${code}`)} ${pc.dim(clip(message))}`,
  );
  return [head, ...groups, ...rejected];
}

function settledLine(event: EventOfKind<'ToolCallSettled'>, before: SessionState): string {
  const batch = before.active_tool_batch;
  const { call, group } = callOf(batch, event.call_id);
  const good = event.result.success;
  const mark = good ? pc.green('✓') : pc.red('✗');
  const took = event.duration_ms === undefined ? '' : pc.dim(` ${event.duration_ms} ms`);
  const exit = exitCodeOf(event);
  const ended = exit === null ? '' : (exit === 0 ? pc.green : pc.yellow)(` exit ${exit}`);
  const why = good ? ended : pc.red(` ${event.outcome ?? 'failed'}: ${event.code ?? 'tool_failed'}`);
  return `  ${mark} ${pc.dim(`g${group}`)} ${describeCall(call)}${took}${why} ${pc.dim(clip(lastLine(event.output)))}`;
}

/** The exit code of the command that a call ran; null for every other event. */
export function exitCodeOf(event: IngressEvent): number | null {
  const code = event.kind === 'ToolCallSettled' ? event.result.data?.['exit_code'] : undefined;
  return typeof code === 'number' ? code : null;
}

function callOf(batch: ActiveToolBatch | null, id: CallId): { call?: ToolCallObserved; group: number } {
  const call = batch?.observed.find((observed) => observed.call_id === id);
  const group = batch === null ? 0 : (plannedOf(batch.plan, id)?.group ?? 0);
  return call === undefined ? { group } : { call, group };
}

function hostLines(before: SessionState, after: SessionState): readonly string[] {
  const now = after.tool_runtime_context;
  if (before.tool_runtime_context.host_session_status === now.host_session_status) return [];
  const sandbox = now.sandbox === null ? '' : `, sandbox ${now.sandbox}`;
  return [pc.magenta(`  host session ${now.host_session_status ?? 'unknown'}${sandbox}`)];
}

const sameOffer = (before: SessionState, after: SessionState): boolean => offerLine(before) === offerLine(after);

function offerLine(state: SessionState): string {
  const offer = state.run?.offer;
  if (offer === null || offer === undefined) return pc.dim('  waits for the host session');
  const names = offer.ordered_tools.map((tool) => tool.tool_name).join(' ');
  return pc.dim(`  offered (${offer.profile_id}): ${names}`);
}

function endLines(before: SessionState, after: SessionState): readonly string[] {
  if (before.run === null || after.run?.run_id === before.run.run_id) return [];
  const record = after.run_history.at(-1);
  if (record === undefined) return [];
  const { outcome, code, message } = record.ending;
  const colour = outcome === 'completed' ? pc.green : pc.red;
  const why = code === null ? '' : `: ${code}${message === null ? '' : `, ${message}`}`;
  return [colour(pc.bold(`${record.run_id} ${outcome}`) + why)];
}

/** A call as short text: its tool and its most telling arguments. */
export function describeCall(call: ToolCallObserved | undefined): string {
  if (call === undefined) return '?';
  const args = call.arguments ?? {};
  const { path, pattern, argv } = args;
  const main = [pattern, path, Array.isArray(argv) ? argv.join(' ') : undefined].filter(
    (part) => typeof part === 'string',
  );
  return `${call.tool_name}${main.length === 0 ? '' : pc.dim(`(${visible(main.join(' in ').slice(0, 48).toWellFormed())})`)}`;
}

/** The number of calls of a batch in each status. */
export function countStatuses(batch: ActiveToolBatch): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const position of batch.observed.keys()) {
    const status = callStateAt(batch, position)?.status ?? 'queued';
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

const textOf = (content: Content): string =>
  isInline(content)
    ? clip(oneLine(content.text), 2 * WIDTH)
    : `${clip(oneLine(content.head))} (${content.bytes} bytes)`;

const lastLine = (content: Content): string => {
  const text = isInline(content) ? content.text : content.tail;
  return visible(text.trimEnd().split('\n').at(-1) ?? '');
};

const oneLine = (text: string): string => visible(text.replaceAll(/\s+/g, ' ').trim());

const clip = (text: string, width = WIDTH): string =>
  text.length <= width ? text : `${text.slice(0, width - 1).toWellFormed()}…`;
