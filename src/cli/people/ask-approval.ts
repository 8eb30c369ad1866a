// Makes sure that a person has seen a call before it is allowed: the arguments are shown whole and the person is asked, or
// the command names their digest.
import { createInterface } from 'node:readline/promises';
import pc from 'picocolors';
import type { RequiredAction } from '../../core/status.ts';
import type { EngineClient } from '../../client/client.ts';
import { CommandFailure, type Output } from '../output.ts';
import { commandFor } from '../shell-word.ts';
import { storedArguments } from '../stored-arguments.ts';
import { describeAction, wholeArguments } from './describe-action.ts';

export interface ApprovalRequest {
  readonly client: Pick<EngineClient, 'getBlob'>;
  readonly output: Output;
  /** The digest of the arguments that the person has seen; the person is asked when it is absent. */
  readonly digest?: string;
  /** What else is allowed, as a sentence; absent when it is this call alone. */
  readonly also?: string;
  /** Asks the person; absent where there is no terminal to ask at. */
  readonly ask?: ((question: string) => Promise<boolean>) | undefined;
}

/** Throws a CommandFailure, and nothing is recorded, unless a person has seen what is allowed. */
export async function askApproval(
  action: RequiredAction,
  { client, output, digest, also, ask }: ApprovalRequest,
): Promise<void> {
  if (digest === action.arguments_digest) return;
  if (digest !== undefined) {
    const message = `--digest is not that of the arguments of ${action.call_id}. Look at them again: refold approvals`;
    throw new CommandFailure('arguments_mismatch', message);
  }
  const stored = await storedArguments(client, action.arguments_ref);
  const whole = wholeArguments(action, stored);
  if (whole === null) {
    const message = `the arguments of ${action.call_id} are stored and cannot be read, so they cannot be shown. Deny the call, or repair the blobs: refold verify --all`;
    throw new CommandFailure('unknown_blob', message);
  }
  for (const line of describeAction(action, { storedArguments: stored })) output.line(line);
  output.line(pc.dim('  all arguments:'));
  for (const line of whole) output.line(line);
  if (also !== undefined) output.line(pc.yellow(`  ${also}`));
  if (ask === undefined) {
    const message = `there is no terminal to ask at. To allow exactly these arguments: ${commandFor('approve', action, `--digest ${action.arguments_digest}`)}`;
    throw new CommandFailure('confirmation_required', message);
  }
  if (!(await ask('  allow? y/N '))) throw new CommandFailure('not_confirmed', `${action.call_id} still waits`, 1);
}

/** Asks at the terminal; undefined when there is none, or when the output is for a program. */
export const askAtTerminal = ({ json }: Output): ApprovalRequest['ask'] =>
  !json && process.stdin.isTTY && process.stdout.isTTY ? isYes : undefined;

/** Whether the person at the terminal answers with yes; anything else, and the end of the input, is no. */
async function isYes(question: string): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  const ended = new AbortController();
  lines.once('close', () => ended.abort());
  try {
    return /^y(?:es)?$/i.test((await lines.question(question, { signal: ended.signal })).trim());
  } catch {
    return false;
  } finally {
    lines.close();
  }
}
