// What a name on the command line stands for: a session or an exported file. The text alone decides, never what lies in the
// current directory: a model may have put a file with the name of its session there, and an audit would then read that file.
import { lstatSync } from 'node:fs';
import { isRight } from 'fp-ts/lib/Either.js';
import { decode } from '../../schemas/codec.ts';
import { SessionId } from '../../schemas/ids.ts';
import { CommandFailure, type Output } from './output.ts';

export type SourceName =
  | { readonly kind: 'session'; readonly id: SessionId }
  | { readonly kind: 'file'; readonly path: string };

const SESSION = 'session:';
const FILE = 'file:';

/** A file has a `/`, a suffix or the prefix `file:`; a session id with such a suffix has the prefix `session:`. */
export function sourceNameOf(text: string, output: Output): SourceName {
  if (text.startsWith(FILE)) return { kind: 'file', path: text.slice(FILE.length) };
  const isSpelledOut = text.startsWith(SESSION);
  if (!isSpelledOut && (text.includes('/') || /\.jsonl?$/.test(text))) return { kind: 'file', path: text };
  const id = decode(SessionId, isSpelledOut ? text.slice(SESSION.length) : text);
  if (!isRight(id))
    throw new CommandFailure(
      'invalid_shape',
      `"${text}" is neither a session id nor a file: a file has a "/" or ends in .jsonl or .json. List the sessions: refold sessions`,
    );
  if (!isSpelledOut && lstatSync(text, { throwIfNoEntry: false }) !== undefined)
    output.warn(`session ${id.right} is read. Here is also a file of this name, which is not; to read that: ./${text}`);
  return { kind: 'session', id: id.right };
}
