// The calls of a reply in the form in which the engine accepts them: every call gets a unique id, and the arguments that
// the model wrote are passed on unchanged. The engine judges them.
import { CallId, brand } from '../../schemas/ids.ts';
import { type Json, isJson, isPlainObject } from '../../schemas/json.ts';
import {
  BODY_BYTES_MAX,
  CALLS_PER_BATCH_MAX,
  CUT_ARGUMENTS_CHARS,
  OBSERVED_BYTES_MAX,
  OBSERVED_VALUES_MAX,
} from '../../schemas/limits.ts';
import type { ToolCallObserved } from '../../schemas/tool-call.ts';
import type { Steps } from '../../src/core/steps.ts';
import { firstChars } from '../engine-link/text-content.ts';
import { jsonSizeAtMost } from '../engine-link/json-size.ts';
import { textSteps } from '../providers/api/long-text.ts';
import { ProviderError, type ReplyCall } from '../providers/provider.ts';

/**
 * Throws a {@link ProviderError} when the calls exceed what one batch may hold, or do not fit into one report. Calls of usual
 * sizes take one step.
 */
export function* toObservedCalls(turn: number, calls: readonly ReplyCall[]): Steps<readonly ToolCallObserved[]> {
  if (calls.length > CALLS_PER_BATCH_MAX) {
    throw new ProviderError(
      'provider_terminal',
      `the model made ${calls.length} calls; the maximum is ${CALLS_PER_BATCH_MAX}`,
    );
  }
  const ids = distinctIds(turn, calls);
  const observed = calls.map((call, index): ToolCallObserved => {
    const call_id = ids[index] as CallId;
    const tool_name = firstChars(call.name.toWellFormed(), 256);
    const named = { call_id, tool_name, ...argumentsOf(call) };
    return call.id === undefined || call.id === call_id ? named : { ...named, provider_call_id: providerId(call.id) };
  });
  return yield* fit(observed);
}

/** The provider's id when it is valid and new in this batch, else `call-<turn>-<index>`. */
function distinctIds(turn: number, calls: readonly ReplyCall[]): readonly CallId[] {
  const used = new Set<string>();
  const given = new Set(calls.map(({ id }) => id));
  return calls.map(({ id }, index) => {
    const usable = CallId.is(id) && !used.has(id);
    let callId: string = usable ? id : `call-${turn}-${index}`;
    if (!usable) while (given.has(callId) || used.has(callId)) callId += '~';
    used.add(callId);
    return brand<'CallId'>(callId);
  });
}

const providerId = (id: string): string => firstChars(id.toWellFormed(), 256);

type Arguments = Pick<ToolCallObserved, 'arguments' | 'arguments_text'>;

function argumentsOf({ arguments: value, arguments_text }: ReplyCall): Arguments {
  if (arguments_text !== undefined) return { arguments_text: bounded(arguments_text.toWellFormed()) };
  if (value === undefined) return { arguments: {} };
  if (isPlainObject(value) && isJson(value)) return { arguments: value };
  return { arguments_text: bounded(textOfValue(value).toWellFormed()) };
}

function textOfValue(value: Json): string {
  try {
    return JSON.stringify(value) ?? 'undefined';
  } catch {
    return 'arguments that are not JSON';
  }
}

const bounded = (text: string): string => (text.length < BODY_BYTES_MAX ? text : cut(text));

// The cut text is not JSON, so the call is answered with `tool_invalid_args`, and the model can correct it.
const cut = (text: string): string =>
  `${firstChars(text, CUT_ARGUMENTS_CHARS)}… (cut: the arguments are too long, ${text.length} characters)`;

/**
 * Sends arguments as text when all calls together have more values than one report may hold: the engine reads the text of
 * each call by itself.
 */
function* withFewValues(observed: readonly ToolCallObserved[]): Steps<readonly ToolCallObserved[]> {
  if (marksOf(observed, OBSERVED_VALUES_MAX) <= OBSERVED_VALUES_MAX) return observed;
  const texts: ToolCallObserved[] = [];
  for (const { arguments: value, ...rest } of observed) {
    texts.push(value === undefined ? rest : { ...rest, arguments_text: bounded(yield* textSteps(value)) });
  }
  return texts;
}

/** The commas and opening brackets of a value as JSON. Above `most` it stops. */
function marksOf(value: unknown, most: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  const items: readonly unknown[] = Object.values(value);
  let marks = Math.max(1, items.length);
  for (let index = 0; index < items.length && marks <= most; index += 1) marks += marksOf(items[index], most - marks);
  return marks;
}

/** Cuts the largest arguments until all calls fit into one report. */
function* fit(given: readonly ToolCallObserved[]): Steps<readonly ToolCallObserved[]> {
  const observed = yield* withFewValues(given);
  if (jsonSizeAtMost(observed, OBSERVED_BYTES_MAX) <= OBSERVED_BYTES_MAX) return observed;
  const sizes: number[] = [];
  const written = { chars: 0 };
  for (const call of observed) sizes.push(Buffer.byteLength(yield* textSteps(call, written)));
  let total = sizes.reduce((sum, size) => sum + size, 0);
  if (total <= OBSERVED_BYTES_MAX) return observed;
  const fitted = [...observed];
  const largestFirst = [...sizes.keys()].sort((a, b) => (sizes[b] as number) - (sizes[a] as number));
  for (const index of largestFirst) {
    if (total <= OBSERVED_BYTES_MAX) break;
    const { arguments: value, arguments_text, ...rest } = fitted[index] as ToolCallObserved;
    const smaller = { ...rest, arguments_text: cut(arguments_text ?? (yield* textSteps(value ?? null))) };
    fitted[index] = smaller;
    total += Buffer.byteLength(JSON.stringify(smaller)) - (sizes[index] as number);
  }
  if (total <= OBSERVED_BYTES_MAX) return fitted;
  throw new ProviderError(
    'provider_terminal',
    `the model's calls are ${total} bytes in total; the maximum is ${OBSERVED_BYTES_MAX}`,
  );
}
