// `refold answer`: the result of a call that a person carries out, or the answer to what a call asks.
import { readAttachments, storeAttachments } from '../attachments.ts';
import { type Options, textOption, textsOption } from '../command.ts';
import { must } from '../../client/must.ts';
import { CommandFailure, type Output } from '../output.ts';
import { ElicitationAction, type ElicitationAnswer } from '../../../schemas/elicitation.ts';
import type { Ingress } from '../../../schemas/event.ts';
import { eliciting, fulfilling } from '../../core/answers.ts';
import { type Elicitation, questionDigest } from '../../core/status.ts';
import { visible } from '../../shown/visible.ts';
import { describeQuestion } from '../people/describe-question.ts';
import { commandFor } from '../../shown/shell-word.ts';
import { askApproval, askAtTerminal } from '../people/ask-approval.ts';
import { userName } from '../people/user-name.ts';
import { type AnswerTo, answerCall, objectOption } from '../people/waiting-calls.ts';
import { storeContent } from '../../client/store-content.ts';

export const answerCommand = (to: AnswerTo, options: Options, output: Output): Promise<number> =>
  answerCall(to, ['agent.custom_tool_use', 'agent.elicitation'], output, async (action, client) => {
    if (action.kind === 'agent.elicitation') return await answerQuestion(action, options, output);
    const data = objectOption(options, 'data');
    const { text } = options;
    if (typeof text !== 'string' && data === undefined) {
      throw new CommandFailure('invalid_shape', 'no answer is given. Give --text "…", or --data \'{…}\'');
    }
    const digest = textOption(options, 'digest');
    await askApproval(action, { client, output, verb: 'answer', digest, ask: askAtTerminal(output) });
    const answer = typeof text === 'string' ? text : JSON.stringify(data);
    const attached = await storeAttachments(client, await readAttachments(textsOption(options, 'attach')));
    const content = await must(storeContent(client, answer));
    const success = options['failed'] !== true;
    const result = { success, output: content, ...attached, ...(data === undefined ? {} : { data }) };
    return fulfilling(action, userName(), result);
  });

/** The answer to what a call asks, which the person has seen: it is named by its digest, or shown and confirmed now. */
async function answerQuestion(question: Elicitation, options: Options, output: Output): Promise<Ingress> {
  const answer = answerOf(options);
  const digest = textOption(options, 'digest');
  const isSeen = digest === questionDigest(question);
  if (digest !== undefined && !isSeen) {
    const message = `--digest does not name the question that "${visible(question.call_id)}" asks now. Look at it: refold approvals`;
    throw new CommandFailure('question_mismatch', message);
  }
  if (!isSeen) await confirmShown(question, output);
  return eliciting(question, userName(), answer);
}

async function confirmShown(question: Elicitation, output: Output): Promise<void> {
  for (const line of describeQuestion(question)) output.line(line);
  const ask = askAtTerminal(output);
  if (ask === undefined) {
    const command = commandFor('answer', question, `--digest ${questionDigest(question)}`);
    const message = `there is no terminal to ask at. To answer exactly this question, with your other options: ${command}`;
    throw new CommandFailure('confirmation_required', message);
  }
  if (!(await ask('  record your answer? y/N ')))
    throw new CommandFailure('not_confirmed', `${visible(question.call_id)} still waits`, 1);
}

function answerOf(options: Options): ElicitationAnswer {
  const action = textOption(options, 'action') ?? 'accept';
  const content = objectOption(options, 'data');
  if (!ElicitationAction.is(action)) {
    throw new CommandFailure('invalid_shape', `--action takes accept, decline or cancel, not "${action}"`);
  }
  if (content !== undefined && action !== 'accept') {
    throw new CommandFailure('invalid_shape', '--data goes with --action accept; leave one of them out');
  }
  return content === undefined ? { action } : { action, content };
}
