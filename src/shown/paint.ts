// Colours of refold's own output. A colour is a pair of marks around its text, which `printable` turns into the sequences of a
// terminal. A mark holds a key that is drawn anew by each process, so no text of a model, a file or a command can hold one:
// whatever else is in a line, line ends included, is printed as visible characters.
import pc from 'picocolors';
import { visible } from './visible.ts';

const KEY = [...crypto.getRandomValues(new Uint32Array(4))].map((word) => word.toString(36)).join('');
const MARK = new RegExp(`<${KEY}:([0-9]+)>`);
const markOf = (code: number): string => `<${KEY}:${code}>`;

type Painter = (text: string | number) => string;

/** The code that begins each, and the one that ends it (ECMA-48, section 8.3.117). */
const CODES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  magenta: [35, 39],
  cyan: [36, 39],
} as const;

export type Paint = Readonly<Record<keyof typeof CODES, Painter>>;

export function createPaint(colors: boolean): Paint {
  const painter = ([open, close]: readonly [number, number]): Painter => {
    const [begin, end] = [markOf(open), markOf(close)];
    // What is painted inside ends its own colour, and this one goes on.
    return (text) => (colors ? `${begin}${String(text).replaceAll(end, end + begin)}${end}` : String(text));
  };
  return Object.fromEntries(Object.entries(CODES).map(([name, codes]) => [name, painter(codes)])) as Paint;
}

/** Whether this process prints colours: standard output is a terminal, or the environment says so. */
export const PRINTS_COLORS: boolean = pc.isColorSupported;

export const paint: Paint = createPaint(PRINTS_COLORS);

/** One line for a terminal: colours of `paint`, and every other control character as a visible one. */
export const printable = (line: string): string =>
  line
    .split(MARK)
    .map((part, index) => (index % 2 === 0 ? visible(part) : `\u001b[${part}m`))
    .join('');
