// The definition of a tool of a toolset, and how it differs from the approved one, as lines that a person reads before
// approving it: whole, because what is approved must be seen.
import type { WaitingTool } from '../core/compare/toolset-history.ts';
import { type PreviewLine, LEADS, added, changeLines, note } from './diff-lines.ts';
import { paint } from './paint.ts';

/** What the source says of a tool now, and what it said when it was approved; null when the tool was not approved before. */
export interface ShownDefinition extends WaitingTool {
  readonly text: string;
  readonly before: string | null;
}

/** The lines before they are made visible (`visible.ts`), which the output of a command does. */
export const definitionLines = (definition: ShownDefinition): readonly string[] =>
  definitionChanges(definition).map(painted);

/** The same with their marks, for a page. */
export function definitionChanges({ tool_id, text, before }: ShownDefinition): readonly PreviewLine[] {
  if (before === null) return [note(`${tool_id}: not approved before`), ...added(readable(text))];
  const [was, is] = [readable(before), readable(text)];
  // What the reading of JSON leaves out, such as a key that is given twice, differs in the text itself.
  return was === is ? changeLines(tool_id, before, text) : changeLines(tool_id, was, is);
}

/** JSON with a line for each field; other text as it is. */
function readable(text: string): string {
  try {
    return `${JSON.stringify(JSON.parse(text), null, 2)}\n`;
  } catch {
    return text;
  }
}

const PAINTS: Readonly<Record<PreviewLine['mark'], (line: string) => string>> = {
  note: paint.bold,
  place: paint.cyan,
  ' ': (line) => line,
  '+': paint.green,
  '-': paint.red,
  '|': (line) => line,
};

const painted = ({ mark, text }: PreviewLine): string => `  ${PAINTS[mark](LEADS[mark] + text)}`;
