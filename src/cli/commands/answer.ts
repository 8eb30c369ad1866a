// `refold answer`: the result of a call that a person carries out.
import { readAttachments, storeAttachments } from '../attachments.ts';
import { type Options, textOption, textsOption } from '../command.ts';
import { must } from '../../client/must.ts';
import { CommandFailure, type Output } from '../output.ts';
import { fulfilling } from '../../core/answers.ts';
import { askApproval, askAtTerminal } from '../people/ask-approval.ts';
import { userName } from '../people/user-name.ts';
import { type AnswerTo, answerCall, objectOption } from '../people/waiting-calls.ts';
import { storeContent } from '../../client/store-content.ts';

export const answerCommand = (to: AnswerTo, options: Options, output: Output): Promise<number> =>
  answerCall(to, 'agent.custom_tool_use', output, async (action, client) => {
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
