// One call: all that `refold explain --call` knows, what it returned, and the files it changed, before and after.
import { callStateAt } from '../../reducers/batch-index.ts';
import { argumentsOf, argumentsValue, shownArguments } from '../../schemas/tool-call.ts';
import type { EventOfKind, IngressEvent } from '../../schemas/event.ts';
import type { CallId, Digest } from '../../schemas/ids.ts';
import { PREVIEW_FILE_CHARS_MAX } from '../../schemas/limits.ts';
import type { CallState } from '../../schemas/state.ts';
import type { FileChange } from '../../schemas/undo.ts';
import { digestText } from '../../schemas/canonical.ts';
import { batchAfter } from '../../src/core/batch-steps.ts';
import { type CallExplanation, newCallHistory } from '../../src/core/index.ts';
import { callLines } from '../../src/shown/call-lines.ts';
import { compareTexts } from '../../src/shown/compare-texts.ts';
import type {
  Absent,
  CallAddress,
  CallDetail,
  ChangedFile,
  DiffLine,
  ShownText,
  UndoFiles,
  UndoState,
} from '../protocol.ts';
import { bytesOfBlob } from './blobs.ts';
import { Refused } from './refused.ts';
import type { StreamFold } from './stream-fold.ts';
import { contentOf, cut, jsonOf } from './texts.ts';

/** What the stream says of one call. */
interface CallFound {
  readonly explanation: CallExplanation;
  readonly state: CallState | null;
  /** The event that reported its result; null while there is none. */
  readonly report: EventOfKind<'ToolCallSettled' | 'user.custom_tool_result'> | null;
  readonly undo: UndoState;
  readonly session_id: string;
  readonly workspace: string | null;
}

export async function callDetail(fold: StreamFold, address: CallAddress): Promise<CallDetail> {
  const { explanation, state, report, undo, session_id } = await findCall(fold, address);
  const { call } = explanation;
  const given = argumentsOf(call);
  const output = state?.output ?? (explanation.rejected === null ? null : { text: explanation.rejected.message });
  return {
    address: { ...address, index: explanation.index, observed: explanation.observed.position },
    explanation,
    lines: callLines(explanation),
    arguments: 'arguments_ref' in given ? contentOf(given.arguments_ref) : jsonOf(shownArguments(call)),
    output: output === null ? null : contentOf(output, state?.attachments),
    attachments: state?.attachments ?? [],
    result: report === null ? null : jsonOf(report.result),
    changes: changesIn(report),
    undo,
    command: `refold explain ${session_id} --call ${call.call_id}`,
  };
}

const changesIn = (report: CallFound['report']): readonly FileChange[] =>
  report?.kind === 'ToolCallSettled' ? (report.changes ?? []) : [];

/** Folds the turn of a call again, and what undid it later. */
async function findCall(fold: StreamFold, { batch_id, call_id, observed, index }: CallAddress): Promise<CallFound> {
  const known = batch_id === null ? undefined : fold.turns.ofBatch(batch_id);
  const from = known?.batch.observed ?? observed;
  await fold.reached(from + 1);
  const { folded } = fold.progress();
  const history = newCallHistory(call_id);
  let state: CallState | null = null;
  let report: CallFound['report'] = null;
  const entry = known?.entry ?? fold.turns.before(from);
  const end = Math.min(folded, (entry?.last ?? folded - 1) + 1);
  const chosen = (): CallExplanation | undefined =>
    history
      .result()
      .find((one) => one.batch_id === batch_id && one.observed.position === from && (index ?? one.index) === one.index);
  await fold.foldAgain(from, Math.max(end, from + 1), (event) => {
    history.add(event);
    const one = chosen();
    if (one === undefined) return;
    const batch = batchAfter(event);
    if (batch !== null && batch.batch_id === batch_id) state = callStateAt(batch, one.index) ?? state;
    if (isReport(event.event, call_id, batch_id)) report = event.event;
  });
  const explanation = chosen();
  if (explanation === undefined) {
    throw new Refused({
      code: 'unknown_call',
      message: `there is no call ${call_id} at position ${from}`,
      advice: '',
    });
  }
  const { state: now } = fold.now() ?? {};
  return {
    explanation,
    state,
    report,
    undo: await undoOf(fold, { batch_id, call_id }, report),
    session_id: now?.session_id ?? fold.source.name,
    workspace: now?.tool_runtime_context.workspace ?? null,
  };
}

const isReport = (
  event: IngressEvent,
  call_id: CallId,
  batch_id: CallAddress['batch_id'],
): event is EventOfKind<'ToolCallSettled' | 'user.custom_tool_result'> =>
  (event.kind === 'ToolCallSettled' || event.kind === 'user.custom_tool_result') &&
  event.call_id === call_id &&
  event.batch_id === batch_id;

