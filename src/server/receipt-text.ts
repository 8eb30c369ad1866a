// The JSON of receipts and grants, in parts. A generate contains the open page of the transcript and the offered tools, most
// of which the generate before it contained too. So the text of a frozen value is made once and kept.
import type { Effect } from '../../schemas/effect.ts';
import type { LeaseGrant, SubmitReceipt } from '../../schemas/wire.ts';

type Parts = Generator<string, void, undefined>;

/** The answers to several submits, each in parts. */
export function* answersParts(answers: readonly Iterable<string>[]): Parts {
  for (const [index, parts] of answers.entries()) {
    yield index === 0 ? '{"answers":[' : ',';
    yield* parts;
  }
  yield answers.length === 0 ? '{"answers":[]}' : ']}';
}

export function* receiptParts({ granted, ...rest }: SubmitReceipt): Parts {
  if (granted === undefined) {
    yield JSON.stringify(rest);
    return;
  }
  yield `${opened(rest)},"granted":`;
  yield* grantParts(granted);
  yield '}';
}

export function* grantParts({ effects, plans, ...rest }: LeaseGrant): Parts {
  yield `${opened(rest)},"effects":[`;
  for (const [index, effect] of effects.entries()) {
    if (index > 0) yield ',';
    yield* effectParts(effect);
  }
  yield '],"plans":';
  yield* listParts(plans, JSON.stringify);
  yield '}';
}

function* effectParts(effect: Effect): Parts {
  if (effect.kind !== 'llm.generate') {
    yield JSON.stringify(effect);
    return;
  }
  const { tools, transcript, ...rest } = effect;
  const { open, sealed, ...head } = transcript;
  yield `${opened(rest)},"tools":${frozenText(tools)},"transcript":${opened(head)},"open":`;
  yield* listParts(open, frozenText);
  yield `,"sealed":${frozenText(sealed)}}}`;
}

function* listParts<Item>(items: readonly Item[], write: (item: Item) => string): Parts {
  for (const [index, item] of items.entries()) yield `${index === 0 ? '[' : ','}${write(item)}`;
  yield items.length === 0 ? '[]' : ']';
}

/** The JSON of a non-empty object without its last bracket. */
const opened = (value: object): string => JSON.stringify(value).slice(0, -1);

const texts = new WeakMap<object, string>();

// Values of state are deeply frozen, and their text is kept no longer than they are.
function frozenText(value: object): string {
  const known = texts.get(value);
  if (known !== undefined) return known;
  const text = JSON.stringify(value);
  if (Object.isFrozen(value)) texts.set(value, text);
  return text;
}
