// Describes one event of a session as lines for a person who watches a run.
import { paint } from '../shown/paint.ts';
import { callStateAt, plannedOf } from '../../reducers/batch-index.ts';
import { owesCompaction } from '../../reducers/compaction.ts';
import { type Attachments, type Content, isInline } from '../../schemas/content.ts';
import type { EventOfKind, IngressEvent, IngressKind } from '../../schemas/event.ts';
import type { RunEnd } from '../../schemas/run.ts';
import type { CallId } from '../../schemas/ids.ts';
import type { ActiveToolBatch, SessionState } from '../../schemas/state.ts';
import type { ToolCallObserved } from '../../schemas/tool-call.ts';
import { upcast } from '../../schemas/upcast.ts';
import { visible } from '../shown/visible.ts';
import type { FoldedEvent } from '../core/folded-event.ts';

const WIDTH = 100;

/** The lines of one event; none for events that people need not see. */
export function progressLines(watched: FoldedEvent): readonly string[] {
  const event = upcast(watched.event);
  const line = LINES[event.kind] as Describe<IngressEvent> | Unseen;
  const own = typeof line === 'function' ? line(watched, event) : [];
  return [...own, ...(event.ends ?? []).map(endLine), ...queuedRunLines(watched.before, watched.after)];
}

type Describe<E> = (watched: FoldedEvent, event: E) => readonly string[];

/** A kind without a line of its own, and why people need none. */
interface Unseen {
  readonly unseen: string;
}

type LinesByKind = { readonly [K in IngressKind]: Describe<EventOfKind<K>> | Unseen };

