// JSON that loses nothing: a number that a double cannot hold keeps its text, and a text may be spliced into a request
// unparsed. Provider items (signatures, encrypted reasoning, unknown kinds) go back byte for byte in meaning.

/** JSON text that is written as it is: a number that a double would change, or a whole item. */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A value of JSON, whose numbers may be {@link RawJson}. */
export type ExactJson = null | boolean | number | string | RawJson | readonly ExactJson[] | ExactObject;
export interface ExactObject {
  readonly [key: string]: ExactJson;
}

// Sixteen digits, an exponent, or a negative zero, where a number may stand (RFC 8259: after `:`, `,` or `[`, or alone). Any other
// number is printed as it was read. A match inside a string costs time, not truth; without the place before it, the ids and
// signatures of most responses would match.
const MAY_CHANGE = /[:,[](?:[-0-9]|\s+[-0-9])(?:[0-9.]{15}|[0-9.]*[eE]|(?<=-)0(?:\.0+)?(?![0-9.]))/;

/** Parses JSON text; throws a SyntaxError when it is not JSON. */
export function parseExact(text: string): ExactJson {
  const value = JSON.parse(text) as ExactJson;
  if (typeof value === 'number') return leafOf(text.trim());
  return MAY_CHANGE.test(text) ? withRawNumbers(text) : value;
}

const TOKEN = /-?[0-9][-+.0-9eE]*|[[\]{}:,]|true|false|null/y;

/** The tokens of valid JSON text. Strings are scanned by hand: a pattern would use the stack for each character of a long one. */
function* tokensOf(text: string): Generator<string> {
  for (let at = 0; at < text.length;) {
    TOKEN.lastIndex = at;
    const end = text[at] === '"' ? stringEnd(text, at) : TOKEN.test(text) ? TOKEN.lastIndex : -1;
    if (end !== -1) yield text.slice(at, end);
    at = end === -1 ? at + 1 : end;
  }
}

/** Behind the first quote after `start` that no backslash escapes. */
function stringEnd(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); ; at = text.indexOf('"', at + 1)) {
    let before = at - 1;
    while (text[before] === '\\') before -= 1;
    if ((at - before) % 2 === 1) return at + 1;
  }
}

// The text is valid JSON, so that its tokens alone describe it. Nesting is followed with a stack of our own.
function withRawNumbers(text: string): ExactJson {
  type Open = { readonly list: ExactJson[] } | { readonly fields: Record<string, ExactJson>; key: string | null };
  const open: Open[] = [];
  let result: ExactJson = null;
  const put = (value: ExactJson): void => {
    const into = open.at(-1);
    if (into === undefined) result = value;
    else if ('list' in into) into.list.push(value);
    else {
      setOwn(into.fields, into.key ?? '', value);
      into.key = null;
    }
  };
  for (const token of tokensOf(text)) {
    const into = open.at(-1);
    if (token === '{' || token === '[') {
      const next: Open = token === '[' ? { list: [] } : { fields: {}, key: null };
      put('list' in next ? next.list : next.fields);
      open.push(next);
    } else if (token === '}' || token === ']') open.pop();
    else if (token === ':' || token === ',') continue;
    else if (token.startsWith('"')) {
      const string = JSON.parse(token) as string;
      if (into !== undefined && 'fields' in into && into.key === null) into.key = string;
      else put(string);
    } else put(leafOf(token));
  }
  return result;
}

function leafOf(token: string): ExactJson {
  const value = JSON.parse(token) as null | boolean | number;
  return typeof value !== 'number' || JSON.stringify(value) === token ? value : new RawJson(token);
}

/** An object that events fill in place. Copied with each event, it would cost the square of a stream's length. */
export type FilledObject = Record<string, ExactJson>;

/** Sets the fields of `from` in `into`. */
export function setFields(into: FilledObject, from: ExactObject): void {
  for (const key of Object.keys(from)) setOwn(into, key, from[key] ?? null);
}

/** A `__proto__` of the text becomes a field, as in JSON.parse. */
function setOwn(fields: FilledObject, key: string, value: ExactJson): void {
  if (key === '__proto__') {
    Object.defineProperty(fields, key, { value, enumerable: true, configurable: true, writable: true });
  } else fields[key] = value;
}

/** The JSON text of a value. Lone surrogates are escaped, so the text is always well-formed; undefined fields are left out. */
export function exactText(value: ExactJson): string {
  if (value instanceof RawJson) return value.text;
  if (typeof value !== 'object' || value === null || isFlat(value)) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${(value as readonly ExactJson[]).map(exactText).join(',')}]`;
  let text = '';
  for (const key of Object.keys(value)) {
    const field = (value as ExactObject)[key];
    if (field !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${exactText(field)}`;
  }
  return `{${text}}`;
}

/** Nothing inside that must be written by itself: the whole is written in one go. */
function isFlat(value: readonly ExactJson[] | ExactObject): boolean {
  if (Array.isArray(value)) return (value as readonly ExactJson[]).every(isLeaf);
  const fields = value as ExactObject;
  for (const key in fields) if (!isLeaf(fields[key])) return false;
  return true;
}

const isLeaf = (value: ExactJson | undefined): boolean => typeof value !== 'object' || value === null;

export const isExactObject = (value: unknown): value is ExactObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof RawJson);

export const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');
export const listIn = (value: unknown): readonly ExactJson[] => (Array.isArray(value) ? (value as ExactJson[]) : []);
export const objectIn = (value: unknown): ExactObject => (isExactObject(value) ? value : {});

/** What a table says of a word that a server chose, which may be the name of a method of objects. */
export const entryOf = <V>(table: Readonly<Record<string, V>>, word: string): V | undefined =>
  Object.hasOwn(table, word) ? table[word] : undefined;

/** A count of tokens; anything else that a server writes there counts as none. */
export const countIn = (value: unknown): number =>
  Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : 0;
