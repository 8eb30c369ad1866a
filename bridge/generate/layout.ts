// The layout of a turn: read from a conversation, and cut free of secrets before it is recorded or sent.
import type { LayoutPart } from '../../schemas/model-turn.ts';
import { layoutFault } from '../providers/layout-fault.ts';
import type { MessageCall, ReplyCall, ReplyLayout } from '../providers/provider.ts';
import { redactedText } from '../secrets/redact-value.ts';
import type { Redactor } from '../secrets/redactor.ts';

type Parts = readonly LayoutPart[];

/** What the parts of a turn refer to. */
interface Turn {
  readonly text: string;
  readonly calls: readonly (MessageCall | ReplyCall)[];
}

/** The parts in a recorded text; null when it is no list of parts, or they do not fit the turn. */
export function recordedParts(recorded: string, turn: Turn): Parts | null {
  let parts: unknown;
  try {
    parts = JSON.parse(recorded);
  } catch {
    return null;
  }
  return layoutFault(parts, { textLength: turn.text.length, calls: turn.calls.length }) === null
    ? (parts as Parts)
    : null;
}

/**
 * The layout without secrets, for the turn whose text is `text` before and `redacted` after they were replaced. An item in
 * which a secret occurs vanishes, and so do the further fields of a text or a call. Null when a secret begins in one text and
 * ends in another: then the lengths of the texts are not known.
 */
export async function layoutWithout(
  layout: ReplyLayout,
  { text, redacted }: { readonly text: string; readonly redacted: string },
  redactor: Redactor,
): Promise<ReplyLayout | null> {
  let at = 0;
  const texts: string[] = [];
  const parts: LayoutPart[] = [];
  // What holds no secret has none in its parts.
  const isClean = text === redacted;
  for (const part of layout.parts) {
    if ('item' in part) {
      if ((await redactedText(part.item, redactor)) === part.item) parts.push(part);
      continue;
    }
    const kept = await withoutFields(part, redactor);
    if (!('text' in kept) || isClean) {
      parts.push(kept);
      continue;
    }
    const slice = await redactedText(text.slice(at, at + kept.text), redactor);
    at += kept.text;
    texts.push(slice);
    parts.push(slice.length === kept.text ? kept : { ...kept, text: slice.length });
  }
  if (!isClean && texts.join('') !== redacted) return null;
  const same = parts.length === layout.parts.length && parts.every((part, index) => part === layout.parts[index]);
  return same ? layout : { ...layout, parts };
}

async function withoutFields<P extends Exclude<LayoutPart, { readonly item: string }>>(
  part: P,
  redactor: Redactor,
): Promise<P> {
  if (part.with === undefined || (await redactedText(part.with, redactor)) === part.with) return part;
  const { with: _secret, ...rest } = part;
  return rest as P;
}
