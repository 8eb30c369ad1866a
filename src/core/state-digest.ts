// The state digest: a Merkle digest over the state tree (docs/design.md, "Bytes and digests"). Frozen parts that two states
// share are digested once.
import { planHash } from '../../reducers/planner.ts';
import { canonicalText, digestJson, digestText, sortedKeys } from '../../schemas/canonical.ts';
import type { Digest } from '../../schemas/ids.ts';
import { type Json, type JsonObject, freezeJson } from '../../schemas/json.ts';
import type { ToolBatchPlan } from '../../schemas/plan.ts';
import type { SessionState } from '../../schemas/state.ts';
import { fieldName } from './field-name.ts';

/** The Merkle digest of a state. The fold returns frozen states, so their digests can be cached. */
export function stateDigest(state: SessionState): Digest {
  return rootDigest(Object.isFrozen(state) ? state : freezeJson(JSON.parse(canonicalText(state)) as SessionState));
}

/** The text that replaces a part of the state in the text of the part around it. */
type Reference = (part: Json & object) => string;

/** A part without replacements inside it: the digest of its canonical JSON. */
const whole: Reference = known((part) => `"${digestJson(part)}"`);

/** A list, written out, of parts that are each replaced. */
const listed =
  (item: Reference): Reference =>
  (part) => {
    let text = '';
    const items = part as readonly (Json & object)[];
    for (let index = 0; index < items.length; index += 1) {
      const inner = item(items[index] as Json & object);
      text += index === 0 ? inner : `,${inner}`;
    }
    return `[${text}]`;
  };

/** A list of parts that are each replaced; then the list is replaced by its digest. */
const list = (item: Reference): Reference => {
  const itemsOf = listed(item);
  return known((part) => `"${digestText(itemsOf(part))}"`);
};

/** An object with some fields replaced: the digest of its canonical JSON with these replacements. */
const object = (parts: Readonly<Record<string, Reference>>): Reference =>
  known((part) => `"${digestText(textOf(part as JsonObject, parts, canonicalText))}"`);

// A plan holds the digest of its other fields, which the planner has computed. That digest replaces the plan, together
// with the recorded one.
const plan: Reference = known((part) => {
  const { plan_hash, ...rest } = part as ToolBatchPlan & JsonObject;
  return Object.keys(rest).length === PLAN_PARTS
    ? `["${planHash(part as ToolBatchPlan)}",${JSON.stringify(plan_hash)}]`
    : whole(part);
});

/** The number of fields that `planHash` digests. */
const PLAN_PARTS = 3;

// The tree is cut at parts that change independently and at large parts that change seldom.
const PARTS: Readonly<Record<string, Reference>> = {
  active_tool_batch: object({ observed: whole, pages: listed(list(whole)), plan }),
  run: object({ config: whole, offer: whole }),
  transcript: object({ open: listed(object({ calls: whole })), sealed: whole }),
};

const roots = new WeakMap<SessionState, Digest>();

function rootDigest(state: SessionState): Digest {
  const known = roots.get(state);
  if (known !== undefined) return known;
  const made = digestText(textOf(state, PARTS, whole));
  roots.set(state, made);
  return made;
}

/** Canonical text of an object: containers are replaced by their entry in `parts`, or by `others`. */
function textOf(value: JsonObject, parts: Readonly<Record<string, Reference>>, others: Reference): string {
  let text = '';
  for (const key of sortedKeys(value)) {
    const item = value[key] as Json;
    text += text === '' ? fieldName(key) : `,${fieldName(key)}`;
    if (typeof item !== 'object' || item === null) text += typeof item === 'string' ? JSON.stringify(item) : `${item}`;
    else text += (parts[key] ?? others)(item);
  }
  return `{${text}}`;
}

/** The same reference, computed once for each frozen part. */
function known(reference: Reference): Reference {
  const made = new WeakMap<object, string>();
  return (part) => {
    const kept = made.get(part);
    if (kept !== undefined) return kept;
    const text = reference(part);
    made.set(part, text);
    return text;
  };
}

/** The flat canonical bytes (RFC 8785) of a state, which "byte-identical" compares. */
export const stateBytes = (state: SessionState): Uint8Array => new TextEncoder().encode(canonicalText(state));
