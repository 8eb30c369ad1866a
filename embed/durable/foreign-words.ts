// What a person gives a run by the engine, its loop cannot take: the loop writes its own prompts. Such a run ends, and says why,
// so that neither the person nor the loop takes the words for read.
import type { EventOfKind, RunId } from '../../schemas/index.ts';
import { must } from '../../src/client/index.ts';
import type { FoldedEvent } from '../../src/core/index.ts';
import type { LoopSession } from './loop-session.ts';
import { begunRun } from './logged-run.ts';

export interface ForeignWords {
  /** Takes each event of the session. */
  readonly see: (folded: FoldedEvent) => void;
  /** Resolves when every run that has words so far has ended, or could not. */
  readonly settled: () => Promise<void>;
}

const REASON =
  'the loop of a framework asks this model with prompts of its own: steering, an interruption with an input and follow-up runs cannot reach it';

export function newForeignWords({ client, session }: Pick<LoopSession, 'client' | 'session'>): ForeignWords {
  const ending = new Set<Promise<void>>();

  async function end(run_id: RunId): Promise<void> {
    const { state } = await must(client.session(session));
    if (state.run?.run_id !== run_id || state.run.phase === 'cancelling') return;
    await must(client.submit(session, { events: [{ kind: 'RunCancelled', run_id, reason: REASON }] }));
  }

  return {
    see(folded) {
      const run = runWithWords(folded);
      if (run === null) return;
      // It may be over by now.
      const mine = end(run).catch(() => undefined);
      ending.add(mine);
      void mine.finally(() => ending.delete(mine));
    },
    async settled() {
      await Promise.all(ending);
    },
  };
}

/** The run that was given words by this event, or was begun with them; null for any other event. */
function runWithWords(folded: FoldedEvent): RunId | null {
  const { event, after } = folded;
  const isGiven = event.kind === 'RunSteered' || (event.kind === 'user.interrupt' && hasInput(event));
  if (isGiven) return after.run?.run_id ?? null;
  return event.kind === 'RunRequested' ? null : begunRun(folded);
}

const hasInput = ({ input }: EventOfKind<'user.interrupt'>): boolean => input !== undefined;
