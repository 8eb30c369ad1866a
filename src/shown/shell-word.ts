// Texts in the commands that refold prints, for a person to copy into a shell. An id of a call is chosen by a model's server:
// unquoted, `a;reboot` would be a command of its own, and `--yes` an option.
import type { RequiredAction } from '../core/status.ts';

/** A text as one word of a POSIX shell. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** The commands that answer a call. */
export type AnswerVerb = 'answer' | 'approve' | 'deny';

/** The command that answers a call. `more`: further options, as they are to be typed. */
export function commandFor(
  verb: AnswerVerb,
  { call_id, session_id }: Pick<RequiredAction, 'call_id' | 'session_id'>,
  more = '',
): string {
  const options = `--session ${session_id}${more === '' ? '' : ` ${more}`}`;
  const id = shellWord(call_id);
  return call_id.startsWith('-') ? `refold ${verb} ${options} -- ${id}` : `refold ${verb} ${id} ${options}`;
}
