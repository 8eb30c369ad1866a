// What an event changed in the state of a session, in a transcript: the run, the calls of the batch, the tools, the queue,
// consent, undos and the conversation.
import { callStateAt } from '../../../reducers/batch-index.ts';
import type { RunState } from '../../../schemas/run.ts';
import type { ActiveToolBatch, CallState, SessionState } from '../../../schemas/state.ts';
import { batchAfter } from '../../../src/core/batch-steps.ts';
import type { FoldedEvent } from '../../../src/core/index.ts';
import { cut, namesOf, since } from './words.ts';

type States = Pick<FoldedEvent, 'before' | 'after'>;

/** The most characters of the codes and names that come from a call. */
const CODE_CHARS_MAX = 32;

export function changesOf(folded: FoldedEvent, startMs: number): string {
  return [
    ...runChanges(folded, startMs),
    ...batchChanges(folded, startMs),
    ...queueChanges(folded),
    ...toolChanges(folded),
    ...consentChanges(folded),
    ...undoChanges(folded),
    ...conversationChanges(folded),
  ].join('; ');
}

function runChanges({ before, after }: States, startMs: number): readonly string[] {
  const { run } = after;
  const endings = endingsOf(before, after);
  if (run === null) return endings;
  if (before.run?.run_id !== run.run_id) return [...endings, `${run.run_id} ${phaseOf(run)}`];
  return [...endings, ...liveRunChanges(before.run, run, startMs)];
}

function liveRunChanges(was: RunState, is: RunState, startMs: number): readonly string[] {
  const wait = is.retry?.not_before_ms ?? null;
  return [
    ...(phaseOf(was) === phaseOf(is) ? [] : [phaseOf(is)]),
    ...changed('steers', was.steers.length, is.steers.length),
    ...changed('amended', was.amended?.length ?? 0, is.amended?.length ?? 0),
    ...changed('failures', was.retry?.failures ?? 0, is.retry?.failures ?? 0),
    ...(wait === null || wait === was.retry?.not_before_ms ? [] : [`retry at ${since(wait, startMs)}`]),
  ];
}

/** The runs that the event ended. */
function endingsOf(before: SessionState, after: SessionState): readonly string[] {
  const known = new Set(before.run_history.map(({ run_id }) => run_id));
  return after.run_history
    .filter(({ run_id }) => !known.has(run_id))
    .map(({ run_id, ending }) => `${run_id} ${ending.outcome}${ending.code === null ? '' : ` ${ending.code}`}`);
}

const phaseOf = ({ phase, turn }: RunState): string => `${phase} ${turn}`;

function batchChanges(folded: FoldedEvent, startMs: number): readonly string[] {
  const { before, after } = folded;
  const was = before.active_tool_batch;
  const is = after.active_tool_batch;
  const parts: string[] = [];
  const last = was === null ? null : batchAfter(folded);
  if (was !== null && last !== null) parts.push(...callChanges(was, last, startMs));
  if (was?.batch_id === is?.batch_id) return parts;
  if (is !== null) parts.push(`${is.batch_id}: ${callChanges(null, is, startMs).join(', ')}`);
  return parts;
}

/** The calls with another state than before, grouped by it. */
function callChanges(was: ActiveToolBatch | null, is: ActiveToolBatch, startMs: number): readonly string[] {
  const groups = new Map<string, string[]>();
  for (const [index, { call_id }] of is.observed.entries()) {
    const now = callText(callStateAt(is, index), startMs);
    if (was !== null && callText(callStateAt(was, index), startMs) === now) continue;
    groups.set(now, [...(groups.get(now) ?? []), call_id]);
  }
  return [...groups].map(([text, ids]) => `${namesOf(ids)} ${text}`);
}

function callText(call: CallState | undefined, startMs: number): string {
  if (call === undefined) return '';
  const {
    status,
    code,
    attempt,
    terminal,
    not_before_ms,
    preview,
    preview_until_ms,
    previewed,
    answer,
    noted,
    question,
    resume,
  } = call;
  return [
    status,
    ...(code === null || code === status ? [] : [cut(code, CODE_CHARS_MAX)]),
    ...(attempt === 1 ? [] : [`#${attempt}`]),
    ...(terminal ? ['terminal'] : []),
    ...(preview_until_ms === undefined ? [] : [`preview until ${since(preview_until_ms, startMs)}`]),
    ...(preview === undefined
      ? []
      : ['digest' in preview ? 'previewed' : `no preview ${cut(preview.code, CODE_CHARS_MAX)}`]),
    ...(previewed === undefined ? [] : [`as previewed ${previewed.length}`]),
    ...(noted === undefined ? [] : ['noted']),
    ...(question === undefined ? [] : [question.state === undefined ? 'asks' : 'asks and left']),
    ...(answer === undefined ? [] : [`owed ${answer.answer.action}`]),
    ...(resume === undefined ? [] : [`with ${namesOf(Object.keys(resume))}`]),
    ...(not_before_ms === undefined ? [] : [`not before ${since(not_before_ms, startMs)}`]),
  ].join(' ');
}

const queueChanges = ({ before, after }: States): readonly string[] => [
  ...changed('follow-ups', before.follow_ups.length, after.follow_ups.length),
  ...changed('detached', before.detached?.length ?? 0, after.detached?.length ?? 0),
];

function toolChanges({ before, after }: States): readonly string[] {
  const idsOf = ({ effective_tools }: SessionState): readonly string[] =>
    effective_tools.ordered_tools.map(({ tool_name }) => tool_name);
  const [was, is] = [new Set(idsOf(before)), new Set(idsOf(after))];
  const changes = [
    ...[...is].filter((name) => !was.has(name)).map((name) => `+${name}`),
    ...[...was].filter((name) => !is.has(name)).map((name) => `-${name}`),
  ];
  const host = after.tool_runtime_context.host_session_status;
  return [
    ...(host === before.tool_runtime_context.host_session_status ? [] : [`host ${host}`]),
    ...(changes.length === 0 ? [] : [`tools ${namesOf(changes)}`]),
    ...toolsetChanges(before, after),
  ];
}

/** The toolsets that changed: how many tools each has, and how many of them are approved as they are. */
const toolsetChanges = ({ toolsets: was = {} }: SessionState, { toolsets: is = {} }: SessionState) =>
  [...new Set([...Object.keys(was), ...Object.keys(is)])]
    .filter((name) => was[name] !== is[name])
    .map((name) => {
      const now = is[name];
      if (now === undefined) return `toolset ${name} gone`;
      const ids = Object.keys(now.tools);
      return `toolset ${name} ${ids.filter((id) => now.pins[id] === now.tools[id]).length} of ${ids.length} approved`;
    });

const consentChanges = ({ before, after }: States): readonly string[] => [
  ...changed('grants', before.consent?.grants.length ?? 0, after.consent?.grants.length ?? 0),
  ...changed('rules', before.rules, after.rules),
];

const undoChanges = ({ before, after }: States): readonly string[] =>
  changed('undos', before.undos?.length ?? 0, after.undos?.length ?? 0);

const conversationChanges = ({ before, after }: States): readonly string[] => [
  ...changed('entries', before.transcript.count, after.transcript.count),
  ...(before.transcript.sealed.at(-1) === after.transcript.sealed.at(-1) ? [] : ['page sealed']),
];

/** The new value of a number that changed. */
const changed = (name: string, was: number, is: number): readonly string[] => (was === is ? [] : [`${name} ${is}`]);
