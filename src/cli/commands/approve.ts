// `refold approve`: allows a call that waits for a person, and later calls of its kind when asked to.
import type { GrantScope } from '../../../schemas/consent.ts';
import { Digest } from '../../../schemas/ids.ts';
import { type Options, textOption } from '../command.ts';
import { CommandFailure, type Output } from '../output.ts';
import { allowing } from '../../core/answers.ts';
import { type RequiredAction, previewIn } from '../../core/status.ts';
import { askApproval, askAtTerminal } from '../people/ask-approval.ts';
import { userName } from '../people/user-name.ts';
import { type AnswerTo, answerCall } from '../people/waiting-calls.ts';
import { describeGrant } from '../../shown/describe-grant.ts';

export async function approveCommand(to: AnswerTo, options: Options, output: Output): Promise<number> {
  const grant = grantOf(options);
  let granted: string | null = null;
  const exit = await answerCall(to, ['agent.tool_use'], output, async (action, client) => {
    if (grant !== undefined) granted = describeGrant(action, grant);
    await askApproval(action, {
      client,
      output,
      verb: 'approve',
      ask: askAtTerminal(output),
      digest: textOption(options, 'digest'),
      ...(granted === null ? {} : { also: granted }),
    });
    return allowing(action, userName(), grant, previewOf(action, options));
  });
  if (granted !== null) output.line(granted);
  return exit;
}

/** The preview that the command names; else the one that the person was shown and asked about just now. */
function previewOf(action: RequiredAction, options: Options): Digest | undefined {
  const named = textOption(options, 'preview');
  if (named === undefined) {
    return textOption(options, 'digest') === undefined ? previewIn(action)?.digest : undefined;
  }
  if (Digest.is(named)) return named;
  throw new CommandFailure('invalid_shape', `--preview takes a digest, sha256:…, not "${named}"`);
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
