// What a stream is held against beside its own digests: the source it was forked from, a checkpoint that was kept.
import type { CheckpointLeaf } from '../../../schemas/checkpoint.ts';
import type { Genesis } from '../../../schemas/genesis.ts';
import type { StreamRecord } from '../../../schemas/record.ts';
import { type CheckpointCheck, checkpointLines } from './audit-checkpoint.ts';
import { type LineageChecked, checkLineage, lineageLines } from './audit-lineage.ts';
import type { Source } from './audit-source.ts';

export interface Held {
  /** Null for what is no fork. */
  readonly lineage: LineageChecked | null;
  /** What the checkpoint says of it; null without a checkpoint. */
  readonly signed: { readonly leaf: CheckpointLeaf | null } | null;
  /** The first thing that speaks against the stream. */
  readonly fault: { readonly position: number; readonly what: string; readonly message: string } | null;
}

/** What else is at hand. */
export interface Against {
  readonly siblings: readonly Source[];
  readonly checkpoint: CheckpointCheck | null;
}

export interface HeldCheck {
  /** Records that were verified, in order. */
  add(record: StreamRecord): void;
  /** `whole`: the stream verifies by itself; `gone`: there is no such session. */
  finish(read: { readonly events: number; readonly whole: boolean; readonly gone: boolean }): Promise<Held>;
}

export function newHeldCheck(source: Source, { siblings, checkpoint }: Against): HeldCheck {
  const check = checkpoint?.of(source) ?? null;
  let genesis: Genesis | null = null;
  return {
    add(record) {
      if (record.kind === 'genesis') ({ genesis } = record);
      check?.add(record);
    },
    async finish({ events, whole, gone }) {
      const signed = check === null ? null : { leaf: check.leaf() };
      if (!whole && !gone) return { lineage: null, signed, fault: null };
      const lineage = genesis === null ? null : await checkLineage({ genesis, events }, source, siblings);
      return { lineage, signed, fault: check?.finish() ?? lineage?.fault ?? null };
    },
  };
}

export const heldObject = ({ lineage, signed }: Held): object => ({
  ...(lineage === null ? {} : { lineage }),
  ...(signed === null ? {} : { checkpoint: signed.leaf }),
});

/** Of a stream that is fine. */
export const heldLines = ({ lineage, signed }: Held, events: number): readonly string[] => [
  ...lineageLines(lineage),
  ...(signed === null ? [] : checkpointLines(signed.leaf, events)),
];
