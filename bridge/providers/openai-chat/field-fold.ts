// The further fields of a streamed message: reasoning, signatures, annotations, unknown ones.
import {
  type ExactJson,
  type ExactObject,
  type FilledObject,
  isExactObject,
  listIn,
  setFields,
  textIn,
} from '../api/exact-json.ts';

export interface FieldFold {
  /** Returns the thinking that the fields of a delta show. */
  add(fields: ExactObject): string;
  all(): ExactObject;
}

// These come in pieces. Of any other field the last value counts, because servers repeat them in each chunk.
const IN_PIECES = /^refusal$|^(?!.*signature).*(reasoning|thinking|thought)/;

export function newFieldFold(): FieldFold {
  const texts = new Map<string, string[]>();
  const others = new Map<string, ExactJson>();
  const details = newDetailsFold();
  const annotations: ExactJson[] = [];
  const audio = new Map<string, string[]>();
  let audioFields: FilledObject | null = null;

  function addField(name: string, value: ExactJson): void {
    if (value === null || value === '' || name === 'token_id') return;
    if (name === 'reasoning_details' && Array.isArray(value)) for (const detail of listIn(value)) details.add(detail);
    else if (name === 'annotations' && Array.isArray(value)) annotations.push(...listIn(value));
    else if (name === 'audio' && isExactObject(value)) addAudio(value);
    else if (typeof value === 'string' && (texts.has(name) || IN_PIECES.test(name))) append(texts, name, value);
    else others.set(name, value);
  }

  // An audio answer comes as one object in pieces; only its texts grow.
  function addAudio(value: ExactObject): void {
    for (const name of ['data', 'transcript']) append(audio, name, textIn(value[name]));
    setFields((audioFields ??= {}), value);
  }

  return {
    add(fields) {
      for (const name of Object.keys(fields)) addField(name, fields[name] ?? null);
      // Some servers write the same piece in two fields.
      return textIn(fields['reasoning_content']) || textIn(fields['reasoning']);
    },
    all: () => ({
      ...Object.fromEntries(others),
      ...(audioFields === null ? {} : { audio: { ...audioFields, ...joined(audio) } }),
      ...(annotations.length === 0 ? {} : { annotations }),
      ...joined(texts),
      ...details.all(),
    }),
  };
}

function append(texts: Map<string, string[]>, name: string, piece: string): void {
  const pieces = texts.get(name);
  if (pieces === undefined) texts.set(name, [piece]);
  else pieces.push(piece);
}

const joined = (texts: ReadonlyMap<string, readonly string[]>): ExactObject =>
  Object.fromEntries([...texts].map(([name, pieces]) => [name, pieces.join('')]));

/** The texts of an entry of `reasoning_details`. */
const GROWING: ReadonlySet<string> = new Set(['text', 'summary', 'data']);

/** One entry of `reasoning_details` that is being joined. */
interface Detail {
  readonly fields: Record<string, ExactJson>;
  readonly texts: Map<string, string[]>;
}

/** `reasoning_details` come in pieces with the same index and type: texts grow, any other field is the last one. */
function newDetailsFold() {
  const list: (() => ExactJson)[] = [];
  const byKey = new Map<string, Detail>();
  let last: Detail | undefined;

  function newDetail(): Detail {
    const detail: Detail = { fields: {}, texts: new Map() };
    list.push(() => ({ ...detail.fields, ...joined(detail.texts) }));
    return detail;
  }

  function add(value: ExactJson): void {
    if (!isExactObject(value)) {
      list.push(() => value);
      return;
    }
    const { index, type } = value;
    const key = `${textIn(type)} ${typeof index === 'number' ? index : ''}`;
    const following = last?.fields['type'] === type ? last : undefined;
    const detail = (typeof index === 'number' ? byKey.get(key) : following) ?? newDetail();
    byKey.set(key, detail);
    last = detail;
    for (const name of Object.keys(value)) {
      const field = value[name] ?? null;
      if (typeof field === 'string' && GROWING.has(name)) append(detail.texts, name, field);
      else if (field !== null || !Object.hasOwn(detail.fields, name)) detail.fields[name] = field;
    }
  }
  return { add, all: (): ExactObject => (list.length === 0 ? {} : { reasoning_details: list.map((read) => read()) }) };
}
