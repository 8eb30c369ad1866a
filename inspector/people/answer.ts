// A person's answer to a call that waits. It sends the digest of what was shown, so that nothing else is answered;
// an answer that comes too late is told who was first.
import { isLeft } from 'fp-ts/lib/Either.js';
import { digestJson } from '../../schemas/canonical.ts';
import type { Ingress } from '../../schemas/event.ts';
import { unreachable } from '../../schemas/rejection.ts';
import type { EngineClient } from '../../src/client/client.ts';
import { firstAnswer, isLate } from '../../src/client/first-answer.ts';
import { must } from '../../src/client/must.ts';
import { storeContent } from '../../src/client/store-content.ts';
import { allowing, denying, eliciting, fulfilling } from '../../src/core/answers.ts';
import type { Elicitation, PersonEffect, RequiredAction } from '../../src/core/index.ts';
import { Refused, refusalOf } from '../folding/refused.ts';
import type { AnswerGiven, Outcome } from '../protocol.ts';
import { submitSurely } from './submit-surely.ts';
import type { WaitingCalls } from './waiting.ts';

export async function answerQuestion(
  client: EngineClient,
  { given, by, waiting }: { readonly given: AnswerGiven; readonly by: string; readonly waiting: WaitingCalls },
): Promise<Outcome> {
  const { session_id, digest } = given;
  const asked = waiting.shown(digest);
  if (asked?.action.session_id !== session_id) {
    const message = `no question ${digest} of ${session_id} was shown`;
    throw new Refused({ code: 'unknown_call', message, advice: 'Read what waits again.' });
  }
  const event = await eventOf(client, given, asked.action, by);
  const submitted = await submitSurely(client, session_id, event);
  if (!isLeft(submitted)) return { taken: true, position: submitted.right.events[0]?.position ?? null, session_id };
  const refused = submitted.left;
  const first = isLate(refused)
    ? await firstAnswer(client, session_id, { ...asked.action, from: asked.version })
    : null;
  return { taken: false, refused: refusalOf(refused), first };
}

async function eventOf(client: EngineClient, given: AnswerGiven, waits: PersonEffect, by: string): Promise<Ingress> {
  const { answer, preview, shown } = given;
  if (waits.kind === 'agent.elicitation') return elicited(waits, given, by);
  const action: RequiredAction = { ...waits, arguments_digest: digestJson(shown) };
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
    case 'elicitation':
      throw mismatched(`${waits.call_id} asks nothing: it waits for an answer about its arguments`);
  }
  return unreachable(answer);
}

function elicited(waits: Elicitation, { answer, shown }: AnswerGiven, by: string): Ingress {
  if (answer.kind !== 'elicitation') throw mismatched(`${waits.call_id} waits for an answer to what it asks`);
  if (digestJson(shown) !== digestJson(waits.asked)) throw mismatched(`${waits.call_id} asks something else`);
  return eliciting(waits, by, answer.result);
}

const mismatched = (message: string): Refused =>
  new Refused({ code: 'question_mismatch', message, advice: 'Read what waits again.' });
