// Validates a provider's reply. Providers are not trusted to follow their type.
import { isRight } from 'fp-ts/lib/Either.js';
import { type Codec, decode } from '../../schemas/codec.ts';
import { Layout, Stop } from '../../schemas/model-turn.ts';
import { Usage } from '../../schemas/run.ts';
import { type TurnExtent, layoutFault } from './layout-fault.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * What is wrong, and where (RFC 6901); null when the reply is valid. The arguments of a call are not checked: the engine
 * judges them.
 */
export function replyFault(reply: unknown): string | null {
  if (!isObject(reply)) return 'it must be an object with "calls"';
  const { content, calls, usage, stop, layout } = reply;
  if (!isTextOrAbsent(content) && content !== null) return 'at "/content": must be text';
  if (!Array.isArray(calls)) return 'at "/calls": must be a list of calls; an empty one ends the turn';
  for (const [index, call] of calls.entries()) {
    const fault = callFault(call);
    if (fault !== null) return `at "/calls/${index}${fault}`;
  }
  const textLength = typeof content === 'string' ? content.length : 0;
  return (
    fieldFault('usage', Usage, usage) ??
    fieldFault('stop', Stop, stop) ??
    (layout === undefined ? null : replyLayoutFault(layout, { textLength, calls: calls.length }))
  );
}

function fieldFault<A>(name: string, codec: Codec<A>, value: unknown): string | null {
  const decoded = value === undefined ? null : decode(codec, value);
  return decoded === null || isRight(decoded) ? null : `at "/${name}${decoded.left.path}": ${decoded.left.message}`;
}

function replyLayoutFault(layout: unknown, extent: TurnExtent): string | null {
  if (!isObject(layout)) return 'at "/layout": must be an object';
  const { parts, ...rest } = layout;
  const fault = layoutFault(parts, extent);
  return fieldFault('layout', Layout, { ...rest, parts: { text: '' } }) ?? (fault && `at "/layout/parts${fault}`);
}

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

const isTextOrAbsent = (value: unknown): boolean => value === undefined || typeof value === 'string';

function callFault(call: unknown): string | null {
  if (!isObject(call)) return '": must be an object with "name"';
  if (typeof call['name'] !== 'string') return '/name": must be text';
  for (const field of ['id', 'arguments_text']) if (!isTextOrAbsent(call[field])) return `/${field}": must be text`;
  return null;
}
