// Where two requests first differ, for people.
import { type ExactJson, exactText, isExactObject, parseExact } from '../api/exact-json.ts';

export interface Difference {
  /** RFC 6901; empty when one of them is not JSON. */
  readonly path: string;
  readonly recorded: string;
  readonly sent: string;
}

/** Null when both are the same JSON, whatever their white space. */
export function firstDifference(recorded: string, sent: string): Difference | null {
  if (recorded === sent) return null;
  try {
    return differenceIn(parseExact(recorded), parseExact(sent), '');
  } catch {
    return { path: '', recorded: shown(recorded), sent: shown(sent) };
  }
}

function differenceIn(recorded: ExactJson | undefined, sent: ExactJson | undefined, path: string): Difference | null {
  if (Array.isArray(recorded) && Array.isArray(sent)) {
    const length = Math.max(recorded.length, sent.length);
    return firstOf([...Array(length).keys()].map(String), recorded, sent, path);
  }
  if (isExactObject(recorded) && isExactObject(sent)) {
    return firstOf([...new Set([...Object.keys(recorded), ...Object.keys(sent)])], recorded, sent, path);
  }
  const [a, b] = [textOf(recorded), textOf(sent)];
  return a === b ? null : { path, recorded: shown(a), sent: shown(b) };
}

function firstOf(names: readonly string[], recorded: object, sent: object, path: string): Difference | null {
  const field = (value: object, name: string): ExactJson | undefined =>
    Object.hasOwn(value, name) ? (value as Readonly<Record<string, ExactJson>>)[name] : undefined;
  for (const name of names) {
    const at = `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    const found = differenceIn(field(recorded, name), field(sent, name), at);
    if (found !== null) return found;
  }
  return null;
}

const textOf = (value: ExactJson | undefined): string => (value === undefined ? 'nothing' : exactText(value));

const SHOWN_CHARS = 160;

const shown = (text: string): string => (text.length <= SHOWN_CHARS ? text : `${text.slice(0, SHOWN_CHARS)}…`);
