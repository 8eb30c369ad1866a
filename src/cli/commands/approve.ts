// `refold approve`: allows a call that waits for a person, and later calls of its kind when asked to.
import type { GrantScope } from '../../../schemas/consent.ts';
import type { RequiredAction } from '../../core/status.ts';
import { type Options, textOption } from '../command.ts';
import { CommandFailure, type Output } from '../output.ts';
import { allowing } from '../people/answers.ts';
import { askApproval, askAtTerminal } from '../people/ask-approval.ts';
import { userName } from '../people/user-name.ts';
import { type AnswerTo, answerCall } from '../people/waiting-calls.ts';
import { visible } from '../preview/visible.ts';

export function approveCommand(to: AnswerTo, options: Options, output: Output): Promise<number> {
  const grant = grantOf(options);
  const digest = textOption(options, 'digest');
  return answerCall(to, 'agent.tool_use', output, async (action, client) => {
    const also = grant === undefined ? undefined : alsoAllowed(action, grant);
    await askApproval(action, {
      client,
      output,
      ask: askAtTerminal(output),
      ...(digest === undefined ? {} : { digest }),
      ...(also === undefined ? {} : { also }),
    });
    return allowing(action, userName(), grant);
  });
}

function grantOf(options: Options): GrantScope | undefined {
  const { pattern, forSession } = options;
  if (typeof pattern !== 'string') return forSession === true ? {} : undefined;
  const [, argument, glob] = /^([^=]+)=(.+)$/s.exec(pattern) ?? [];
  if (argument === undefined || glob === undefined) {
    throw new CommandFailure('invalid_shape', `--pattern takes ARGUMENT=GLOB, such as path=src/**, not "${pattern}"`);
  }
  return { argument, pattern: glob };
}

/** What a grant allows beside the call itself. */
function alsoAllowed({ tool_name }: RequiredAction, { argument, pattern }: GrantScope): string {
  const calls = `also every later call of ${visible(tool_name)} in this session`;
  if (argument === undefined) return `${calls}, whatever its arguments`;
  return `${calls} whose ${visible(argument)} matches ${visible(pattern ?? '')} and whose other arguments are the same`;
}
