// The state digest: a Merkle digest over the state tree (DESIGN section 5). The digest of an array or object is the
// SHA-256 of the canonical JSON in which every array or object directly inside it is replaced by an array of one
// string, its own digest. Frozen parts that two states share are digested once.
import { canonicalText, digestText } from '../../schemas/canonical.ts';
import type { Digest } from '../../schemas/ids.ts';
import type { Json, JsonObject } from '../../schemas/json.ts';
import type { SessionState } from '../../schemas/state.ts';

const known = new WeakMap<object, Digest>();

/** The Merkle digest of a state. States come frozen from the fold, so a digest once made stays true. */
export const stateDigest = (state: SessionState): Digest => merkleDigest(state);

/** The Merkle digest of any frozen JSON container. */
function merkleDigest(value: Json & object): Digest {
  const cached = known.get(value);
  if (cached !== undefined) return cached;
  const shallow = Array.isArray(value)
    ? value.map((item: Json) => reference(item))
    : shallowObject(value as JsonObject);
  const made = digestText(canonicalText(shallow));
  if (Object.isFrozen(value)) known.set(value, made);
  return made;
}

// Built in canonical order, which is what the encoder is fastest with.
function shallowObject(value: JsonObject): JsonObject {
  const shallow: Record<string, Json> = {};
  for (const key of Object.keys(value).sort()) shallow[key] = reference(value[key] as Json);
  return shallow;
}

const reference = (item: Json): Json => (typeof item === 'object' && item !== null ? [merkleDigest(item)] : item);

/** The flat canonical bytes (RFC 8785) of a state: what "byte-identical" compares. */
export const stateBytes = (state: SessionState): Uint8Array => new TextEncoder().encode(stateText(state));

/** The flat canonical text of a state. */
const stateText = (state: SessionState): string => canonicalText(state);
