// `refold approve`: allows a call that waits for a person, and later calls of its kind when asked to.
import type { GrantScope } from '../../../schemas/consent.ts';
import { type Options, textOption } from '../command.ts';
import { CommandFailure, type Output } from '../output.ts';
import { allowing } from '../../core/answers.ts';
import { askApproval, askAtTerminal } from '../people/ask-approval.ts';
import { userName } from '../people/user-name.ts';
import { type AnswerTo, answerCall } from '../people/waiting-calls.ts';
import { describeGrant } from '../../shown/describe-grant.ts';

export async function approveCommand(to: AnswerTo, options: Options, output: Output): Promise<number> {
  const grant = grantOf(options);
  let granted: string | null = null;
  const exit = await answerCall(to, 'agent.tool_use', output, async (action, client) => {
    if (grant !== undefined) granted = describeGrant(action, grant);
    await askApproval(action, {
      client,
      output,
      verb: 'approve',
      ask: askAtTerminal(output),
      digest: textOption(options, 'digest'),
      ...(granted === null ? {} : { also: granted }),
    });
    return allowing(action, userName(), grant);
  });
  if (granted !== null) output.line(granted);
  return exit;
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
