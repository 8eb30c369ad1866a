// The layout of a turn: read from a conversation, and cut free of secrets before it is recorded or sent.
import type { LayoutPart } from '../../schemas/model-turn.ts';
import { layoutFault } from '../providers/layout-fault.ts';
import type { MessageCall, ReplyCall, ReplyLayout } from '../providers/provider.ts';
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
export function layoutWithout(
  layout: ReplyLayout,
  { text, redacted }: { readonly text: string; readonly redacted: string },
  redactor: Redactor,
): ReplyLayout | null {
  let at = 0;
  const texts: string[] = [];
  const parts = layout.parts.flatMap((part): Parts => {
    if ('item' in part) return redactor.text(part.item) === part.item ? [part] : [];
    const kept = withoutFields(part, redactor);
    if (!('text' in kept)) return [kept];
    const slice = redactor.text(text.slice(at, at + kept.text));
    at += kept.text;
    texts.push(slice);
    return [slice.length === kept.text ? kept : { ...kept, text: slice.length }];
  });
  if (texts.join('') !== redacted) return null;
  const same = parts.length === layout.parts.length && parts.every((part, index) => part === layout.parts[index]);
  return same ? layout : { ...layout, parts };
}

function withoutFields<P extends Exclude<LayoutPart, { readonly item: string }>>(part: P, redactor: Redactor): P {
  if (part.with === undefined || redactor.text(part.with) === part.with) return part;
  const { with: _secret, ...rest } = part;
  return rest as P;
}
