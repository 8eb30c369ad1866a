// `refold deny`: refuses a call that waits for a person, with a reason or other arguments for the model.
import { type Options, textOption } from '../command.ts';
import type { Output } from '../output.ts';
import { denying } from '../../core/answers.ts';
import { askApproval, askAtTerminal } from '../people/ask-approval.ts';
import { userName } from '../people/user-name.ts';
import { type AnswerTo, answerCall, objectOption } from '../people/waiting-calls.ts';

export const denyCommand = (to: AnswerTo, options: Options, output: Output): Promise<number> =>
  answerCall(to, ['agent.tool_use'], output, async (action, client) => {
    const instead = objectOption(options, 'instead');
    const message = textOption(options, 'message');
    const digest = textOption(options, 'digest');
    // A denial alone runs nothing, whichever call it meets.
    if (instead !== undefined || digest !== undefined) {
      await askApproval(action, { client, output, verb: 'deny', digest, ask: askAtTerminal(output) });
    }
    return denying(action, userName(), {
      ...(message === undefined ? {} : { message }),
      ...(instead === undefined ? {} : { instead }),
    });
  });
