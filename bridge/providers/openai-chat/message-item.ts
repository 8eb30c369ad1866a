// The further fields of a message (reasoning, annotations, unknown ones), which go back to the model that wrote them.
import { type ExactObject, exactText, isExactObject, objectIn, parseExact, textIn } from '../api/exact-json.ts';
import { foldName, foldedNames, hasAnyOf, misspells, withoutNames } from '../api/client-names.ts';
import type { Steps } from '../../../src/core/steps.ts';
import { textSteps } from '../api/long-text.ts';
import { isBlank } from './blank.ts';

const START = '{"message":';

/**
 * The item that holds the fields of a message besides its role, content and calls; null when there are none. Blank fields
 * and the ids of tokens are left out; of an audio answer, only its id is kept, as the API takes it back.
 */
export function* messageItem(message: ExactObject, refuses: boolean): Steps<string | null> {
  const { role: _r, content: _c, tool_calls: _t, function_call: _f, token_id: _i, refusal, audio, ...others } = message;
  const fields = Object.entries({
    ...withoutNames(others, OWN_FOLDED),
    ...(refuses || refusal === undefined ? {} : { refusal }),
  });
  const id = textIn(objectIn(audio)['id']);
  const kept = [...fields.filter(([, value]) => !isBlank(value)), ...(id === '' ? [] : [['audio', { id }] as const])];
  return kept.length === 0 ? null : `${START}${yield* textSteps(Object.fromEntries(kept))}}`;
}

/**
 * The JSON text of the fields in such an item, without their braces; null when the item is a part of the content. A server
 * may send a part that looks like such an item: with the fields that refold writes itself, it would make a message of the
 * system or a result out of the turn.
 */
export function fieldsOfItem(item: string): string | null {
  if (!item.startsWith(`${START}{`)) return null;
  const { message, ...others } = objectIn(parseExact(item));
  if (!isExactObject(message) || Object.keys(others).length > 0) return null;
  const names = Object.keys(message);
  return names.length > 0 && !hasAnyOf(message, OWN_FOLDED) ? exactText(message).slice(1, -1) : null;
}

/** Whether a part of the content is one that only a client sends: a result, a file, or a message of another role. */
export function isOfClient(item: string): boolean {
  const part = objectIn(parseExact(item));
  return misspells(part, ['type']) || OF_CLIENTS.has(foldName(textIn(part['type'])));
}

const OWN_FOLDED = foldedNames('role', 'content', 'tool_calls', 'function_call', 'tool_call_id');
const OF_CLIENTS = foldedNames(
  'tool_result',
  'tool_response',
  'function_response',
  'function_call_output',
  'custom_tool_call_output',
  'input_text',
  'input_image',
  'input_file',
  'input_audio',
  'file',
  'document',
  'search_result',
);
