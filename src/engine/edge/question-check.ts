// Checks the questions that calls ask, and the answers of people, before they are recorded: a question needs a schema that
// compiles, or no answer could fit it, and the verdict on an answer is a fact in its event.
import { callStateOf } from '../../../reducers/batch-index.ts';
import type { CallQuestion } from '../../../schemas/elicitation.ts';
import type { EventOfKind } from '../../../schemas/event.ts';
import { ELICITATION_ANSWER_BYTES_MAX, QUESTION_BYTES_MAX } from '../../../schemas/limits.ts';
import { type Rejection, reject } from '../../../schemas/rejection.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { SchemaVerdict } from '../../../schemas/tool-call.ts';
import { elicitationBytes } from '../../../schemas/elicitation.ts';
import type { EdgeWork } from './edge.ts';
import { checkOnce, findCompileFault } from './schema-check.ts';

type Work = Pick<EdgeWork, 'budget'>;

/** Why no answer could be checked against the question; null when one can. A question that is too large is refused later. */
export async function questionFault({ budget }: Work, question: CallQuestion): Promise<Rejection | null> {
  const { schema } = question;
  if (schema === undefined || elicitationBytes(question) > QUESTION_BYTES_MAX) return null;
  const why = await findCompileFault(schema, budget);
  const message = `the schema of the question does not compile (${why}); correct it, as JSON Schema draft 2020-12`;
  return why === null ? null : reject('question_invalid', '/question/schema', message);
}

type Answer = Omit<EventOfKind<'user.elicitation_result'>, 'v' | 'at_ms' | 'event_id'>;

/** The verdict on the content of an answer that accepts; undefined where the open question has no schema. */
export async function answerVerdict(
  { budget }: Work,
  { active_tool_batch: batch }: SessionState,
  { action, call_id, content = {}, question }: Pick<Answer, 'action' | 'call_id' | 'content' | 'question'>,
): Promise<SchemaVerdict | undefined> {
  const open = batch === null ? undefined : callStateOf(batch, call_id)?.question;
  // An answer to another question, or one that is too large, is refused whatever it says.
  if (action !== 'accept' || open?.digest !== question || open.asked.schema === undefined) return undefined;
  if (elicitationBytes({ action, content }) > ELICITATION_ANSWER_BYTES_MAX) return undefined;
  return await checkOnce(open.asked.schema, content, budget);
}
