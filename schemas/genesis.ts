// The first record of every stream: all that a fold needs besides the events, so that a stream replays without the tool
// package it was created with (AOS P7, "Install-Time Profile Preload").
import { type TypeOf, integer, shape } from './codec.ts';
import { ConsentPolicy } from './consent.ts';
import { Digest, SessionId, TimeMs, Position } from './ids.ts';
import { RunConfig } from './run.ts';
import { ToolPackage } from './tool-set.ts';

export const Genesis = shape(
  'Genesis',
  {
    /** 2: the state digest has form 2 (src/core/state-digest.ts). */
    v: integer('v', 1, 2),
    session_id: SessionId,
    created_at_ms: TimeMs,
    tool_package: ToolPackage,
    /** Digest of `tool_package`. */
    tool_package_digest: Digest,
    config: RunConfig,
  },
  {
    /** Which calls ask a person. A session without it is older than consent; its calls never ask. */
    consent: ConsentPolicy,
    /** The source of a fork: the events below `position` are shared; `chain` is the source's chain value after them. */
    forked_from: shape('ForkedFrom', { session_id: SessionId, position: Position, chain: Digest }),
  },
);
export type Genesis = TypeOf<typeof Genesis>;
