// The progress of a call, for a host that asked for it.
import type { ServerContext } from '@modelcontextprotocol/server';

/** The stages of a call, of which the log says when each was reached. */
const STAGES = ['received', 'recorded', 'running', 'ended'] as const;
type Stage = (typeof STAGES)[number];

export interface CallProgress {
  tell(stage: Stage): Promise<void>;
}

/** Reports the stages of a call to a host that asked for progress; each at most once, in order. */
export function newProgress({ mcpReq }: ServerContext): CallProgress {
  const progressToken = mcpReq._meta?.progressToken;
  let reached = -1;
  return {
    async tell(stage) {
      const progress = STAGES.indexOf(stage);
      if (progressToken === undefined || progress <= reached) return;
      reached = progress;
      const params = { progressToken, progress, total: STAGES.length - 1, message: stage };
      // A host that is gone gets none.
      await mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined);
    },
  };
}
