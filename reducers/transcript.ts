// The conversation: an append changes the open page only; full pages are sealed into blobs (docs/design.md, "State").
import { canonicalText, digestText } from '../schemas/canonical.ts';
import type { Attachments, Content } from '../schemas/content.ts';
import { type CallId, type Digest, brand } from '../schemas/ids.ts';
import { TRANSCRIPT_PAGES_MAX, TRANSCRIPT_PAGE_CHARS, TRANSCRIPT_PAGE_ENTRIES } from '../schemas/limits.ts';
import { freezeJson } from '../schemas/json.ts';
import type { Layout } from '../schemas/model-turn.ts';
import { invariant } from '../schemas/rejection.ts';
import type {
  ActiveToolBatch,
  SessionState,
  TranscriptEntry,
  TranscriptPage,
  TranscriptState,
} from '../schemas/state.ts';
import type { ToolCallObserved } from '../schemas/tool-call.ts';
import { callStateAt } from './batch-index.ts';
import { earlySeal, withCompactedPage } from './compaction.ts';
import type { NextState } from './next-state.ts';

export function append(next: NextState, entries: readonly TranscriptEntry[]): void {
  const { count, open } = next.transcript;
  const longer = [...open, ...entries];
  pageChars.set(longer, charsOfPage(open) + sumOf(entries));
  next.transcript = { ...next.transcript, count: count + entries.length, open: longer };
}

// The fields of entries are in canonical order, so that a sealed page is encoded fast.
export const userEntry = (content: Content, attachments?: Attachments): TranscriptEntry => ({
  ...attached(attachments),
  content,
  role: 'user',
});

/** The field of an entry or a call; without attachments there is none. */
const attached = (attachments: Attachments | undefined): { readonly attachments?: Attachments } =>
  attachments === undefined || attachments.length === 0 ? {} : { attachments };

/** The answer of the model. A call id that occurs twice is replaced, so that each result names one call. */
export function assistantEntry({ calls, content, layout }: ModelTurn): TranscriptEntry {
  return freezeJson({
    ...(calls.length === 0 ? {} : { calls: withDistinctIds(calls) }),
    ...(content === undefined ? {} : { content }),
    ...(layout === undefined ? {} : { layout }),
    role: 'assistant' as const,
  });
}

/** What the model said in one turn. */
interface ModelTurn {
  readonly calls: readonly ToolCallObserved[];
  readonly content?: Content;
  readonly layout?: Layout;
}

/** One result for every call of a batch, in call order, settled in any order (docs/design.md, law 5). */
export function resultEntries(batch: ActiveToolBatch): readonly TranscriptEntry[] {
  return withDistinctIds(batch.observed).map((call, position) => {
    const { attachments, output = null, status } = callStateAt(batch, position) ?? {};
    invariant(output !== null, 'every call of a batch that closes has a result');
    return toolEntry(call, { content: output, isError: status !== 'succeeded', ...attached(attachments) });
  });
}

/** The same refusal as the result of every call. */
export const refusalEntries = (calls: readonly ToolCallObserved[], text: string): readonly TranscriptEntry[] =>
  withDistinctIds(calls).map((call) => toolEntry(call, { content: { text }, isError: true }));

interface CallResult {
  readonly content: Content;
  readonly isError: boolean;
  readonly attachments?: Attachments;
}

const toolEntry = (call: ToolCallObserved, { content, isError, attachments }: CallResult): TranscriptEntry =>
  freezeJson({
    ...attached(attachments),
    call_id: call.call_id,
    content,
    is_error: isError,
    role: 'tool',
    tool_name: call.tool_name,
  });

function withDistinctIds(calls: readonly ToolCallObserved[]): readonly ToolCallObserved[] {
  const taken = new Set<CallId>(calls.map((call) => call.call_id));
  if (taken.size === calls.length) return calls;
  const seen = new Set<CallId>();
  return calls.map((call, index) => {
    const call_id = seen.has(call.call_id) ? freeId(call.call_id, index, taken) : call.call_id;
    seen.add(call_id);
    taken.add(call_id);
    return { ...call, call_id };
  });
}

