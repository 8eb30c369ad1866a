// Prompts on record: a digest of each message, written into the layout of the turn that answers it. A prompt repeats the one
// before it, so only what follows the common beginning is written.
import { type LayoutPart, digestText, canonicalText } from '../../schemas/index.ts';
import type { Difference } from './errors.ts';
import type { PromptMessage } from './turn.ts';

/** The digests of the messages of a prompt. */
export type PromptDigests = readonly string[];

/** Enough to tell messages apart: 96 bits. */
const DIGEST_CHARS = 24;

export const digestsOf = (prompt: readonly PromptMessage[]): PromptDigests =>
  prompt.map(({ role, content }) =>
    digestText(canonicalText({ role, content })).slice('sha256:'.length, 'sha256:'.length + DIGEST_CHARS),
  );

interface PromptItem {
  readonly refold: 'prompt';
  /** How many messages are those of the prompt before it. */
  readonly same: number;
  readonly added: PromptDigests;
}

/** The part of a layout that records a prompt. */
export function promptPart(prompt: PromptDigests, before: PromptDigests): LayoutPart {
  const same = commonLength(prompt, before);
  const item: PromptItem = { refold: 'prompt', same, added: prompt.slice(same) };
  return { item: JSON.stringify(item) };
}

/** The parts of the framework, and the prompt that they answer; null when the layout has none. */
export function readParts(
  parts: readonly LayoutPart[],
  before: PromptDigests,
): { readonly parts: readonly LayoutPart[]; readonly prompt: PromptDigests | null } {
  const last = parts.at(-1);
  const item = last !== undefined && 'item' in last ? (JSON.parse(last.item) as Partial<PromptItem> | null) : null;
  if (item?.refold !== 'prompt') return { parts, prompt: null };
  const { same = 0, added = [] } = item;
  return { parts: parts.slice(0, -1), prompt: [...before.slice(0, same), ...added] };
}

/** Where a prompt first differs from the recorded one; null when it is the same. */
export function promptDifference(
  prompt: readonly PromptMessage[],
  digests: PromptDigests,
  recorded: PromptDigests,
): Omit<Difference, 'turn'> | null {
  const index = commonLength(digests, recorded);
  if (index === digests.length && index === recorded.length) return null;
  return { index, role: prompt[index]?.role ?? null, recorded: index < recorded.length };
}

/** The prompt continues the recorded one: it begins with all of its messages, and has more. */
export const continues = (prompt: PromptDigests, recorded: PromptDigests): boolean =>
  prompt.length > recorded.length && commonLength(prompt, recorded) === recorded.length;

function commonLength(some: PromptDigests, others: PromptDigests): number {
  let length = 0;
  while (length < some.length && length < others.length && some[length] === others[length]) length += 1;
  return length;
}
