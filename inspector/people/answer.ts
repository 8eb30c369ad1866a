// A person's answer to a call that waits. It sends the digest of the arguments that were shown, so that nothing else is
// allowed; an answer that comes too late is told who was first.
import { isLeft } from 'fp-ts/lib/Either.js';
import { digestJson } from '../../schemas/canonical.ts';
import type { Ingress } from '../../schemas/event.ts';
import { unreachable } from '../../schemas/rejection.ts';
import type { EngineClient } from '../../src/client/client.ts';
import { firstAnswer, isLate } from '../../src/client/first-answer.ts';
import { must } from '../../src/client/must.ts';
import { storeContent } from '../../src/client/store-content.ts';
import { allowing, denying, fulfilling } from '../../src/core/answers.ts';
import type { RequiredAction } from '../../src/core/index.ts';
import { Refused, refusalOf } from '../folding/refused.ts';
import type { AnswerGiven, Outcome } from '../protocol.ts';
import { submitSurely } from './submit-surely.ts';
import type { WaitingCalls } from './waiting.ts';

export async function answerQuestion(
  client: EngineClient,
  { given, by, waiting }: { readonly given: AnswerGiven; readonly by: string; readonly waiting: WaitingCalls },
): Promise<Outcome> {
  const { session_id, digest, shown } = given;
  const asked = waiting.shown(digest);
  if (asked?.action.session_id !== session_id) {
    const message = `no question ${digest} of ${session_id} was shown`;
    throw new Refused({ code: 'unknown_call', message, advice: 'Read what waits again.' });
  }
  const event = await eventOf(client, given, { ...asked.action, arguments_digest: digestJson(shown) }, by);
  const submitted = await submitSurely(client, session_id, event);
  if (!isLeft(submitted)) return { taken: true, position: submitted.right.events[0]?.position ?? null, session_id };
  const refused = submitted.left;
  const first = isLate(refused)
    ? await firstAnswer(client, session_id, { ...asked.action, from: asked.version })
    : null;
  return { taken: false, refused: refusalOf(refused), first };
}

async function eventOf(client: EngineClient, given: AnswerGiven, action: RequiredAction, by: string): Promise<Ingress> {
  const { answer, preview } = given;
  switch (answer.kind) {
    case 'allow':
      return allowing(action, by, undefined, preview);
    case 'allow_for_session':
      return allowing(action, by, {}, preview);
    case 'allow_by_pattern':
      return allowing(action, by, { argument: answer.argument, pattern: answer.pattern }, preview);
    case 'deny':
      return denying(action, by, { message: answer.message });
    case 'run_instead':
      return denying(action, by, { message: answer.message, instead: answer.arguments });
    case 'fulfil': {
      const { success, text, data } = answer;
      const output = await must(storeContent(client, text));
      return fulfilling(action, by, { success, output, ...(data === null ? {} : { data }) });
    }
  }
  return unreachable(answer);
}
