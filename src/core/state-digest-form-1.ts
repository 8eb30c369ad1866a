// Form 1 of the state digest, for sessions whose genesis record has version 1: the digest of an array or object is the
// SHA-256 of its canonical JSON in which every array or object directly inside is replaced by an array of one string, its
// digest. Every small container costs a hash, so new sessions use form 2.
import { digestText, sortedKeys } from '../../schemas/canonical.ts';
import type { Digest } from '../../schemas/ids.ts';
import type { Json, JsonObject } from '../../schemas/json.ts';
import type { SessionState } from '../../schemas/state.ts';
import { fieldName } from './field-name.ts';

const known = new WeakMap<object, Digest>();

export const stateDigestForm1 = (state: SessionState): Digest => merkleDigest(state);

/** The Merkle digest of any frozen JSON container. */
function merkleDigest(value: Json & object): Digest {
  const cached = known.get(value);
  if (cached !== undefined) return cached;
  const made = digestText(Array.isArray(value) ? textOfItems(value) : textOfFields(value as JsonObject));
  if (Object.isFrozen(value)) known.set(value, made);
  return made;
}

// The canonical text with the inner containers replaced is written directly, without building the replaced value.
function textOfItems(items: readonly Json[]): string {
  let text = '';
  for (const item of items) {
    text += text === '' ? '[' : ',';
    text += typeof item === 'object' && item !== null ? `["${merkleDigest(item)}"]` : leaf(item);
  }
  return text === '' ? '[]' : `${text}]`;
}

function textOfFields(value: JsonObject): string {
  let text = '';
  for (const key of sortedKeys(value)) {
    const item = value[key] as Json;
    text += text === '' ? '{' : ',';
    text +=
      typeof item === 'object' && item !== null
        ? `${fieldName(key)}["${merkleDigest(item)}"]`
        : fieldName(key) + leaf(item);
  }
  return text === '' ? '{}' : `${text}}`;
}

const leaf = (item: Json): string => (typeof item === 'string' ? JSON.stringify(item) : `${item as null}`);
