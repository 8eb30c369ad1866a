// How the calls of a host end: their results, read while the session is folded, and who waits for them.
import { callStateOf } from '../../reducers/batch-index.ts';
import { isTerminal } from '../../reducers/call-status.ts';
import type { Attachments } from '../../schemas/content.ts';
import type { CallId, SessionId } from '../../schemas/ids.ts';
import type { EngineClient } from '../client/client.ts';
import { foldStored } from '../client/watch/stored-stream.ts';
import { batchAfter } from '../core/batch-steps.ts';
import type { FoldedEvent } from '../core/folded-event.ts';
import { type CallResult, newRunResults } from '../core/run-results.ts';

/** A call that has ended, with what the host gets of it. */
export interface EndedCall extends CallResult {
  readonly attachments: Attachments;
}

export interface CallEnds {
  /** The calls that these events ended. */
  add(events: readonly FoldedEvent[]): readonly EndedCall[];
}

export function newCallEnds(): CallEnds {
  // The results of one batch: the reader of all results would keep those of every batch before.
  let results = newRunResults();
  const told = new Set<CallId>();
  return {
    add(events) {
      const ended: EndedCall[] = [];
      for (const folded of events) {
        for (const result of results.add(folded)) {
          const { call, status } = result;
          if (!isTerminal(status) || told.has(call.call_id)) continue;
          told.add(call.call_id);
          ended.push({ ...result, attachments: attachmentsOf(folded, call.call_id) });
        }
        if (folded.after.active_tool_batch === null && told.size > 0) {
          results = newRunResults();
          told.clear();
        }
      }
      return ended;
    },
  };
}

function attachmentsOf(folded: FoldedEvent, id: CallId): Attachments {
  const batch = batchAfter(folded);
  return (batch === null ? undefined : callStateOf(batch, id)?.attachments) ?? [];
}

/** The call in the record of its session, if it has ended; the last one of this id. */
export async function findEnded(client: EngineClient, session: SessionId, id: CallId): Promise<EndedCall | null> {
  const ends = newCallEnds();
  let found: EndedCall | null = null;
  for await (const { events } of foldStored(client, session)) {
    found = ends.add(events).find(({ call }) => call.call_id === id) ?? found;
  }
  return found;
}
