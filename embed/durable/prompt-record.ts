// Prompts on record: a digest of each message, written into the layout of the turn that answers it. A prompt repeats the one
// before it, so only what follows the common beginning is written. Beside it stand the ids that the provider gave the calls.
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
  /** The ids that the provider gave the calls of the answer, in order; null for a call without one. */
  readonly ids?: ProviderIds;
}

export type ProviderIds = readonly (string | null)[];

/** The part of a layout that records a prompt, and the provider's ids of the calls that answer it. */
export function promptPart(prompt: PromptDigests, before: PromptDigests, ids: ProviderIds): LayoutPart {
  const same = commonLength(prompt, before);
  const item: PromptItem = { refold: 'prompt', same, added: prompt.slice(same), ...(ids.length === 0 ? {} : { ids }) };
  return { item: JSON.stringify(item) };
}

interface ReadParts {
  /** Those of the framework. */
  readonly parts: readonly LayoutPart[];
  /** What they answer; null when the layout does not tell. */
  readonly prompt: PromptDigests | null;
  readonly ids: ProviderIds;
}

/** `before` is the prompt of the turn before it. */
export function readParts(parts: readonly LayoutPart[], before: PromptDigests): ReadParts {
  const last = parts.at(-1);
  const item = last !== undefined && 'item' in last ? (JSON.parse(last.item) as Partial<PromptItem> | null) : null;
  if (item?.refold !== 'prompt') return { parts, prompt: null, ids: [] };
  const { same = 0, added = [], ids = [] } = item;
  return { parts: parts.slice(0, -1), prompt: [...before.slice(0, same), ...added], ids };
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
