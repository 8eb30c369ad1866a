// Arguments that arrive in pieces (Vertex AI, `streamFunctionCallArguments`): each piece names its place with a JSON path
// (RFC 9535) of names and indexes, and continues a text or sets a value.
import {
  type ExactJson,
  type ExactObject,
  type FilledObject,
  isExactObject,
  listIn,
  setFields,
  textIn,
} from '../api/exact-json.ts';
import { ProviderError } from '../provider.ts';

type Tree = { [key: string]: ExactJson } | ExactJson[];

/** A call whose arguments have not ended. */
export interface OpenCall {
  /** Takes the next part of this call; false when no other follows. */
  add(part: ExactObject): boolean;
  part(): ExactObject;
}

/** `first`: the part that names the call and says `willContinue`. */
export function openCall(first: ExactObject): OpenCall {
  const own: FilledObject = {};
  const beside: FilledObject = {};
  const args: { [key: string]: ExactJson } = {};
  /** The path of the text that the next piece continues. */
  let open: string | null = null;

  function add(part: ExactObject): boolean {
    const { functionCall, ...rest } = part;
    const { willContinue, partialArgs, ...fields } = isExactObject(functionCall) ? functionCall : {};
    setFields(own, fields);
    setFields(beside, rest);
    for (const piece of listIn(partialArgs)) put(piece);
    return willContinue === true;
  }

  function put(piece: ExactJson): void {
    if (!isExactObject(piece)) throw unreadable('a piece is no object');
    const path = textIn(piece['jsonPath']);
    const value = valueOf(piece);
    const continued = open === path && typeof value === 'string';
    place(args, segmentsOf(path), (before) => (continued && typeof before === 'string' ? before + value : value));
    open = piece['willContinue'] === true ? path : null;
  }

  add(first);
  return {
    add,
    part: () => ({
      ...beside,
      functionCall: { ...own, args: isExactObject(own['args']) ? { ...own['args'], ...args } : args },
    }),
  };
}

function valueOf(piece: ExactObject): ExactJson {
  for (const kind of ['stringValue', 'numberValue', 'boolValue'] as const) {
    if (piece[kind] !== undefined) return piece[kind];
  }
  return 'nullValue' in piece ? null : '';
}

const SEGMENT = /\.([^.[\]'"]+)|\[([0-9]{1,6})\]|\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]/y;
const DEPTH_MAX = 64;

function segmentsOf(path: string): readonly (string | number)[] {
  const segments: (string | number)[] = [];
  SEGMENT.lastIndex = 1;
  while (path.startsWith('$') && SEGMENT.lastIndex < path.length && segments.length < DEPTH_MAX) {
    const match = SEGMENT.exec(path);
    if (match === null) break;
    const [, name, index, single, double] = match;
    segments.push(index === undefined ? (name ?? (single ?? double ?? '').replace(/\\(.)/g, '$1')) : Number(index));
    if (SEGMENT.lastIndex === path.length) return segments;
  }
  throw unreadable(`the path ${JSON.stringify(path)}`);
}

function place(
  root: Tree,
  path: readonly (string | number)[],
  set: (before: ExactJson | undefined) => ExactJson,
): void {
  let tree = root;
  for (const [depth, segment] of path.entries()) {
    const isLast = depth === path.length - 1;
    const before = ownOf(tree, segment);
    if (isLast) assign(tree, segment, set(before));
    else if (typeof before === 'object' && before !== null) tree = before as Tree;
    else {
      const next: Tree = typeof path[depth + 1] === 'number' ? [] : {};
      assign(tree, segment, next);
      tree = next;
    }
  }
}

function ownOf(tree: Tree, segment: string | number): ExactJson | undefined {
  return Object.hasOwn(tree, segment) ? (tree as { [key: string]: ExactJson })[segment] : undefined;
}

function assign(tree: Tree, segment: string | number, value: ExactJson): void {
  if (Array.isArray(tree) !== (typeof segment === 'number') || (Array.isArray(tree) && Number(segment) > tree.length)) {
    throw unreadable(`an argument at ${JSON.stringify(segment)} has no place`);
  }
  // A `__proto__` becomes a field, as in JSON.parse.
  Object.defineProperty(tree, segment, { value, enumerable: true, configurable: true, writable: true });
}

const unreadable = (what: string): ProviderError =>
  new ProviderError('provider_retryable', `the answer is not of Gemini's form: in partialArgs, ${what}`);
