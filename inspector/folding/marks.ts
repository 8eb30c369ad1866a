// What draws the eye to an event on the bar over all positions, as one byte for each event.
import type { IngressEvent } from '../../schemas/event.ts';
import type { FoldedEvent } from '../../src/core/index.ts';
import type { MarkKind, MarksAnswer } from '../protocol.ts';

const MARK_KINDS: readonly MarkKind[] = ['run', 'turn', 'person', 'refusal', 'failure', 'change', 'fault'];

const bit = (kind: MarkKind): number => 1 << MARK_KINDS.indexOf(kind);

export const bitsOf = (kinds: readonly MarkKind[]): number => kinds.reduce((bits, kind) => bits | bit(kind), 0);

export const kindsOf = (bits: number): readonly MarkKind[] => MARK_KINDS.filter((kind) => (bits & bit(kind)) !== 0);

/** The marks that an event shows by itself. */
export function marksOf(event: IngressEvent): number {
  const { ends = [] } = event;
  const ofEnds = (ends.length > 0 ? bit('run') : 0) | (ends.some(isFailed) ? bit('failure') : 0);
  return ofEnds | (MARKS[event.kind] ?? 0) | refusalIn(event) | failureIn(event);
}

/** The same, and the calls that its plan refused. */
export function foldedMarks({ event, before, after }: FoldedEvent): number {
  const batch = after.active_tool_batch;
  const isNew = batch !== null && batch.batch_id !== before.active_tool_batch?.batch_id;
  const refused = isNew && batch.plan.rejected.length > 0 ? bit('refusal') : 0;
  // A turn that ends its run opens no batch: its calls were refused as a whole.
  const whole = event.kind === 'ToolCallsObserved' && event.calls.length > 0 && batch === null ? bit('refusal') : 0;
  return marksOf(event) | refused | whole;
}

const isFailed = ({ outcome }: { readonly outcome: string }): boolean => outcome === 'failed';

const refusalIn = (event: IngressEvent): number =>
  event.kind === 'user.tool_confirmation' && event.result === 'deny' ? bit('refusal') : 0;

function failureIn(event: IngressEvent): number {
  if (event.kind === 'user.custom_tool_result') return event.result.success ? 0 : bit('failure');
  if (event.kind === 'UndoSettled') return event.success ? 0 : bit('failure');
  if (event.kind !== 'ToolCallSettled') return 0;
  const { outcome = event.result.success ? 'succeeded' : 'failed' } = event;
  return outcome === 'failed' || outcome === 'unknown' ? bit('failure') : 0;
}

const MARKS: Readonly<Partial<Record<IngressEvent['kind'], number>>> = {
  RunRequested: bit('run') | bit('person'),
  ToolCallsObserved: bit('turn'),
  GenerateFailed: bit('failure'),
  CompactFailed: bit('failure'),
  LeaseExpired: bit('failure'),
  RunFailed: bit('failure'),
  RunSteered: bit('person'),
  FollowUpQueued: bit('person'),
  RunPaused: bit('person'),
  RunResumed: bit('person'),
  RunCancelled: bit('person'),
  'user.tool_confirmation': bit('person'),
  'user.custom_tool_result': bit('person'),
  'user.elicitation_result': bit('person'),
  'user.interrupt': bit('person'),
  UndoRequested: bit('person'),
  ToolRegistrySet: bit('change'),
  ToolsetSet: bit('change'),
  ToolsetApproved: bit('change') | bit('person'),
  ToolsetRemoved: bit('change') | bit('person'),
  ToolProfileSelected: bit('change'),
  ToolOverridesSet: bit('change'),
  SessionConfigured: bit('change'),
  ConsentPolicySet: bit('change') | bit('person'),
  RulesAdopted: bit('change'),
};

/** The marks of the events of a stream so far: a byte each. */
export interface MarkIndex {
  readonly length: number;
  /** Adds the marks of the next event. */
  add(bits: number): void;
  at(position: number): number;
  /** The nearest position with one of these marks after or before a position; null when there is none. */
  seek(from: number, direction: 'next' | 'previous', bits: number): number | null;
  /** The counts of marks in so many equal parts. */
  parts(count: number): MarksAnswer;
}

export function newMarkIndex(): MarkIndex {
  let bytes = new Uint8Array(4_096);
  let length = 0;
  return {
    get length() {
      return length;
    },
    add(bits) {
      if (length === bytes.length) {
        const grown = new Uint8Array(2 * length);
        grown.set(bytes);
        bytes = grown;
      }
      bytes[length] = bits;
      length += 1;
    },
    at: (position) => bytes[position] ?? 0,
    seek(from, direction, bits) {
      const step = direction === 'next' ? 1 : -1;
      const first = direction === 'next' ? from + 1 : Math.min(from, length) - 1;
      for (let at = first; at >= 0 && at < length; at += step) if (((bytes[at] ?? 0) & bits) !== 0) return at;
      return null;
    },
    parts: (count) => partsOf(bytes.subarray(0, length), count),
  };
}

function partsOf(bytes: Uint8Array, count: number): MarksAnswer {
  // Counted in one array: the bar asks again while the fold goes on, and a stream may have a million events.
  const kinds = MARK_KINDS.length;
  const counted = new Uint32Array(count * kinds);
  for (let position = 0; position < bytes.length; position += 1) {
    const bits = bytes[position] ?? 0;
    if (bits === 0) continue;
    const part = Math.floor((position * count) / bytes.length) * kinds;
    for (let kind = 0; kind < kinds; kind += 1) {
      if (((bits >> kind) & 1) === 1) counted[part + kind] = (counted[part + kind] ?? 0) + 1;
    }
  }
  const totals = Object.fromEntries(MARK_KINDS.map((kind) => [kind, 0])) as Record<MarkKind, number>;
  const parts = Array.from({ length: count }, (_, part) => {
    const found: Partial<Record<MarkKind, number>> = {};
    for (const [index, kind] of MARK_KINDS.entries()) {
      const number = counted[part * kinds + index] ?? 0;
      if (number === 0) continue;
      found[kind] = number;
      totals[kind] += number;
    }
    return found;
  });
  return { events: bytes.length, parts, totals };
}
