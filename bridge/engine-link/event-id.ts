// The idempotency keys of what a bridge reports. A report made again, after an answer that was lost or by the bridge
// that came after, has the same key, and so gets the first answer again (DESIGN section 2, law 4).
import { digestText } from '../../schemas/canonical.ts';
import { EVENT_ID_CHARS_MAX, type EffectId, type EventId, brand } from '../../schemas/ids.ts';

/** `<effect>/<what>`, or the digest of that where it would be too long for a key. */
export function eventIdOf(effectId: EffectId, what: string): EventId {
  const plain = `${effectId}/${what}`;
  // An effect's id is of the same characters.
  return brand<'EventId'>(plain.length <= EVENT_ID_CHARS_MAX ? plain : digestText(plain));
}
