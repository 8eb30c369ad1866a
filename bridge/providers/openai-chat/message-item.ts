// The further fields of a message (reasoning, annotations, unknown ones), which go back to the model that wrote them.
import { type ExactObject, exactText, objectIn, textIn } from '../api/exact-json.ts';
import { isBlank } from './blank.ts';

const START = '{"message":';

/**
 * The item that holds the fields of a message besides its role, content and calls; null when there are none. Blank fields
 * and the ids of tokens are left out; of an audio answer, only its id is kept, as the API takes it back.
 */
export function messageItem(message: ExactObject, refuses: boolean): string | null {
  const { role: _r, content: _c, tool_calls: _t, function_call: _f, token_id: _i, refusal, audio, ...others } = message;
  const fields = Object.entries({ ...others, ...(refuses || refusal === undefined ? {} : { refusal }) });
  const id = textIn(objectIn(audio)['id']);
  const kept = [...fields.filter(([, value]) => !isBlank(value)), ...(id === '' ? [] : [['audio', { id }] as const])];
  return kept.length === 0 ? null : `${START}${exactText(Object.fromEntries(kept))}}`;
}

/** The JSON text of the fields in such an item, without their braces; null when the item is a part of the content. */
export const fieldsOfItem = (item: string): string | null =>
  item.startsWith(`${START}{`) ? item.slice(START.length + 1, -2) : null;
