// Finds the texts that a fold wrote into a state: those of more than one word that came neither with the genesis record nor
// with an event. And whether a text is one of a rule set.
import { type RuleSet, type TextKey, fill } from '../../../reducers/rules/rule-set.ts';
import { FOUND_LINE_CHARS_MAX } from '../../../schemas/limits.ts';
import type { SessionState } from '../../../schemas/state.ts';

/**
 * Every text of some input, and the line that `tools_find` shows of it; without `ends` of its events: what that says is
 * written by the fold.
 */
export function textsIn(input: unknown): ReadonlySet<string> {
  const texts = new Set<string>();
  collect(input, (text) => {
    texts.add(text);
    texts.add((text.split('\n', 1)[0] ?? '').slice(0, FOUND_LINE_CHARS_MAX));
  });
  return texts;
}

/** The texts of a state that its input does not have. */
export function writtenTexts(state: SessionState, given: ReadonlySet<string>): readonly string[] {
  const written = new Set<string>();
  collect(writtenParts(state), (text) => {
    if (text.includes(' ') && !given.has(text)) written.add(text);
  });
  return [...written];
}

/** The parts of a state that are not copies of the tool package. */
const writtenParts = ({ active_tool_batch, run, run_history, transcript }: SessionState): unknown => ({
  active_tool_batch,
  run: run === null ? null : { ...run, offer: null },
  run_history,
  transcript,
});

/** Calls `found` with every text in a value. A text that is a JSON object is read: workflows answer so. */
function collect(value: unknown, found: (text: string) => void): void {
  if (typeof value === 'string') {
    const read = value.startsWith('{') ? readObject(value) : null;
    if (read === null) found(value);
    else collect(read, found);
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, item] of Object.entries(value)) if (name !== 'ends') collect(item, found);
  }
}

function readObject(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The keys of the texts of these rules that this one is an instance of; the frame of an error counts with its message. */
export function keysOf(rules: RuleSet, text: string, given: ReadonlySet<string>): readonly TextKey[] {
  const framed = matching(rules.texts.error).exec(text)?.groups;
  if (framed !== undefined) {
    const { message = '' } = framed;
    const inner = given.has(message) ? ['error' as const] : keysOf(rules, message, given);
    return inner.length === 0 ? [] : ['error', ...inner];
  }
  const keys = (Object.keys(rules.texts) as TextKey[]).filter((key) => key !== 'error');
  return keys.filter((key) => matching(rules.texts[key]).test(text));
}

const patterns = new Map<string, RegExp>();

/** Matches the texts that {@link fill} makes of a template. */
function matching(template: string): RegExp {
  const known = patterns.get(template);
  if (known !== undefined) return known;
  const names = [...template.matchAll(/\{([a-z_]+)\}/g)].map(([, name = '']) => name);
  const marks = fill(template, Object.fromEntries(names.map((name) => [name, `\0${name}\0`])));
  const source = marks
    .split('\0')
    .map((part, index) => (index % 2 === 0 ? part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&') : `(?<${part}>[^]*?)`))
    .join('');
  const made = new RegExp(`^${source}$`);
  patterns.set(template, made);
  return made;
}
