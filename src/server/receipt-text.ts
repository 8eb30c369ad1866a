// The JSON text of receipts and grants. A generate contains the open page of the transcript and the offered tools, most of
// which the generate before it contained too. So the text of a frozen value is made once and kept.
import type { Effect } from '../../schemas/effect.ts';
import type { LeaseGrant, SubmitReceipt } from '../../schemas/wire.ts';

export function receiptText(receipt: SubmitReceipt): string {
  const { granted, ...rest } = receipt;
  const text = JSON.stringify(rest);
  return granted === undefined ? text : withFields(text, `"granted":${grantText(granted)}`);
}

export function grantText({ effects, ...rest }: LeaseGrant): string {
  return withFields(JSON.stringify(rest), `"effects":[${effects.map(effectText).join(',')}]`);
}

function effectText(effect: Effect): string {
  if (effect.kind !== 'llm.generate') return JSON.stringify(effect);
  const { tools, transcript, ...rest } = effect;
  const { open, sealed, ...head } = transcript;
  const pages = `"open":[${open.map(frozenText).join(',')}],"sealed":${frozenText(sealed)}`;
  const fields = `"tools":${frozenText(tools)},"transcript":${withFields(JSON.stringify(head), pages)}`;
  return withFields(JSON.stringify(rest), fields);
}

/** The JSON text of a non-empty object with more fields added. */
const withFields = (text: string, more: string): string => `${text.slice(0, -1)},${more}}`;

const texts = new WeakMap<object, string>();

// Values of state are deeply frozen, and their text is kept no longer than they are.
function frozenText(value: object): string {
  const known = texts.get(value);
  if (known !== undefined) return known;
  const text = JSON.stringify(value);
  if (Object.isFrozen(value)) texts.set(value, text);
  return text;
}
