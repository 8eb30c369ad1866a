// What `skills_list` and `skills_search` answer: names and descriptions, in an order that follows from the skills alone.
import { SKILLS_LISTED_MAX } from '../../schemas/limits.ts';
import type { Skill } from './read-skills.ts';

type Named = Pick<Skill, 'name' | 'description'>;

/** A page of the skills after a name, and whether there are more. */
export function skillsAfter<T extends Named>(
  skills: readonly T[],
  after: string,
): readonly [page: readonly T[], more: boolean] {
  const rest = skills.filter(({ name }) => name > after);
  return [rest.slice(0, SKILLS_LISTED_MAX), rest.length > SKILLS_LISTED_MAX];
}

/** The skills that have a word of the query, those with more of them first; a word in the name counts twice. */
export function searchSkills<T extends Named>(skills: readonly T[], query: string): readonly T[] {
  const words = [...new Set(wordsOf(query))];
  const scored = skills.map((skill) => ({ skill, score: scoreOf(skill, words) })).filter(({ score }) => score > 0);
  scored.sort((a, b) => b.score - a.score || (a.skill.name < b.skill.name ? -1 : 1));
  return scored.slice(0, SKILLS_LISTED_MAX).map(({ skill }) => skill);
}

function scoreOf({ name, description }: Named, words: readonly string[]): number {
  const [inName, inText] = [wordsOf(name), wordsOf(description)];
  const has = (texts: readonly string[], word: string): boolean => texts.some((text) => isMeant(text, word));
  return words.reduce((sum, word) => sum + (has(inName, word) ? 2 : 0) + (has(inText, word) ? 1 : 0), 0);
}

/** "form" means "forms" too; a short word means only itself. */
const isMeant = (text: string, word: string): boolean =>
  text === word || (word.length > 2 && text.startsWith(word)) || (text.length > 2 && word.startsWith(text));

const wordsOf = (text: string): readonly string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
