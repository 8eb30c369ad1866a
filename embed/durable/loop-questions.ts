// The calls of a session that wait for a person, as its loop asks for them.
import { must } from '../../src/client/index.ts';
import { requiredActions } from '../../src/core/index.ts';
import { type Question, answerIfWaiting, openQuestions } from '../runs/questions.ts';
import { type LoopSession, madeCall } from './loop-session.ts';

/** The open question about a call, by the id that the model gave it; null when it waits for no person. */
export async function questionAbout(loop: LoopSession, id: string): Promise<Question | null> {
  const made = madeCall(loop, id);
  if (made?.status !== 'waiting') return null;
  const open = await openQuestions(loop.client, loop.session);
  return open.find(({ call }) => call === made.call.call_id) ?? null;
}

/** None before the session is made. */
export async function waitingQuestions({ client, session }: LoopSession): Promise<readonly Question[]> {
  const found = await client.session(session)();
  const isUnknown = found._tag === 'Left' && found.left.code === 'unknown_session';
  return isUnknown ? [] : await openQuestions(client, session);
}

/** A tool that asks of itself, but not for this call. What the policy asks, a person answers. */
export async function allowUnasked(
  { client, session, log }: LoopSession,
  call: string,
  asks: () => boolean | Promise<boolean>,
): Promise<void> {
  const status = await log.until(
    () =>
      log
        .run()
        ?.calls()
        .findLast((made) => made.call.call_id === call)?.status,
  );
  if (status !== 'waiting' || (await asks())) return;
  const { state } = await must(client.session(session));
  const asked = requiredActions(state).find(({ call_id }) => call_id === call);
  if (asked?.kind !== 'agent.tool_use' || asked.consent.reasons.some((reason) => reason !== 'tool_asks')) return;
  // A person may answer at the same time.
  await answerIfWaiting(client, asked, { allow: true, by: 'needsApproval' });
}
