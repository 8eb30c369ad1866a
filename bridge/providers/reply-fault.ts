// Validates a provider's reply. Providers are not trusted to follow their type.
import { isLeft } from 'fp-ts/lib/Either.js';
import { decode } from '../../schemas/codec.ts';
import { Usage } from '../../schemas/run.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * What is wrong, and where (RFC 6901); null when the reply is valid. The arguments of a call are not checked: the engine
 * judges them.
 */
export function replyFault(reply: unknown): string | null {
  if (!isObject(reply)) return 'it must be an object with "calls"';
  const { content, calls, usage } = reply;
  if (!isTextOrAbsent(content) && content !== null) return 'at "/content": must be text';
  if (!Array.isArray(calls)) return 'at "/calls": must be a list of calls; an empty one ends the turn';
  for (const [index, call] of calls.entries()) {
    const fault = callFault(call);
    if (fault !== null) return `at "/calls/${index}${fault}`;
  }
  if (usage === undefined) return null;
  const decoded = decode(Usage, usage);
  return isLeft(decoded) ? `at "/usage${decoded.left.path}": ${decoded.left.message}` : null;
}

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

const isTextOrAbsent = (value: unknown): boolean => value === undefined || typeof value === 'string';

function callFault(call: unknown): string | null {
  if (!isObject(call)) return '": must be an object with "name"';
  if (typeof call['name'] !== 'string') return '/name": must be text';
  for (const field of ['id', 'arguments_text']) if (!isTextOrAbsent(call[field])) return `/${field}": must be text`;
  return null;
}
