// `refold deny`: refuses a call that waits for a person, with a reason or other arguments for the model.
import type { Options } from '../command.ts';
import type { Output } from '../output.ts';
import { denying } from '../people/answers.ts';
import { userName } from '../people/user-name.ts';
import { type AnswerTo, answerCall, objectOption } from '../people/waiting-calls.ts';

export const denyCommand = (to: AnswerTo, options: Options, output: Output): Promise<number> =>
  answerCall(to, 'agent.tool_use', output, (action) => {
    const instead = objectOption(options, 'instead');
    const { message } = options;
    return denying(action, userName(), {
      ...(typeof message === 'string' ? { message } : {}),
      ...(instead === undefined ? {} : { instead }),
    });
  });
