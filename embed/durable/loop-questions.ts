// The calls of a session that wait for a person, as its loop asks for them.
import { must } from '../../src/client/index.ts';
import { type CallResult, type RequiredAction, requiredActions } from '../../src/core/index.ts';
import { type Answer, type Question, answerIfWaiting, openQuestions } from '../runs/questions.ts';
import { type LoopSession, callsNamed } from './loop-session.ts';

/** The open question about a call, or that the call asks, by its id in the recorded turn; null when it waits for no person. */
export async function questionAbout(loop: LoopSession, id: string): Promise<Question | null> {
  // A call that asks may keep running.
  const waiting = callsNamed(loop, id).filter(({ status }) => status === 'waiting' || status === 'running');
  if (waiting.length === 0) return null;
  const open = await openQuestions(loop.client, loop.session);
  return open.find((one) => waiting.some((made) => isOf(made, one))) ?? null;
}

/** The digest of an elicitation is not that of the arguments of its call. */
const isOf = (made: CallResult, { kind, call, batch, digest }: Question): boolean =>
  isAbout(made, { call, batch, digest: kind === 'elicitation' ? made.arguments_digest : digest });

/** None before the session is made. */
export async function waitingQuestions({ client, session }: LoopSession): Promise<readonly Question[]> {
  const found = await client.session(session)();
  const isUnknown = found._tag === 'Left' && found.left.code === 'unknown_session';
  return isUnknown ? [] : await openQuestions(client, session);
}

/** A tool that asks of itself, but not for this call. What the policy asks, a person answers. */
export async function allowUnasked(loop: LoopSession, made: CallResult, asks: () => Promise<boolean>): Promise<void> {
  const { log } = loop;
  const status = await log.until(() => log.run()?.call(made)?.status);
  if (status !== 'waiting' || (await asks())) return;
  const asked = await actionAbout(loop, made);
  if (asked?.kind !== 'agent.tool_use' || asked.consent.reasons.some((reason) => reason !== 'tool_asks')) return;
  // A person may answer at the same time.
  await answerIfWaiting(loop.client, asked, { allow: true, by: 'needsApproval' });
}

/** Answers the question about this very call, if it waits for a person. */
export async function answerMadeCall(loop: LoopSession, made: CallResult, answer: Answer): Promise<void> {
  const asked = await actionAbout(loop, made);
  if (asked?.kind === 'agent.tool_use') await answerIfWaiting(loop.client, asked, answer);
}

/** The question about a call of this turn with these arguments. */
async function actionAbout({ client, session }: LoopSession, made: CallResult): Promise<RequiredAction | undefined> {
  const { state } = await must(client.session(session));
  return requiredActions(state).find((action) => isAbout(made, addressOf(action)));
}

interface Address {
  readonly call: string;
  readonly batch: string;
  readonly digest: string | null;
}

const addressOf = ({ call_id, batch_id, arguments_digest }: RequiredAction): Address => ({
  call: call_id,
  batch: batch_id,
  digest: arguments_digest,
});

const isAbout = ({ call, batch_id, arguments_digest }: CallResult, about: Address): boolean =>
  about.call === call.call_id && about.batch === batch_id && about.digest === arguments_digest;
