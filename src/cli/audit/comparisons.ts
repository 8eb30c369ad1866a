// What a stream is compared with besides its recorded digests: the session it was forked from, and a checkpoint.
import type { CheckpointLeaf } from '../../../schemas/checkpoint.ts';
import type { Genesis } from '../../../schemas/genesis.ts';
import type { StreamRecord } from '../../../schemas/record.ts';
import { type CheckpointCheck, checkpointLines } from './checkpoint-check.ts';
import { type LineageChecked, checkLineage, lineageLines } from './lineage-check.ts';
import type { Source } from './source.ts';

export interface Compared {
  /** Null for a stream that is not a fork. */
  readonly lineage: LineageChecked | null;
  /** What the checkpoint contains for it; null without a checkpoint. */
  readonly signed: { readonly leaf: CheckpointLeaf | null } | null;
  /** The first mismatch. */
  readonly fault: { readonly position: number; readonly what: string; readonly message: string } | null;
}

/** What streams are compared with. */
export interface ComparedWith {
  readonly siblings: readonly Source[];
  readonly checkpoint: CheckpointCheck | null;
}

export interface Comparison {
  /** Takes each record that verified, in order. */
  add(record: StreamRecord): void;
  /** `whole`: the stream itself verifies; `gone`: the session does not exist. */
  finish(read: { readonly events: number; readonly whole: boolean; readonly gone: boolean }): Promise<Compared>;
}

export function newComparison(source: Source, { siblings, checkpoint }: ComparedWith): Comparison {
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

export const comparedObject = ({ lineage, signed }: Compared): object => ({
  ...(lineage === null ? {} : { lineage }),
  ...(signed === null ? {} : { checkpoint: signed.leaf }),
});

/** The lines of a stream that verifies. */
export const comparedLines = ({ lineage, signed }: Compared, events: number): readonly string[] => [
  ...lineageLines(lineage),
  ...(signed === null ? [] : checkpointLines(signed.leaf, events)),
];
