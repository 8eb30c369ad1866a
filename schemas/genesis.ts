// The record every stream begins with: all that a fold needs beside the events, so that a stream replays without the
// package it was born with (P7 section 1.1; DESIGN section 4, "Preload").
import { type TypeOf, integer, shape } from './codec.ts';
import { ConsentPolicy } from './consent.ts';
import { Digest, SessionId, TimeMs, Position } from './ids.ts';
import { RunConfig } from './run.ts';
import { ToolPackage } from './tool-set.ts';

export const Genesis = shape(
  'Genesis',
  {
    /** 2: the state digest has its second form (src/core/state-digest.ts). */
    v: integer('v', 1, 2),
    session_id: SessionId,
    created_at_ms: TimeMs,
    tool_package: ToolPackage,
    /** Digest of `tool_package`. */
    tool_package_digest: Digest,
    config: RunConfig,
  },
  {
    /** Whom calls ask. A session without it is older than consent, and asks nobody. */
    consent: ConsentPolicy,
    /** Where a forked stream comes from: it shares the events below `position`, `chain` is the source's after them. */
    forked_from: shape('ForkedFrom', { session_id: SessionId, position: Position, chain: Digest }),
  },
);
export type Genesis = TypeOf<typeof Genesis>;