/** What a person sees of each kind. When an event ends a run, a line of the end follows. */
const LINES: LinesByKind = {
  RunRequested: ({ after }, event) => startLines(after, event),
  ToolCallsObserved: ({ after }, event) => turnLines(event, after),
  GenerateFailed: ({ before, after }, event) => {
    const again = after.run?.retry?.not_before_ms ?? null;
    const then = again === null ? '' : paint.dim(`; retrying in ${again - event.at_ms} ms`);
    const line = paint.red(`  ! the model request failed: ${event.code}: ${visible(event.message)}`) + then;
    return [line, ...(again === null ? offerLines(before, after) : [])];
  },
  ContextCompacted: ({ before, after }, { summary }) => [
    paint.dim(`  the first ${after.transcript.summary?.count ?? 0} messages are now a summary: ${textOf(summary)}`),
    ...offerLines(before, after),
  ],
  CompactFailed: ({ before, after }, { code, message }) => [
    paint.yellow(`  ! the conversation was not compacted: ${code}: ${visible(message)}`),
    ...offerLines(before, after),
  ],
  ToolCallStarted: ({ before }, event) => {
    const { call, group } = callOf(before.active_tool_batch, event.call_id);
    return [`  ${paint.blue('▸')} ${paint.dim(`g${group + 1}`)} ${describeCall(call)} ${paint.dim('started')}`];
  },
  ToolCallSettled: ({ before, after }, event) => [
    settledLine(event, before),
    ...nextLines(event),
    ...hostLines(before, after),
  ],
  ToolBatchSettled: ({ before, after }) => offerLines(before, after),
  LeaseExpired: (_, event) => [paint.yellow(`  ! ${visible(event.call_id)}: its bridge was lost`)],
  CallPreviewed: { unseen: 'the question about the call shows it' },
  ToolCallNoted: ({ before }, { call_id }) => [
    paint.dim(`  … ${describeCall(callOf(before.active_tool_batch, call_id).call)} waits for work outside`),
  ],
  ToolCallAsked: ({ before }, { call_id, question: { from, message } }) => {
    const { call } = callOf(before.active_tool_batch, call_id);
    const who = from === undefined ? '' : paint.dim(` (${visible(from)})`);
    return [`  ${paint.yellow('?')} ${describeCall(call)} asks${who}: ${clip(oneLine(message))}`];
  },
  HostSessionUpdated: ({ before, after }) => hostLines(before, after),
  ToolRegistrySet: ({ before, after }, { registry }) => [
    paint.dim(`  tools replaced: ${registry.length} registered`),
    ...offerLines(before, after),
  ],
  ToolsetSet: ({ before, after }, { toolset, owner, tools }) => [
    paint.dim(`  toolset ${visible(toolset)} set by ${visible(owner)}: ${tools.length} tools`) +
      waitingText(after, toolset),
    ...offerLines(before, after),
  ],
  ToolsetApproved: ({ before, after }, { toolset, tools, by }) => [
    paint.dim(`  toolset ${visible(toolset)}: ${Object.keys(tools).length} definitions approved${byPerson(by)}`),
    ...offerLines(before, after),
  ],
  ToolsetRemoved: ({ before, after }, { toolset, by }) => [
    paint.dim(`  toolset ${visible(toolset)} removed${byPerson(by)}`),
    ...offerLines(before, after),
  ],
  ToolProfileSelected: ({ before, after }, { profile_id }) => [
    paint.dim(`  profile ${visible(profile_id)} selected`),
    ...offerLines(before, after),
  ],
  ToolOverridesSet: ({ before, after }, event) => [overridesLine(event), ...offerLines(before, after)],
  SessionConfigured: (_, { config }) => [paint.dim(`  config of later runs: ${visible(JSON.stringify(config))}`)],
  RunSteered: (_, event) => [paint.dim(`  steered: ${saidBy(event)}`)],
  FollowUpQueued: ({ before, after }, { follow_up }) =>
    before.run === null && after.run !== null
      ? startLines(after, follow_up)
      : [paint.dim(`  follow-up run queued: ${saidBy(follow_up)}`)],
  RunPaused: () => [paint.dim('  paused')],
  RunResumed: () => [paint.dim('  resumed')],
  RunCancelled: ({ after }) => endingLines(after, 'cancelling'),
  RunCompleted: { unseen: 'it always ends the run, which the line of the end says' },
  RunFailed: ({ after }, { code, message }) => endingLines(after, `failing: ${code}, ${visible(message)}`),
  ConsentPolicySet: (_, { by }) => [paint.dim(`  policy set${byPerson(by)}; earlier grants are revoked`)],
  RulesAdopted: ({ before }, { rules, by }) => [
    paint.dim(`  moved from rules ${before.rules} to rules ${rules}${byPerson(by)}`),
  ],
  'user.tool_confirmation': ({ before }, event) => [confirmationLine(event, before)],
  'user.custom_tool_result': ({ before }, event) => {
    const { call } = callOf(before.active_tool_batch, event.call_id);
    const mark = event.result.success ? paint.green('✓') : paint.red('✗');
    const told = event.result.message === undefined ? textOf(event.output) : oneLine(event.result.message);
    return [
      `  ${mark} ${describeCall(call)} ${paint.dim(`answered${byPerson(event.by)}`)} ${paint.dim(clip(told))}`,
      ...nextLines(event),
    ];
  },
  'user.elicitation_result': ({ before }, { call_id, action, by }) => {
    const { call } = callOf(before.active_tool_batch, call_id);
    const mark = action === 'accept' ? paint.green('✓') : paint.red('✗');
    return [`  ${mark} ${describeCall(call)} ${paint.dim(`its question ${ANSWERED[action]}${byPerson(by)}`)}`];
  },
  'user.interrupt': (_, { input, attachments = [], by }) => [
    paint.yellow(`  interrupted${byPerson(by)}`) + (input === undefined ? '' : `: ${saidBy({ input, attachments })}`),
  ],
  UndoRequested: (_, { call_id, changes = [] }) => [
    paint.dim(`  undo of ${visible(call_id)} requested: ${visible(changes.map(({ path }) => path).join(', '))}`),
  ],
  UndoSettled: (_, { call_id, success, code, message }) => {
    if (success) return [`  ${paint.green('✓')} ${visible(call_id)} ${paint.dim('undone')}`];
    const why = [code, message].filter((part) => part !== undefined).join(', ');
    return [
      `  ${paint.red('✗')} ${visible(call_id)} ${paint.red('not undone')}${why === '' ? '' : `: ${visible(why)}`}`,
    ];
  },
  TimeReached: ({ before, after }) => hostLines(before, after),
};

