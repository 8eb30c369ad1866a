// The idempotency keys of a bridge's reports. A repeated report, after a lost answer or by the next bridge, has the same
// key and so gets the first answer again (docs/design.md, law 4).
import { digestText } from '../../schemas/canonical.ts';
import { EVENT_ID_CHARS_MAX, type EffectId, type EventId, brand } from '../../schemas/ids.ts';

/** `<effect>/<what>`; with the digest of the effect when it is too long for a key. An engine reserves both for its reports. */
export function eventIdOf(effectId: EffectId, what: string): EventId {
  const plain = `${effectId}/${what}`;
  // Effect ids and event ids allow the same characters.
  return brand<'EventId'>(plain.length <= EVENT_ID_CHARS_MAX ? plain : `${digestText(effectId)}/${what}`);
}