type Undone = Pick<CallAddress, 'batch_id' | 'call_id'>;

/** Whether the files of a call can be put back, or were. */
async function undoOf(fold: StreamFold, call: Undone, report: CallFound['report']): Promise<UndoState> {
  const changes = changesIn(report);
  if (changes.length === 0) return { state: 'none' };
  const last = fold.undos.of(call.batch_id, call.call_id);
  if (last !== undefined && last.settled === null) return { state: 'pending', position: last.requested, message: null };
  if (last?.settled?.success === true) return { state: 'done', position: last.settled.position, message: null };
  if (last !== undefined && last.settled !== null) {
    return { state: 'failed', position: last.settled.position, message: last.settled.message };
  }
  const lost = changes.find(({ before }) => before !== null && 'withheld' in before);
  if (lost === undefined) return { state: 'possible' };
  return { state: 'impossible', why: `the content of ${lost.path} before the call was not kept` };
}

export async function undoFiles(fold: StreamFold, address: CallAddress): Promise<UndoFiles> {
  const { report, undo, session_id, workspace } = await findCall(fold, address);
  return {
    undo,
    files: changesIn(report).map(({ path, before, after_digest }) => ({
      path,
      does: before === null ? 'remove' : after_digest === null ? 'put_back' : 'restore',
      bytes: before !== null && 'bytes' in before ? before.bytes : null,
    })),
    workspace,
    command: `refold undo ${session_id} ${address.call_id}${address.batch_id === null ? '' : ` --batch ${address.batch_id}`}`,
  };
}

/** Lines of one difference; the rest is counted. */
const DIFF_LINES = 2_000;

export async function changedFile(
  fold: StreamFold,
  address: CallAddress & { readonly path: string },
): Promise<ChangedFile> {
  const { explanation, report } = await findCall(fold, address);
  const change = changesIn(report).find(({ path }) => path === address.path);
  if (change === undefined) {
    throw new Refused({ code: 'not_found', message: `the call recorded no change of ${address.path}`, advice: '' });
  }
  const before = await contentBefore(fold, change);
  const after = await contentAfter(fold, change, argumentsValue(explanation.call) ?? {});
  const lines = isText(before) && isText(after) ? diffLines(before ?? '', after ?? '') : [];
  return {
    change,
    before: shownSide(before, isRef(change) ? change.before.ref : null),
    after: shownSide(after, change.after_digest),
    lines: lines.slice(0, DIFF_LINES),
    rest: Math.max(0, lines.length - DIFF_LINES),
  };
}

type Side = string | Absent | null;

const isText = (side: Side): side is string | null => side === null || typeof side === 'string';
const isRef = (change: FileChange): change is FileChange & { before: { ref: Digest; bytes: number } } =>
  change.before !== null && 'ref' in change.before;

const shownSide = (side: Side, ref: Digest | null): ShownText | Absent | null =>
  typeof side === 'string' ? cut(side, undefined, ref) : side;

async function contentBefore(fold: StreamFold, change: FileChange): Promise<Side> {
  if (change.before === null) return null;
  if (!isRef(change))
    return { absent: `its content was not kept: ${(change.before as { withheld: string }).withheld}` };
  return await textOfBlob(fold, change.before.ref);
}

/** The content after a call is recorded only where the call gives it whole, or another call has kept it since. */
async function contentAfter(
  fold: StreamFold,
  { after_digest }: FileChange,
  args: Readonly<Record<string, unknown>>,
): Promise<Side> {
  if (after_digest === null) return null;
  const given = Object.values(args).find((value) => typeof value === 'string' && digestText(value) === after_digest);
  if (typeof given === 'string') return given;
  const kept = await textOfBlob(fold, after_digest);
  return typeof kept === 'string' ? kept : { absent: 'its content after the call is not recorded, only its digest' };
}

async function textOfBlob(fold: StreamFold, ref: Digest): Promise<Side> {
  const bytes = await bytesOfBlob(fold.source, ref).catch((error: unknown) => {
    if (error instanceof Refused) return error.refusal.message;
    throw error;
  });
  if (typeof bytes === 'string') return { absent: bytes };
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return { absent: 'it is not text' };
  }
}

function diffLines(before: string, after: string): readonly DiffLine[] {
  if (before.length + after.length > PREVIEW_FILE_CHARS_MAX) return [];
  return compareTexts(before, after).flatMap(
    ({ oldStart, oldLines, newStart, newLines, lines }): readonly DiffLine[] => [
      { sign: '@', text: `-${oldStart},${oldLines} +${newStart},${newLines}` },
      ...lines.map((line): DiffLine => {
        const sign = line.slice(0, 1);
        return sign === '+' || sign === '-' ? { sign, text: line.slice(1) } : { sign: ' ', text: line.slice(1) };
      }),
    ],
  );
}