const ANSWERED = { accept: 'answered', decline: 'declined', cancel: 'dismissed' } as const;

/** The first lines of a run; none when it could not start. */
function startLines({ run, ...state }: SessionState, said: Said): readonly string[] {
  if (run === null) return [];
  return [`${paint.bold(run.run_id)} ${saidBy(said)}`, offerLine({ ...state, run })];
}

/** A run that ends when its running calls have settled; none when it has ended already. */
const endingLines = ({ run, active_tool_batch: batch }: SessionState, how: string): readonly string[] =>
  run === null ? [] : [paint.yellow(`  ${how}`) + paint.dim(`; ${batch?.running ?? 0} running`)];

function overridesLine({ scope, ...lists }: EventOfKind<'ToolOverridesSet'>): string {
  const parts = (['enable', 'disable', 'force'] as const).flatMap((list) => {
    const ids = lists[list] ?? [];
    return ids.length === 0 ? [] : [`${list} ${visible(ids.join(' '))}`];
  });
  return paint.dim(`  overrides of the ${scope}: ${parts.length === 0 ? 'none' : parts.join('; ')}`);
}

const byPerson = (by: string | undefined): string => (by === undefined ? '' : ` by ${visible(by)}`);

function confirmationLine(event: EventOfKind<'user.tool_confirmation'>, before: SessionState): string {
  const { call } = callOf(before.active_tool_batch, event.call_id);
  const who = byPerson(event.by);
  if (event.result === 'allow') {
    const more = event.grant === undefined ? '' : ', and for the rest of the session';
    return `  ${paint.green('✓')} ${describeCall(call)} ${paint.dim(`allowed${who}${more}`)}`;
  }
  const why = event.message === undefined ? '' : `: ${visible(event.message)}`;
  const instead = event.instead === undefined ? '' : paint.dim(' (replaced by other arguments)');
  return `  ${paint.red('✗')} ${describeCall(call)} ${paint.red(`denied${who}`)}${why}${instead}`;
}

function turnLines(event: EventOfKind<'ToolCallsObserved'>, after: SessionState): readonly string[] {
  const text = event.content === undefined ? '' : textOf(event.content);
  const head = `${paint.bold(paint.cyan(`turn ${event.turn}`))} ${text}`;
  const batch = after.active_tool_batch;
  if (batch === null) return [head];
  const calls = new Map(event.calls.map((call) => [call.call_id, call]));
  const groups = batch.plan.execution_plan.groups.map((ids, group) => {
    const names = ids.map((id) => describeCall(calls.get(id)));
    return (
      paint.dim(`  group ${group + 1}${ids.length > 1 ? ` (${ids.length} in parallel)` : ''}: `) +
      names.join(paint.dim(', '))
    );
  });
  const rejected = batch.plan.rejected.map(
    ({ index, code, message }) =>
      `  ${paint.yellow('✗')} ${describeCall(event.calls[index])} ${paint.yellow(`rejected: ${code}`)} ${paint.dim(clip(message))}`,
  );
  return [head, ...groups, ...rejected];
}

