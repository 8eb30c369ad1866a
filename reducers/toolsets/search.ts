// The workflow `tools.find`: a lexical search over the effective tools that the model was not offered. Its finds are offered
// with the next generate. Scores are integers and words are found without Unicode tables, so that every runtime finds the same.
import { canonicalText } from '../../schemas/canonical.ts';
import type { ToolId } from '../../schemas/ids.ts';
import type { JsonObject } from '../../schemas/json.ts';
import {
  FINDS_DEFAULT,
  FINDS_MAX,
  FOUND_CHARS_MAX,
  FOUND_LINE_CHARS_MAX,
  QUERY_CHARS_MAX,
  QUERY_WORDS_MAX,
  SEARCHED_CHARS_MAX,
  SEARCHES_PER_BATCH_MAX,
  TOOLS_MAX,
} from '../../schemas/limits.ts';
import type { SessionState } from '../../schemas/state.ts';
import type { ToolOverrides } from '../../schemas/tool-set.ts';
import type { ToolSpec } from '../../schemas/tool-spec.ts';
import { rulesOf } from '../rules/known-rules.ts';
import { ruleText } from '../rules/rule-set.ts';

/** The searches of one batch: how many it may still make, and what they found. */
export interface SearchWork {
  left: number;
  readonly found: Set<ToolId>;
}

export const newSearchWork = (): SearchWork => ({ left: SEARCHES_PER_BATCH_MAX, found: new Set() });

/** Answers a call of the workflow and notes what it found. */
export function findTools(state: SessionState, args: JsonObject, work: SearchWork): JsonObject {
  const rules = rulesOf(state);
  work.left -= 1;
  if (work.left < 0) {
    return { tools: [], more: 0, note: ruleText(rules, 'found.too_many', { max: SEARCHES_PER_BATCH_MAX }) };
  }
  const { query, limit } = args;
  const words = searchWords(typeof query === 'string' ? query.slice(0, QUERY_CHARS_MAX) : '').slice(0, QUERY_WORDS_MAX);
  const matching = rankTools(hiddenTools(state), words);
  const most = typeof limit === 'number' ? Math.min(Math.max(Math.trunc(limit), 1), FINDS_MAX) : FINDS_DEFAULT;
  let chars = 0;
  const shown = matching.slice(0, most).filter((tool) => {
    chars += canonicalText(lineOf(tool)).length + 1;
    return chars <= FOUND_CHARS_MAX;
  });
  for (const { tool_id } of shown) work.found.add(tool_id);
  const note = ruleText(rules, shown.length === 0 ? 'found.none' : 'found.some', {});
  return { tools: shown.map(lineOf), more: matching.length - shown.length, note };
}

/** The overrides with what was found: the newest last, so that it is offered first. */
export function withFound(overrides: ToolOverrides, found: ReadonlySet<ToolId>): ToolOverrides {
  const moved = [...overrides.enable.filter((id) => !found.has(id)), ...found];
  if (moved.length <= TOOLS_MAX) return { ...overrides, enable: moved };
  // What was enabled on purpose is never dropped.
  return { ...overrides, enable: [...new Set([...overrides.enable, ...found])].slice(0, TOOLS_MAX) };
}

/** The effective tools that the model was not offered. */
function hiddenTools({ effective_tools, run }: SessionState): readonly ToolSpec[] {
  const offered = new Set((run?.offer ?? effective_tools).ordered_tools.map(({ tool_id }) => tool_id));
  return effective_tools.ordered_tools.filter(({ tool_id }) => !offered.has(tool_id));
}

/** The tools that have a word of the query, those with the highest score first, then by tool id. */
export function rankTools(tools: readonly ToolSpec[], query: readonly string[]): readonly ToolSpec[] {
  return tools
    .map((tool) => ({ tool, score: scoreOf(tool, query) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || (a.tool.tool_id < b.tool.tool_id ? -1 : 1))
    .map(({ tool }) => tool);
}

/** What one word of the query counts, where it is found best. */
const SCORES = { name: 8, nameBegins: 4, description: 2, descriptionBegins: 1 } as const;
/** A shorter word of the query stands only for itself. */
const BEGINNING_CHARS_MIN = 3;

function scoreOf(tool: ToolSpec, query: readonly string[]): number {
  const { name, description } = searchedWords(tool);
  return query.reduce((sum, word) => {
    const [inName, inDescription] = [nearest(name, word), nearest(description, word)];
    const begins = (other: string): boolean => word.length >= BEGINNING_CHARS_MIN && other.startsWith(word);
    if (inName === word) return sum + SCORES.name;
    if (begins(inName)) return sum + SCORES.nameBegins;
    if (inDescription === word) return sum + SCORES.description;
    return begins(inDescription) ? sum + SCORES.descriptionBegins : sum;
  }, 0);
}

/** Of sorted words the first that is not before this one: the word itself or one that begins with it, where there is one. */
function nearest(words: readonly string[], word: string): string {
  let [low, high] = [0, words.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((words[middle] as string) < word) low = middle + 1;
    else high = middle;
  }
  return words[low] ?? '';
}

/** Each sorted: a registry has many tools, and a batch many searches. */
interface SearchedWords {
  readonly name: readonly string[];
  readonly description: readonly string[];
}

const searched = new WeakMap<ToolSpec, SearchedWords>();

/** The words of a tool; those of a frozen spec are kept, so that who can pause may read those of many tools ahead. */
export function searchedWords(tool: ToolSpec): SearchedWords {
  const known = searched.get(tool);
  if (known !== undefined) return known;
  const made = {
    name: searchWords(`${tool.tool_name} ${tool.tool_id}`).toSorted(),
    description: searchWords(tool.description.slice(0, SEARCHED_CHARS_MAX)).toSorted(),
  };
  if (Object.isFrozen(tool)) searched.set(tool, made);
  return made;
}

/** The words of a text, in lower case and without repeats. `readFile` is two words; letters beyond ASCII stay as they are. */
export const searchWords = (text: string): readonly string[] => [
  ...new Set(
    text
      .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
      .replaceAll(/[A-Z]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) + 32))
      .match(/[a-z0-9\u0080-\uffff]+/g) ?? [],
  ),
];

const lineOf = ({ tool_name, description }: ToolSpec): JsonObject => ({
  name: tool_name,
  description: (description.split('\n', 1)[0] ?? '').slice(0, FOUND_LINE_CHARS_MAX).toWellFormed(),
});
