// The calls of a streamed message. A delta continues the call with its index or its id, or the last one when it has neither.
import { type ExactJson, type ExactObject, isExactObject, objectIn, textIn } from '../api/exact-json.ts';
import { isBlank } from './blank.ts';

export interface CallFold {
  add(call: ExactObject): void;
  all(): readonly ExactObject[];
}

/** A call that is being joined. */
interface OpenCall {
  id: string;
  name: string;
  readonly pieces: string[];
  /** Arguments that came as a value. */
  value: ExactJson | undefined;
  /** Where its name and arguments are. */
  body: 'function' | 'custom';
  fields: ExactObject;
  bodyFields: ExactObject;
}

interface Named {
  readonly index: number | null;
  readonly id: string;
  readonly name: string;
}

export function newCallFold(): CallFold {
  const calls: OpenCall[] = [];
  const byIndex = new Map<number, OpenCall>();
  const byId = new Map<string, OpenCall>();

  /** The call that a delta continues; undefined when it begins a new one. */
  function find({ index, id, name }: Named): OpenCall | undefined {
    const sameId = id === '' ? undefined : byId.get(id);
    if (index === null) {
      if (sameId !== undefined || id !== '') return sameId;
      return name === '' ? calls.at(-1) : undefined;
    }
    const at = byIndex.get(index);
    if (at === undefined) return undefined;
    // Some servers give every call the index 0: a different id or name means a different call.
    if (id !== '' && at.id !== '' && id !== at.id) return sameId;
    return name !== '' && at.name !== '' && name !== at.name && id === '' ? undefined : at;
  }

  return {
    add(call) {
      const { id: _id, index: givenIndex, type, function: asFunction, custom, ...fields } = call;
      const isCustom = isBlank(asFunction) && isExactObject(custom);
      const { name: _name, arguments: written, input, ...bodyFields } = objectIn(isCustom ? custom : asFunction);
      const id = typeof call['id'] === 'number' ? String(call['id']) : textIn(call['id']);
      const name = textIn(objectIn(isCustom ? custom : asFunction)['name']);
      const index = typeof givenIndex === 'number' ? givenIndex : null;
      let open = find({ index, id, name });
      if (open === undefined) {
        const body = isCustom ? 'custom' : 'function';
        open = { id: '', name: '', pieces: [], value: undefined, body, fields: {}, bodyFields: {} };
        calls.push(open);
        if (index !== null) byIndex.set(index, open);
      }
      if (open.id === '') open.id = id;
      if (open.id !== '') byId.set(open.id, open);
      if (open.name === '') open.name = name;
      const given = written ?? input;
      if (typeof given === 'string') open.pieces.push(given);
      else if (given !== undefined && given !== null) open.value = given;
      const kind = isBlank(type) ? {} : { type: type as ExactJson };
      open.fields = merged(open.fields, { ...kind, ...fields });
      open.bodyFields = merged(open.bodyFields, bodyFields);
    },
    all: () => calls.map(closedCall),
  };
}

/** Later values count; most deltas have none. */
function merged(fields: ExactObject, more: ExactObject): ExactObject {
  for (const value of Object.values(more)) if (!isBlank(value)) return { ...fields, ...more };
  return fields;
}

function closedCall({ id, name, pieces, value, body, fields, bodyFields }: OpenCall): ExactObject {
  const text = pieces.join('');
  const written = text.trim() === '' ? (value ?? text) : text;
  const content = body === 'custom' ? { name, input: written } : { name, arguments: written };
  return { ...(id === '' ? {} : { id }), ...fields, [body]: { ...bodyFields, ...content } };
}