function settledLine(event: EventOfKind<'ToolCallSettled'>, before: SessionState): string {
  const batch = before.active_tool_batch;
  const { call, group } = callOf(batch, event.call_id);
  const good = event.result.success;
  const mark = good ? paint.green('✓') : paint.red('✗');
  const took = event.duration_ms === undefined ? '' : paint.dim(` ${event.duration_ms} ms`);
  const exit = exitCodeOf(event);
  const ended = exit === null ? '' : (exit === 0 ? paint.green : paint.yellow)(` exit ${exit}`);
  const why = good ? ended : paint.red(` ${event.outcome ?? 'failed'}: ${event.code ?? 'tool_failed'}`);
  // What the tool says to people; of a failure without such a message, what is wrong; else the end of the output.
  const { message = good ? undefined : event.result.error } = event.result;
  const told = message === undefined ? lastLine(event.output) : oneLine(message);
  return `  ${mark} ${paint.dim(`g${group + 1}`)} ${describeCall(call)}${took}${why} ${paint.dim(clip(told) + filesIn(event.attachments ?? []))}`;
}

const nextLines = ({ result }: EventOfKind<'ToolCallSettled' | 'user.custom_tool_result'>): readonly string[] =>
  result.nextAction === undefined ? [] : [paint.dim(`    next: ${clip(oneLine(result.nextAction), 2 * WIDTH)}`)];

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
  return [paint.magenta(`  host session ${now.host_session_status ?? 'unknown'}${sandbox}`)];
}

/** The line of the offer when the live run has another one now. */
const offerLines = (before: SessionState, after: SessionState): readonly string[] =>
  after.run === null || offerLine(before) === offerLine(after) ? [] : [offerLine(after)];

function offerLine(state: SessionState): string {
  const offer = state.run?.offer;
  if (state.run !== null && owesCompaction(state.run)) return paint.dim('  compacts the conversation');
  if (offer === null || offer === undefined) return paint.dim('  waits for the host session');
  const names = offer.ordered_tools.map((tool) => tool.tool_name).join(' ');
  return paint.dim(`  offered (${offer.profile_id}): ${names}`);
}

/** How many tools of a toolset are out until an operator approves them, and how that is done. */
function waitingText({ session_id, toolsets = {} }: SessionState, name: string): string {
  const { pins = {}, tools = {} } = toolsets[name] ?? {};
  const waiting = Object.keys(tools).filter((id) => pins[id] !== tools[id]).length;
  if (waiting === 0) return '';
  return paint.yellow(`; ${waiting} wait for approval: refold toolsets approve ${session_id} ${visible(name)}`);
}

function endLine({ run_id, outcome, code, message }: RunEnd): string {
  const colour = outcome === 'completed' ? paint.green : paint.red;
  const why = [code, message].filter((part) => part !== null).join(', ');
  return colour(paint.bold(`${run_id} ${outcome}`) + (why === '' ? '' : `: ${visible(why)}`));
}

/** The first lines of a run that waited in the queue until another one had ended. */
function queuedRunLines(before: SessionState, after: SessionState): readonly string[] {
  if (before.run === null || after.run === null || after.run.run_id === before.run.run_id) return [];
  const started = before.follow_ups[before.follow_ups.length - after.follow_ups.length - 1];
  return started === undefined ? [] : startLines(after, started);
}

/** A call as short text: its tool and its most telling arguments. */
export function describeCall(call: ToolCallObserved | undefined): string {
  if (call === undefined) return '?';
  const args = call.arguments ?? {};
  const { path, pattern, argv } = args;
  const main = [pattern, path, Array.isArray(argv) ? argv.join(' ') : undefined].filter(
    (part) => typeof part === 'string',
  );
  return `${call.tool_name}${main.length === 0 ? '' : paint.dim(`(${visible(main.join(' in ').slice(0, 48).toWellFormed())})`)}`;
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

interface Said {
  readonly input: Content;
  readonly attachments?: Attachments;
}

/** What a person said, and how many files come with it. */
const saidBy = ({ input, attachments = [] }: Said): string => textOf(input) + filesIn(attachments);

const filesIn = ({ length }: Attachments): string =>
  length === 0 ? '' : ` [${length} ${length === 1 ? 'file' : 'files'}]`;

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
