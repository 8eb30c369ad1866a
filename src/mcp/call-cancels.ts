// Ends calls that their host has cancelled. A question about such a call is answered with no. The fold ends running calls only with
// their run, so a call that runs ends when its host has cancelled every open call of the batch: others are not ended with it.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { Ingress } from '../../schemas/event.ts';
import type { CallId, SessionId } from '../../schemas/ids.ts';
import type { SessionState } from '../../schemas/state.ts';
import type { EngineClient } from '../client/client.ts';
import { denying, eliciting, fulfilling } from '../core/answers.ts';
import { type PersonEffect, isElicitation } from '../core/status.ts';
import { isCallOpen, openCalls, personQuestionOf } from './call-standing.ts';
import type { SessionFeed } from './feed.ts';

export interface CallCancels {
  /** Resolves when all that can be done now is recorded; does nothing for a call that has ended. */
  cancel(id: CallId, by: string): Promise<void>;
}

interface CallCancelsOptions {
  readonly client: EngineClient;
  readonly session: SessionId;
  readonly feed: SessionFeed;
}

export function newCallCancels({ client, session, feed }: CallCancelsOptions): CallCancels {
  /** Open calls that are cancelled, and by whom. */
  const cancelled = new Map<CallId, string>();
  let unread: (() => void) | null = null;

  async function submit(event: Ingress): Promise<void> {
    const submitted = await client.submit(session, { events: [event] })();
    // The call ended meanwhile, or another answer was first: the feed says so.
    if (isLeft(submitted) && submitted.left.code === 'closing') throw new Error(submitted.left.message);
  }

  /** Interrupts the run when every open call is cancelled. */
  async function interrupt(state: SessionState, by: string): Promise<boolean> {
    const { run } = state;
    if (run === null || run.ending !== null) return false;
    // Calls that a person has changed are made when the batch is over.
    const left = [...openCalls(state), ...(run.amended ?? []).map(({ call_id }) => call_id)];
    if (!left.every((id) => cancelled.has(id))) return false;
    await submit({ kind: 'user.interrupt', run_id: run.run_id, by, reason: REASON });
    return true;
  }

  function onState(state: SessionState): void {
    for (const id of cancelled.keys()) if (!isCallOpen(state, id)) cancelled.delete(id);
    const [by] = cancelled.values();
    if (by !== undefined) void interrupt(state, by).catch(() => undefined);
    else {
      unread?.();
      unread = null;
    }
  }

  return {
    async cancel(id, by) {
      const state = feed.state();
      if (!isCallOpen(state, id)) return;
      cancelled.set(id, by);
      if (await interrupt(state, by)) return;
      const action = personQuestionOf(state, id);
      if (action !== null) await submit(refusing(action, by));
      unread ??= feed.read({ onEvents: (_events, after) => onState(after), onEnd: () => undefined });
    },
  };
}

const REASON = 'the host cancelled its calls';

function refusing(action: PersonEffect, by: string): Ingress {
  if (isElicitation(action)) return eliciting(action, by, { action: 'cancel' });
  if (action.kind === 'agent.tool_use') return denying(action, by, { message: 'The host cancelled this call.' });
  return fulfilling(action, by, { success: false, output: { text: 'The host cancelled this call.' } });
}
