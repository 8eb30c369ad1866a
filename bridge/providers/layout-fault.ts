// Validates the parts of a turn: those of a provider, which is not trusted, and those of a recorded conversation.
import { isPlainObject } from '../../schemas/json.ts';

/** How much there is for the parts of a layout to name. */
export interface TurnExtent {
  /** In UTF-16 units. */
  readonly textLength: number;
  readonly calls: number;
}

/** Why this is not a list of parts that name the whole text and each call once, in order; null when it is. */
export function layoutFault(parts: unknown, { textLength, calls }: TurnExtent): string | null {
  if (!Array.isArray(parts)) return '": must be a list of parts';
  let units = 0;
  let nextCall = 0;
  for (const [index, part] of (parts as readonly unknown[]).entries()) {
    const fault = partFault(part, nextCall);
    if (fault !== null) return `/${index}${fault}`;
    const { text, call } = part as { readonly text?: number; readonly call?: number };
    units += text ?? 0;
    if (call !== undefined) nextCall += 1;
  }
  if (units !== textLength) return `": the texts have ${units} characters, and the content has ${textLength}`;
  return nextCall === calls ? null : `": the parts name ${nextCall} calls, and there are ${calls}`;
}

function partFault(part: unknown, nextCall: number): string | null {
  if (!isPlainObject(part)) return '": must be an object with "text", "call" or "item"';
  const keys = Object.keys(part).filter((key) => key !== 'with');
  const { text, call, item, with: fields } = part;
  if (keys.length !== 1 || (item !== undefined && fields !== undefined))
    return '": must have one of "text", "call", "item"';
  if (fields !== undefined && !isPlainObject(parsed(fields))) return '/with": must be the text of a JSON object';
  if (item !== undefined) return parsed(item) === undefined ? '/item": must be the text of a JSON value' : null;
  if (call !== undefined) return call === nextCall ? null : `/call": must be ${nextCall}, the index of the next call`;
  return Number.isSafeInteger(text) && (text as number) >= 0 && !Object.is(text, -0)
    ? null
    : '/text": must be a number of characters';
}

/** The value of a JSON text that survives being written as UTF-8; undefined when it is none. */
function parsed(text: unknown): unknown {
  if (typeof text !== 'string' || !text.isWellFormed()) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
