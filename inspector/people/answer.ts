// A person's answer to a call that waits. It sends the digest of the arguments that were shown, so that nothing else is
// allowed; an answer that comes too late is told who was first.
import { isLeft } from 'fp-ts/lib/Either.js';
import { digestJson } from '../../schemas/canonical.ts';
import type { Ingress } from '../../schemas/event.ts';
import type { SessionId } from '../../schemas/ids.ts';
import { type StreamEvent, eventsIn, versionAfter } from '../../schemas/record.ts';
import type { RejectionCode } from '../../schemas/rejection.ts';
import { unreachable } from '../../schemas/rejection.ts';
import type { EngineClient } from '../../src/client/client.ts';
import { must } from '../../src/client/must.ts';
import { storeContent } from '../../src/client/store-content.ts';
import { allowing, denying, fulfilling } from '../../src/core/answers.ts';
import type { RequiredAction } from '../../src/core/index.ts';
import { Refused, refusalOf } from '../folding/refused.ts';
import type { AnswerGiven, FirstAnswer, Outcome } from '../protocol.ts';
import { submitSurely } from './submit-surely.ts';
import type { Asked, WaitingCalls } from './waiting.ts';

type Client = Pick<EngineClient, 'submit' | 'records' | 'putBlob'>;

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
  const first = LATE.has(refused.code) ? await firstAnswer(client, session_id, asked) : null;
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

/** The refusals of an answer to a call that does not wait any more. */
const LATE: ReadonlySet<RejectionCode> = new Set<RejectionCode>([
  'batch_not_active',
  'call_already_settled',
  'not_answerable',
  'not_confirmable',
  'run_not_active',
  'unknown_call',
  'wrong_batch',
]);

/** Events that are looked at for the first answer. */
const LOOKED_AT_MAX = 20_000;

/** The first event since the question was shown that answers the call; else the first that may have taken it away. */
async function firstAnswer(
  client: Pick<Client, 'records'>,
  id: SessionId,
  { action, version }: Asked,
): Promise<FirstAnswer | null> {
  let other: FirstAnswer | null = null;
  for (let from = version; from < version + LOOKED_AT_MAX;) {
    const page = await client.records(id, from)();
    if (isLeft(page)) break;
    for (const record of page.right) {
      if (record.kind !== 'commit') continue;
      from = versionAfter(record);
      for (const recorded of eventsIn(record)) {
        if (recorded.position < version) continue;
        const found = answerIn(recorded, action);
        if (found !== null) return found;
        other ??= endIn(recorded);
      }
    }
    if (page.right.at(-1)?.kind !== 'commit') break;
  }
  return other;
}

function answerIn({ position, event }: StreamEvent, { batch_id, call_id }: RequiredAction): FirstAnswer | null {
  if (event.kind !== 'user.tool_confirmation' && event.kind !== 'user.custom_tool_result') return null;
  if (event.batch_id !== batch_id || event.call_id !== call_id) return null;
  const { at_ms, by = null } = event;
  if (event.kind === 'user.custom_tool_result') return { position, at_ms, by, what: 'answered', message: null };
  const what = event.result === 'allow' ? 'allowed' : 'denied';
  return { position, at_ms, by, what, message: event.message ?? null };
}

/** An event that takes questions away without answering one. */
function endIn({ position, event }: StreamEvent): FirstAnswer | null {
  const { at_ms } = event;
  const by = 'by' in event ? (event.by ?? null) : null;
  const what = ENDS[event.kind];
  return what === undefined ? null : { position, at_ms, by, what, message: null };
}

const ENDS: Readonly<Partial<Record<StreamEvent['event']['kind'], string>>> = {
  TimeReached: 'expired',
  'user.interrupt': 'cancelled with its run',
  RunCancelled: 'cancelled with its run',
  RunCompleted: 'cancelled with its run',
  RunFailed: 'cancelled with its run',
  ConsentPolicySet: 'decided by a new policy',
  ToolRegistrySet: 'decided by other tools',
  ToolOverridesSet: 'decided by other tools',
};
