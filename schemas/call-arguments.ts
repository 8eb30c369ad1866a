// The arguments of an observed call. Everything that judges, runs or shows a call reads them here, so that all of them read
// the same ones.
import { digestJson, digestText } from './canonical.ts';
import { type Content, isInline } from './content.ts';
import type { Digest } from './ids.ts';
import type { JsonObject } from './json.ts';
import type { ToolCallObserved } from './tool-call.ts';

type Observed = Pick<ToolCallObserved, 'arguments' | 'arguments_text' | 'arguments_ref'>;

/** A value; content, mostly in a blob; or the text of a model that is no JSON object, whose call never runs. */
export type CallArguments =
  | { readonly arguments: JsonObject }
  | { readonly arguments_ref: Content }
  | { readonly arguments_text: string };

/** The arguments in the one form that the call has them in; an empty object when it has none. */
export function argumentsOf(call: Observed): CallArguments {
  const { arguments: value, arguments_ref, arguments_text } = call;
  if (value !== undefined) return { arguments: value };
  if (arguments_ref !== undefined) return { arguments_ref };
  return arguments_text === undefined ? { arguments: {} } : { arguments_text };
}

/** The arguments where the fold has them as a value, else null. */
export function argumentsValue(call: Observed): JsonObject | null {
  const given = argumentsOf(call);
  return 'arguments' in given ? given.arguments : null;
}

/** What a person is shown of the arguments: the value, the text of the model, or the content that names a blob. */
export function shownArguments(call: Observed): JsonObject | Content | string {
  const given = argumentsOf(call);
  if ('arguments' in given) return given.arguments;
  return 'arguments_ref' in given ? given.arguments_ref : given.arguments_text;
}

/** The digest that binds a call to its exact arguments: the recorded one, where there is one. */
export function argumentsDigest(call: ToolCallObserved): Digest {
  if (call.arguments_digest !== undefined) return call.arguments_digest;
  const given = argumentsOf(call);
  // As a value: so the states of sessions have it that were recorded without an edge.
  return 'arguments_text' in given ? digestJson(given.arguments_text) : measuredDigest(call);
}

/** The digest that the edge records for the arguments of a call. */
export function measuredDigest(call: Observed): Digest {
  const given = argumentsOf(call);
  if ('arguments' in given) return digestJson(given.arguments);
  // Unreadable text: digested as it is.
  if ('arguments_text' in given) return digestText(given.arguments_text);
  // A blob of arguments holds their canonical text, so its digest is their digest.
  return isInline(given.arguments_ref) ? digestText(given.arguments_ref.text) : given.arguments_ref.ref;
}
