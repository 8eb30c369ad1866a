// `refold approve`: allows a call that waits for a person, and later calls of its kind when asked to.
import type { GrantScope } from '../../../schemas/consent.ts';
import type { RequiredAction } from '../../core/status.ts';
import { type Options, textOption } from '../command.ts';
import { CommandFailure, type Output } from '../output.ts';
import { allowing } from '../people/answers.ts';
import { askApproval, askAtTerminal } from '../people/ask-approval.ts';
import { userName } from '../people/user-name.ts';
import { type AnswerTo, answerCall } from '../people/waiting-calls.ts';
import { visible } from '../../core/visible.ts';

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

/** What the grant allows from now on, in one sentence. */
export function describeGrant({ tool_name, arguments: args = {} }: RequiredAction, grant: GrantScope): string {
  const { argument, pattern } = grant;
  const begin = `until the policy is replaced, calls of ${visible(tool_name)} run without a question`;
  if (argument === undefined || pattern === undefined) return `${begin}, with any arguments`;
  const { [argument]: _granted, ...others } = args;
  const rest =
    Object.keys(others).length === 0
      ? 'there is no other argument'
      : `every other argument is exactly as in this call: ${visible(JSON.stringify(others))}`;
  return `${begin} if ${visible(argument)} matches ${visible(pattern)} and ${rest}`;
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
