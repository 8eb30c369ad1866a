// What the parts of one opened session share.
import type { SessionId } from '../../schemas/index.ts';
import type { EngineClient } from '../../src/client/index.ts';
import type { CallResult } from '../../src/core/index.ts';
import type { LoopCalls } from './loop-calls.ts';
import type { RunLog } from './run-log.ts';

export interface LoopSession {
  readonly session: SessionId;
  readonly client: EngineClient;
  readonly log: RunLog;
  readonly calls: LoopCalls;
  /** Names the run within the session; null when the unfinished one goes on. */
  readonly name: string | null;
  /** How many turns of its run the loop has been given. */
  at: number;
}

/** What the loop asks next is a new run. */
export function leaveRun(loop: LoopSession): void {
  loop.log.leave();
  loop.at = 0;
}

/**
 * The calls of this id in the last turn that has one, among the turns that the loop has been given: one, or none. A turn that
 * is older than the ids of the session may have several.
 */
export function callsNamed({ log, at }: LoopSession, id: string): readonly CallResult[] {
  const named = (log.run()?.named(id) ?? []).filter(({ turn }) => turn <= at);
  return named.filter(({ turn }) => turn === named.at(-1)?.turn);
}