/** An unused id for a call whose id another call of the batch has. */
function freeId(id: CallId, index: number, taken: ReadonlySet<CallId>): CallId {
  for (let tail = `~${index}`; ; tail += '~') {
    const free = brand<'CallId'>(id.slice(0, 112) + tail);
    if (!taken.has(free)) return free;
  }
}

export interface SealedPage {
  readonly ref: Digest;
  /** Canonical text of a {@link TranscriptPage}. */
  readonly text: string;
}

/**
 * Seals the open page into a blob when it is full and no batch is open (a window never begins inside a batch), or its
 * beginning when it is too long or the conversation is to be compacted. When there are too many pages, the oldest leaves
 * the window; its blob stays, linked from the page after it.
 */
export function sealTranscript(state: SessionState): {
  readonly state: SessionState;
  readonly sealed: SealedPage | null;
} {
  const { open } = state.transcript;
  if (state.active_tool_batch !== null) return { state, sealed: null };
  const early = earlySeal(state);
  const isFull = open.length >= TRANSCRIPT_PAGE_ENTRIES || charsOfPage(open) > TRANSCRIPT_PAGE_CHARS;
  const end = endWithin(open, early ?? (isFull ? open.length : 0));
  if (early === null && end === 0) return { state, sealed: null };
  const page = end === 0 ? null : sealedPage(state.transcript, end);
  const transcript = page === null ? state.transcript : windowWith(state.transcript, page.ref, end);
  const run = early === null || state.run === null ? state.run : withCompactedPage(state.run, transcript);
  return { state: freezeJson({ ...state, run, transcript }), sealed: page };
}

/** At most `end`, so that the entries before it fit one page: whole turns, at least one, because a blob has a bound. */
function endWithin(open: TranscriptState['open'], end: number): number {
  if (charsOfPage(open) <= TRANSCRIPT_PAGE_CHARS) return end;
  let chars = 0;
  let fitting = 0;
  for (const [index, entry] of open.slice(0, end).entries()) {
    chars += charsOf(entry);
    if (chars > TRANSCRIPT_PAGE_CHARS && fitting > 0) return fitting;
    // The results of a batch stay with its calls.
    if (open[index + 1]?.role !== 'tool') fitting = index + 1;
  }
  return fitting;
}

const pageChars = new WeakMap<TranscriptState['open'], number>();

/** The size of an open page, in UTF-16 units of the JSON of its entries; kept, because pages are long and do not change. */
export function charsOfPage(open: TranscriptState['open']): number {
  const known = pageChars.get(open);
  if (known !== undefined) return known;
  const chars = sumOf(open);
  pageChars.set(open, chars);
  return chars;
}

const sumOf = (entries: readonly TranscriptEntry[]): number =>
  entries.reduce((chars, entry) => chars + charsOf(entry), 0);

const entryChars = new WeakMap<TranscriptEntry, number>();

function charsOf(entry: TranscriptEntry): number {
  const known = entryChars.get(entry);
  if (known !== undefined) return known;
  const chars = JSON.stringify(entry).length;
  entryChars.set(entry, chars);
  return chars;
}

/** The first entries of the open page as a page that is linked to the one before it. */
function sealedPage({ open, sealed, summary }: TranscriptState, end: number): SealedPage {
  const page: TranscriptPage = { entries: open.slice(0, end), prev: sealed.at(-1) ?? summary?.through ?? null };
  const text = canonicalText(page);
  return { ref: digestText(text), text };
}

const windowWith = (transcript: TranscriptState, ref: Digest, end: number): TranscriptState => ({
  ...transcript,
  open: transcript.open.slice(end),
  sealed: [...transcript.sealed, ref].slice(-TRANSCRIPT_PAGES_MAX),
});
