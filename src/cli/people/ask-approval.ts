// Makes sure that a person has seen a call before it is answered: the arguments are shown whole and the person is asked, or
// the command names the question by its digest.
import { createInterface } from 'node:readline/promises';
import { paint, printable } from '../../shown/paint.ts';
import { type RequiredAction, questionDigest } from '../../core/status.ts';
import type { EngineClient } from '../../client/client.ts';
import { CommandFailure, type Output } from '../output.ts';
import { type AnswerVerb, commandFor } from '../../shown/shell-word.ts';
import { describeAction, previewOption, wholeArguments } from './describe-action.ts';
import { readSeen } from './seen-action.ts';

export interface ApprovalRequest {
  readonly client: Pick<EngineClient, 'getBlob'>;
  readonly output: Output;
  /** The command that answers. */
  readonly verb: AnswerVerb;
  /** The digest of the question that the person has seen; the person is asked when it is absent. */
  readonly digest?: string | undefined;
  /** What else the answer does, as a sentence. */
  readonly also?: string;
  /** Asks the person; absent where there is no terminal to ask at. */
  readonly ask?: ((question: string) => Promise<boolean>) | undefined;
}

/** Throws a CommandFailure, and nothing is recorded, unless a person has seen what is allowed. */
export async function askApproval(
  action: RequiredAction,
  { client, output, verb, digest, also, ask }: ApprovalRequest,
): Promise<void> {
  const question = questionDigest(action);
  if (digest === question) return;
  if (digest !== undefined) {
    const message = `--digest does not name the question that waits as ${action.call_id}: another call has this id now. Look at it: refold approvals`;
    throw new CommandFailure('arguments_mismatch', message);
  }
  const seen = await readSeen(client, action);
  const whole = wholeArguments(action, seen.storedArguments);
  if (whole === null) {
    const message = `the arguments of ${action.call_id} are stored and cannot be read, so they cannot be shown. Deny the call, or repair the blobs: refold verify --all`;
    throw new CommandFailure('unknown_blob', message);
  }
  for (const line of describeAction(action, seen)) output.line(line);
  output.line(paint.dim('  all arguments:'));
  for (const line of whole) output.line(line);
  if (also !== undefined) output.line(paint.yellow(`  ${also}`));
  if (ask === undefined) {
    const message = `there is no terminal to ask at. To answer exactly this call, with your other options: ${commandFor(verb, action, withPreview(verb, action, `--digest ${question}`))}`;
    throw new CommandFailure('confirmation_required', message);
  }
  if (!(await ask(`  ${QUESTIONS[verb]} y/N `)))
    throw new CommandFailure('not_confirmed', `${action.call_id} still waits`, 1);
}

const withPreview = (verb: AnswerVerb, action: RequiredAction, options: string): string =>
  verb === 'approve' && previewOption(action) !== '' ? `${options} ${previewOption(action)}` : options;

const QUESTIONS: Readonly<Record<AnswerVerb, string>> = {
  approve: 'allow?',
  deny: 'run your arguments instead?',
  answer: 'record your answer?',
};

/** Asks at the terminal; undefined when there is none, or when the output is for a program. */
export const askAtTerminal = ({ json }: Output): ApprovalRequest['ask'] =>
  !json && process.stdin.isTTY && process.stdout.isTTY ? isYes : undefined;

/** Whether the person at the terminal answers with yes; anything else, and the end of the input, is no. */
async function isYes(question: string): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  const ended = new AbortController();
  lines.once('close', () => ended.abort());
  try {
    return /^y(?:es)?$/i.test((await lines.question(printable(question), { signal: ended.signal })).trim());
  } catch {
    return false;
  } finally {
    lines.close();
  }
}
