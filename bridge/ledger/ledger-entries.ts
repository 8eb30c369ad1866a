// The entries of a ledger, folded from its lines: calls that were started and for whose settlement the engine has given no
// final answer.
import type { Ingress } from '../../schemas/event.ts';
import type { Digest, EffectId, SessionId } from '../../schemas/ids.ts';
import type { LedgerLine } from './ledger-line.ts';

export interface LedgerKey {
  /** The session of the call. */
  readonly session_id: SessionId;
  /** The call, with its attempt. */
  readonly effect_id: EffectId;
}

/** A call when it starts. */
export interface StartedCall extends LedgerKey {
  /** The plan it belongs to: the same id under another plan is another call. */
  readonly plan_hash: Digest;
  /** The epoch of the lease under which it was started. */
  readonly epoch?: number;
}

export interface LedgerEntry extends LedgerKey, Partial<Omit<StartedCall, keyof LedgerKey>> {
  /** Its settlement; null while its outcome is unknown. */
  readonly event: Ingress | null;
}

export type LedgerEntries = Map<string, LedgerEntry>;

export const entryKeyOf = ({ session_id, effect_id }: LedgerKey): string => `${session_id} ${effect_id}`;

/** Adds one line to the entries. */
export function addLine(entries: LedgerEntries, line: LedgerLine): void {
  if (line.kind === 'opened') return;
  const { session_id, effect_id } = line;
  const key = { session_id, effect_id };
  const name = entryKeyOf(key);
  if (line.kind === 'closed') {
    entries.delete(name);
    return;
  }
  if (line.kind === 'started') {
    const { kind: _, ...call } = line;
    entries.set(name, { ...call, event: null });
    return;
  }
  // The line of the start may be lost; the settlement counts without it.
  const { epoch = entries.get(name)?.epoch } = line;
  entries.set(name, { ...key, ...entries.get(name), ...(epoch === undefined ? {} : { epoch }), event: line.event });
}

export function entriesOf(lines: readonly LedgerLine[]): LedgerEntries {
  const entries: LedgerEntries = new Map();
  for (const line of lines) addLine(entries, line);
  return entries;
}

/** The fewest lines from which these entries can be folded. */
export const ledgerLinesOf = (entries: LedgerEntries): readonly LedgerLine[] =>
  [...entries.values()].flatMap(({ event, plan_hash, ...call }): readonly LedgerLine[] => {
    const { session_id, effect_id, epoch } = call;
    const under = epoch === undefined ? {} : { epoch };
    const started = plan_hash === undefined ? [] : [{ kind: 'started' as const, ...call, plan_hash }];
    return event === null ? started : [...started, { kind: 'ended' as const, session_id, effect_id, event, ...under }];
  });
