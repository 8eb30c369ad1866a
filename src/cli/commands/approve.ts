// `refold approve`: allows a call that waits for a person, and later calls of its kind when asked to.
import type { GrantScope } from '../../../schemas/consent.ts';
import type { Options } from '../command.ts';
import { CommandFailure, type Output } from '../output.ts';
import { allowing } from '../people/answers.ts';
import { userName } from '../people/user-name.ts';
import { type AnswerTo, answerCall } from '../people/waiting-calls.ts';

export const approveCommand = (to: AnswerTo, options: Options, output: Output): Promise<number> =>
  answerCall(to, 'agent.tool_use', output, (action) => allowing(action, userName(), grantOf(options)));

function grantOf(options: Options): GrantScope | undefined {
  const { pattern, forSession } = options;
  if (typeof pattern !== 'string') return forSession === true ? {} : undefined;
  const [, argument, glob] = /^([^=]+)=(.+)$/s.exec(pattern) ?? [];
  if (argument === undefined || glob === undefined) {
    throw new CommandFailure('invalid_shape', `--pattern takes ARGUMENT=GLOB, such as path=src/**, not "${pattern}"`);
  }
  return { argument, pattern: glob };
}
