// Events as rows: each is made from the recorded event alone, so that rows can be shown before the fold has reached them.
import type { IngressEvent } from '../../schemas/event.ts';
import { type CommitRecord, eventsIn } from '../../schemas/record.ts';
import { upcast } from '../../schemas/upcast.ts';
import { contentRefs, eventDigest } from '../../src/core/index.ts';
import type { CallAddress, EventDetail, Row, RowsWindow, TurnAddress, Window } from '../protocol.ts';
import { kindsOf, marksOf } from './marks.ts';
import { Refused } from './refused.ts';
import type { StreamFold } from './stream-fold.ts';
import { jsonOf, lineOfContent, oneLine } from './texts.ts';
import { windowOf } from './windows.ts';

export async function rowsIn(fold: StreamFold, wanted: Window): Promise<RowsWindow> {
  const { from, limit } = windowOf(wanted);
  const rows: Row[] = [];
  for await (const commits of fold.source.commitsFrom(from)) {
    for (const commit of commits) {
      for (const { position, event } of eventsIn(commit)) {
        if (position >= from && rows.length < limit) rows.push(rowOf(fold, { position, event: upcast(event) }, commit));
      }
    }
    if (rows.length >= limit) break;
  }
  const { total, folded } = fold.progress();
  return { from, rows, total, checked: folded };
}

function rowOf(
  fold: StreamFold,
  { position, event }: { readonly position: number; readonly event: IngressEvent },
  commit: CommitRecord,
): Row {
  const isFolded = position < fold.marks.length;
  const isFault = fold.fault()?.position === position || fold.chain().fault?.position === position;
  const marks = kindsOf(isFolded ? fold.marks.at(position) : marksOf(event));
  return {
    position,
    kind: event.kind,
    at_ms: event.at_ms,
    by: 'by' in event ? (event.by ?? null) : null,
    turn: turnOf(fold, position, event),
    call: callOf(fold, event),
    text: textOf(event),
    marks: isFault ? [...marks, 'fault'] : marks,
    commit: commit.position,
  };
}

function turnOf(fold: StreamFold, position: number, event: IngressEvent): TurnAddress | null {
  if ('turn' in event && 'run_id' in event) return { run_id: event.run_id, turn: event.turn };
  const entry = position < fold.marks.length ? fold.turns.before(position) : undefined;
  if (entry === undefined || (entry.last !== null && entry.last < position)) return null;
  return { run_id: entry.run_id, turn: entry.turn };
}

function callOf(fold: StreamFold, event: IngressEvent): CallAddress | null {
  if (!('call_id' in event) || !('batch_id' in event) || event.batch_id === undefined) return null;
  const { batch_id, call_id } = event;
  const observed = fold.turns.ofBatch(batch_id)?.batch.observed;
  return observed === undefined ? null : { batch_id, call_id, observed, index: null };
}

type Text<K extends IngressEvent['kind']> = (event: Extract<IngressEvent, { readonly kind: K }>) => string;

const TEXTS: { readonly [K in IngressEvent['kind']]?: Text<K> } = {
  RunRequested: ({ input }) => lineOfContent(input),
  ToolCallsObserved: ({ calls, content }) =>
    [lineOfContent(content), calls.map(({ tool_name }) => tool_name).join(', ')]
      .filter((part) => part !== '')
      .join(' · '),
  GenerateFailed: ({ code, message }) => `${code}: ${message}`,
  ContextCompacted: ({ summary }) => lineOfContent(summary),
  CompactFailed: ({ code, message }) => `${code}: ${message}`,
  ToolCallStarted: ({ call_id, attempt, owner }) => `${call_id}, attempt ${attempt}, by ${owner}`,
  ToolCallSettled: ({ call_id, result, outcome, code, output }) =>
    `${call_id} ${code ?? outcome ?? (result.success ? 'succeeded' : 'failed')} ${lineOfContent(output)}`,
  ToolBatchSettled: ({ batch_id }) => batch_id,
  LeaseExpired: ({ call_id, attempt }) => `${call_id}, attempt ${attempt}`,
  CallPreviewed: ({ call_id, preview }) =>
    'code' in preview
      ? `${call_id}: no preview, ${preview.message}`
      : `${call_id} would change ${preview.files.map(({ path }) => path).join(', ')}`,
  ToolCallNoted: ({ call_id, handle }) => `${call_id}, ${handle}`,
  ToolCallAsked: ({ call_id, question: { message } }) => `${call_id}: ${message}`,
  HostSessionUpdated: ({ host_session: { host_session_status } }) => host_session_status ?? '',
  ToolRegistrySet: ({ registry }) => `${registry.length} tools`,
  ToolsetSet: ({ toolset, owner, tools }) => `${toolset}: ${tools.length} tools, by ${owner}`,
  ToolsetApproved: ({ toolset, tools }) => `${toolset}: ${Object.keys(tools).join(', ')}`,
  ToolsetRemoved: ({ toolset }) => toolset,
  ToolProfileSelected: ({ profile_id }) => profile_id,
  ToolOverridesSet: ({ scope, enable = [], disable = [], force = [] }) =>
    `${scope}: ${[...enable.map((id) => `+${id}`), ...disable.map((id) => `-${id}`), ...force.map((id) => `!${id}`)].join(' ')}`,
  SessionConfigured: ({ config }) => JSON.stringify(config),
  RunSteered: ({ input }) => lineOfContent(input),
  FollowUpQueued: ({ follow_up }) => lineOfContent(follow_up.input),
  RunCancelled: ({ reason }) => reason ?? '',
  RunCompleted: ({ output }) => lineOfContent(output),
  RunFailed: ({ code, message }) => `${code}: ${message}`,
  RulesAdopted: ({ rules }) => `rules ${rules}`,
  'user.tool_confirmation': ({ call_id, result, message }) =>
    `${result} ${call_id}${message === undefined ? '' : `: ${message}`}`,
  'user.custom_tool_result': ({ call_id, output }) => `${call_id}: ${lineOfContent(output)}`,
  'user.elicitation_result': ({ call_id, action, content }) =>
    `${action} ${call_id}${content === undefined ? '' : `: ${JSON.stringify(content)}`}`,
  'user.interrupt': ({ input, reason }) => (input === undefined ? (reason ?? '') : lineOfContent(input)),
  UndoRequested: ({ call_id, changes = [] }) => `${call_id}: ${changes.map(({ path }) => path).join(', ')}`,
  UndoSettled: ({ call_id, success, message }) => `${call_id}: ${success ? 'undone' : (message ?? 'not undone')}`,
};

function textOf(event: IngressEvent): string {
  const text = TEXTS[event.kind] as ((event: IngressEvent) => string) | undefined;
  return oneLine(text?.(event) ?? '');
}

export async function eventAt(fold: StreamFold, position: number): Promise<EventDetail> {
  for await (const commits of fold.source.commitsFrom(position)) {
    for (const commit of commits) {
      const event = commit.events[position - commit.position];
      if (event === undefined) continue;
      const { state_digest, chain } = commit;
      return {
        position,
        event: jsonOf(event),
        event_digest: eventDigest(event),
        commit: { position: commit.position, events: commit.events.length, state_digest, chain },
        checked: position < fold.progress().folded,
        blobs: contentRefs(event).map(({ path, ref, bytes }) => ({ path, ref, bytes })),
      };
    }
  }
  throw new Refused({ code: 'position_unknown', message: `there is no event at position ${position}`, advice: '' });
}
