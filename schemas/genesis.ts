// The first record of every stream: all that a fold needs besides the events and the tool package that it names, so that a
// stream replays without the release it was created with (AOS P7, "Install-Time Profile Preload").
import { type TypeOf, integer, shape } from './codec.ts';
import { ConsentPolicy } from './consent.ts';
import { Digest, SessionId, TimeMs, Position } from './ids.ts';
import { namesRules } from './rules.ts';
import { RunConfig } from './run.ts';

export const Genesis = shape(
  'Genesis',
  {
    v: integer('v', 1, 1),
    session_id: SessionId,
    created_at_ms: TimeMs,
    /** Digest of the tool package. */
    tool_package_digest: Digest,
    config: RunConfig,
    /** Which calls ask a person. */
    consent: ConsentPolicy,
    ...namesRules,
  },
  {
    /**
     * The source of a fork: the events below `position` are shared; `chain` is the source's chain value after the last
     * commit that is shared whole.
     */
    forked_from: shape('ForkedFrom', { session_id: SessionId, position: Position, chain: Digest }),
  },
);
export type Genesis = TypeOf<typeof Genesis>;
