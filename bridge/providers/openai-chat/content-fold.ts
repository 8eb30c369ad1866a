// The content of a streamed message: text, or parts.
import { type ExactJson, type ExactObject, isExactObject, listIn, objectIn, textIn } from '../api/exact-json.ts';

export interface ContentFold {
  /** Returns what the content of a delta lets a person read. */
  add(content: ExactJson | undefined): { readonly text: string; readonly thinking: string };
  all(): ExactJson;
}

/** A part that is being joined: texts of its kind follow each other. */
interface OpenPart {
  readonly type: string;
  readonly texts: string[];
  readonly fields: ExactObject;
}

export function newContentFold(): ContentFold {
  const parts: (() => ExactJson)[] = [];
  let open: OpenPart | null = null;
  /** Only texts so far: the content is a text. */
  let plain = true;

  function append(type: string, text: string, fields: ExactObject): void {
    if (open?.type !== type) {
      const part: OpenPart = { type, texts: [], fields: {} };
      parts.push(() => closedPart(part));
      open = part;
    }
    open.texts.push(text);
    Object.assign(open.fields, fields);
  }

  function addPart(part: ExactJson): { text?: string; thinking?: string } {
    plain = false;
    const { type, text, ...fields } = objectIn(part);
    if (type === 'text' && typeof text === 'string') {
      append('text', text, fields);
      return { text };
    }
    const thought = thoughtIn(part);
    if (thought !== null) {
      const { thinking: _, ...further } = fields;
      append('thinking', thought, further);
      return { thinking: thought };
    }
    open = null;
    parts.push(() => (typeof part === 'string' ? { type: 'text', text: part } : part));
    return typeof part === 'string' ? { text: part } : {};
  }

  return {
    add(content) {
      if (typeof content === 'string') {
        if (content !== '') append('text', content, {});
        return { text: content, thinking: '' };
      }
      const read = listIn(content).map(addPart);
      const joined = (kind: 'text' | 'thinking'): string => read.map((part) => part[kind] ?? '').join('');
      return { text: joined('text'), thinking: joined('thinking') };
    },
    all() {
      if (parts.length === 0) return null;
      const list = parts.map((read) => read());
      return plain ? textIn((list[0] as ExactObject)['text']) : list;
    },
  };
}

const closedPart = ({ type, texts, fields }: OpenPart): ExactObject =>
  type === 'text'
    ? { type, text: texts.join(''), ...fields }
    : { type, thinking: [{ type: 'text', text: texts.join('') }], ...fields };

/** The text of a thinking part in the form of Mistral's models; null for any other part. */
function thoughtIn(part: ExactJson): string | null {
  if (!isExactObject(part) || part['type'] !== 'thinking' || !Array.isArray(part['thinking'])) return null;
  const texts = listIn(part['thinking']).map((inner) =>
    isExactObject(inner) && inner['type'] === 'text' && Object.keys(inner).length === 2 ? inner['text'] : null,
  );
  return texts.every((text) => typeof text === 'string') ? texts.join('') : null;
}
