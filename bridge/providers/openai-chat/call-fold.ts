// The calls of a streamed message. A delta continues the call with its index or its id, or the last one when it has neither.
import type { Steps } from '../../../src/core/steps.ts';
import { endsStep } from '../api/dialect.ts';
import {
  type ExactJson,
  type ExactObject,
  type FilledObject,
  isExactObject,
  objectIn,
  setFields,
  textIn,
} from '../api/exact-json.ts';
import { furtherFields, isBlank } from './blank.ts';
import { BODY_FIELDS, CALL_FIELDS } from './call-fields.ts';

export interface CallFold {
  add(call: ExactObject): void;
  all(): Steps<readonly ExactObject[]>;
}

/** A call that is being joined. */
interface OpenCall {
  id: string;
  type: string;
  name: string;
  readonly pieces: string[];
  /** Arguments that came as a value. */
  value: ExactJson | undefined;
  /** Where its name and arguments are. */
  body: 'function' | 'custom';
  /** Null while there are none, as in most calls. */
  fields: FilledObject | null;
  bodyFields: FilledObject | null;
}

interface Named {
  readonly index: number | null;
  readonly id: string;
  readonly name: string;
}

export function newCallFold(): CallFold {
  const calls: OpenCall[] = [];
  const byIndex = new Map<number, OpenCall>();
  /** Made when it is first needed: most servers number their calls. */
  let byId: Map<string, OpenCall> | null = null;

  function withId(id: string): OpenCall | undefined {
    if (id === '') return undefined;
    byId ??= new Map(calls.map((call) => [call.id, call]));
    return byId.get(id);
  }

  /** The call that a delta continues; undefined when it begins a new one. */
  function find({ index, id, name }: Named): OpenCall | undefined {
    if (index === null) {
      if (id !== '') return withId(id);
      return name === '' ? calls.at(-1) : undefined;
    }
    const at = byIndex.get(index);
    if (at === undefined) return undefined;
    // Some servers give every call the index 0: a different id or name means a different call.
    if (id !== '' && at.id !== '' && id !== at.id) return withId(id);
    return name !== '' && at.name !== '' && name !== at.name && id === '' ? undefined : at;
  }

  function begin(body: OpenCall['body'], index: number | null): OpenCall {
    const open = newCall(body);
    calls.push(open);
    if (index !== null) byIndex.set(index, open);
    return open;
  }

  return {
    add(call) {
      const { function: asFunction, custom, index: place } = call;
      const isCustom = isBlank(asFunction) && isExactObject(custom);
      const body = objectIn(isCustom ? custom : asFunction);
      const id = typeof call['id'] === 'number' ? String(call['id']) : textIn(call['id']);
      const name = textIn(body['name']);
      const index = typeof place === 'number' ? place : null;
      const open = find({ index, id, name }) ?? begin(isCustom ? 'custom' : 'function', index);
      if (open.id === '' && id !== '') {
        open.id = id;
        byId?.set(id, open);
      }
      if (open.name === '') open.name = name;
      addFields(open, call, body);
    },
    *all() {
      const closed: ExactObject[] = [];
      for (const call of calls) {
        closed.push(closedCall(call));
        if (endsStep(closed.length)) yield;
      }
      return closed;
    },
  };
}

function addFields(open: OpenCall, call: ExactObject, body: ExactObject): void {
  if (textIn(call['type']) !== '') open.type = textIn(call['type']);
  const given = body['arguments'] ?? body['input'];
  if (typeof given === 'string') open.pieces.push(given);
  else if (given !== undefined && given !== null) open.value = given;
  const further = furtherFields(call, CALL_FIELDS);
  if (further !== null) setFields((open.fields ??= {}), further);
  const inBody = furtherFields(body, BODY_FIELDS);
  if (inBody !== null) setFields((open.bodyFields ??= {}), inBody);
}

const newCall = (body: OpenCall['body']): OpenCall => ({
  id: '',
  type: '',
  name: '',
  pieces: [],
  value: undefined,
  body,
  fields: null,
  bodyFields: null,
});

function closedCall({ id, type, name, pieces, value, body, fields, bodyFields }: OpenCall): ExactObject {
  const text = pieces.length === 1 ? (pieces[0] as string) : pieces.join('');
  const written = text.trim() === '' ? (value ?? text) : text;
  const content = body === 'custom' ? { name, input: written } : { name, arguments: written };
  return { id, type, ...fields, [body]: bodyFields === null ? content : { ...bodyFields, ...content } };
}
