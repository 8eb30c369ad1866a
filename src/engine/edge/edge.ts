// The edge: turns what a client sends into the event that is recorded. Everything that does not follow from state is
// measured here and written into the event: the time, the verdict on arguments, the digests of text that was moved into
// blobs (docs/design.md, law 8). What a client claims about these is dropped.
import { type Either, chain, isLeft, left, map, right } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { plannedOf } from '../../../reducers/batch-index.ts';
import { claimsOf, claimsWithin, computeClaimsAhead } from '../../../reducers/claims.ts';
import { canonicalText, digestText, mergedInOrder } from '../../../schemas/canonical.ts';
import { type Content, isInline } from '../../../schemas/content.ts';
import { EVENT_VERSION, type EventOfKind, type Ingress, type NewEvent } from '../../../schemas/event.ts';
import type { Digest, EventId } from '../../../schemas/ids.ts';
import { type Json, type JsonObject, checkJson, isPlainObject, parseJson } from '../../../schemas/json.ts';
import {
  ARGUMENT_BYTES_REQUEST_MAX,
  BODY_BYTES_MAX,
  BODY_VALUES_MAX,
  EXCERPT_CHARS,
  INLINE_CHARS_MAX,
} from '../../../schemas/limits.ts';
import { type Rejection, reject } from '../../../schemas/rejection.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { SchemaVerdict, ToolCallObserved } from '../../../schemas/tool-call.ts';
import type { ToolSpec } from '../../../schemas/tool-spec.ts';
import type { Blobs } from '../../blobs/blobs.ts';
import type { Pause } from '../../turns.ts';
import type { RequestBudget } from './budget.ts';
import type { SessionTimes } from './session-times.ts';
import { findContentFault } from './content-check.ts';
import { answerVerdict, questionFault } from './question-check.ts';
import { type SchemaCheck, clipVerdict } from './schema-check.ts';
import { storedData } from './stored-data.ts';
import { admitTools } from './tool-definitions.ts';

export interface EdgePorts {
  readonly blobs: Blobs;
  readonly times: SessionTimes;
  readonly checkSchema: SchemaCheck;
  /** Checks `data` of a result against the tool's output schema. */
  readonly checkOutput: SchemaCheck;
  /** The factor for the wait before a retry: 800 to 1,200 thousandths. */
  readonly drawJitter: () => number;
  readonly newEventId: () => EventId;
  readonly pause: Pause;
}

/** The ports, and what the request may still cost. */
export interface EdgeWork extends EdgePorts {
  readonly budget: RequestBudget;
}

type Answer<T> = Promise<Either<Rejection, T>>;

/** The event to step. The blobs it refers to are durable; its time is not before that of the last event. */
export async function toEvent(
  given: EdgePorts,
  state: SessionState,
  ingress: Ingress,
  budget: RequestBudget,
): Answer<NewEvent> {
  // The spreads here come last: V8 takes ten times as long to add fields after one.
  const ports: EdgeWork = { budget, ...given };
  const fault = await findContentFault(ports.blobs, ingress);
  if (fault !== null) return left(fault);
  const at_ms = ports.times.now(state.session_id, state.updated_at_ms);
  if (ingress.kind === 'TimeReached' && ingress.due_at_ms > at_ms) {
    const early = `due_at_ms ${ingress.due_at_ms} is in the future: it is ${at_ms} now; report the time once it has come`;
    return left(reject('time_not_due', '/due_at_ms', early));
  }
  const event_id = ingress.event_id ?? ports.newEventId();
  const measured = await measure(ports, state, ingress);
  if (isLeft(measured)) return measured;
  const event = mergedInOrder(ingress, { at_ms, event_id, v: EVENT_VERSION, ...measured.right });
  return right(event as unknown as NewEvent);
}

/** The fields that the edge measures. They replace what the client claims about them; an undefined one is absent. */
type Measured = Readonly<Record<string, Json | undefined>>;

async function measure(ports: EdgeWork, state: SessionState, ingress: Ingress): Answer<Measured> {
  if (ingress.kind === 'ToolCallsObserved') {
    const calls = await prepareCalls(ports, state, ingress.calls);
    return isLeft(calls) ? calls : right({ calls: calls.right });
  }
  if (ingress.kind === 'user.tool_confirmation' && ingress.instead !== undefined) {
    const calls = await prepareCalls(ports, state, [ingress.instead]);
    if (isLeft(calls)) return left({ ...calls.left, path: calls.left.path.replace('/calls/0', '/instead') });
    return right({ instead: calls.right[0] as ToolCallObserved });
  }
  if (ingress.kind === 'ToolRegistrySet') {
    return map((registry: readonly ToolSpec[]) => ({ registry }))(
      await admitTools(ingress.registry, ports.pause, ports.budget),
    );
  }
  if (ingress.kind === 'ToolsetSet') {
    const { tools } = ingress;
    const given = tools.map(({ spec }) => spec);
    const pathOf = (index: number): string => `/tools/${index}/spec`;
    return map((specs: readonly ToolSpec[]) => ({
      tools: tools.map(({ definition }, index) => ({ definition, spec: specs[index] as ToolSpec })),
    }))(await admitTools(given, ports.pause, ports.budget, pathOf));
  }
  if (ingress.kind === 'ToolCallSettled') {
    const output_verdict = await outputVerdict(ports, state, ingress);
    return right({ output_verdict, jitter_permille: jitter(ports, ingress) });
  }
  if (ingress.kind === 'user.custom_tool_result') {
    return right({ output_verdict: await outputVerdict(ports, state, ingress) });
  }
  if (ingress.kind === 'ToolCallAsked') {
    const fault = await questionFault(ports, ingress.question);
    return fault === null ? right({}) : left(fault);
  }
  if (ingress.kind === 'user.elicitation_result') {
    return right({ content_verdict: await answerVerdict(ports, state, ingress) });
  }
  if (ingress.kind === 'GenerateFailed' || ingress.kind === 'CompactFailed') {
    return right({ jitter_permille: jitter(ports, ingress) });
  }
  return right({});
}

const jitter = (ports: EdgePorts, { retryable }: { readonly retryable?: boolean }): number | undefined =>
  retryable === true ? ports.drawJitter() : undefined;

/** The verdict on a successful result of a tool that declares an output schema; undefined for any other result. */
async function outputVerdict(
  ports: EdgeWork,
  { active_tool_batch: batch, tool_registry }: SessionState,
  { call_id, result, data_ref }: Pick<EventOfKind<'ToolCallSettled'>, 'call_id' | 'result' | 'data_ref'>,
): Promise<SchemaVerdict | undefined> {
  const planned = batch === null ? undefined : plannedOf(batch.plan, call_id)?.call;
  const tool = planned === undefined ? undefined : tool_registry[planned.tool_id];
  // The definition may have been replaced since the call was planned: then its schema does not apply to this call.
  if (tool?.output_schema === undefined || tool.tool_ref !== planned?.tool_ref || !result.success) return undefined;
  return await ports.checkOutput(tool, result.data ?? (await storedData(ports, data_ref)), ports.budget);
}

async function prepareCalls(
  ports: EdgeWork,
  state: SessionState,
  given: readonly ToolCallObserved[],
): Answer<readonly ToolCallObserved[]> {
  const tools = toolsByName(state.tool_registry);
  const calls: ToolCallObserved[] = [];
  for (const [index, call] of given.entries()) {
    const rest = ports.pause();
    if (rest !== null) await rest;
    const prepared = await prepareCall(ports, tools.get(call.tool_name), call);
    if (isLeft(prepared)) return left({ ...prepared.left, path: `/calls/${index}${prepared.left.path}` });
    calls.push(prepared.right);
  }
  return right(calls);
}

const toolsByRegistry = new WeakMap<SessionState['tool_registry'], ReadonlyMap<string, ToolSpec>>();

/** The tools of a registry by the name that a model calls. A registry is frozen, so this is computed once for each. */
function toolsByName(registry: SessionState['tool_registry']): ReadonlyMap<string, ToolSpec> {
  const known = toolsByRegistry.get(registry);
  if (known !== undefined) return known;
  const made = new Map(Object.values(registry).map((tool): [string, ToolSpec] => [tool.tool_name, tool]));
  toolsByRegistry.set(registry, made);
  return made;
}

async function prepareCall(
  ports: EdgeWork,
  tool: ToolSpec | undefined,
  call: ToolCallObserved,
): Answer<ToolCallObserved> {
  const { call_id, tool_name, provider_call_id } = call;
  // A call is written in canonical order, so that it need not be written again.
  const name = { call_id, ...(provider_call_id === undefined ? {} : { provider_call_id }), tool_name };
  const given = await givenText(ports, call);
  if (isLeft(given)) return given;
  const args = call.arguments === undefined ? readArguments(given.right) : right(call.arguments);
  return isLeft(args)
    ? await keepUnreadable(ports.blobs, name, given.right, args.left)
    : await keepArguments(ports, tool, name, args.right);
}

async function keepArguments(
  ports: EdgeWork,
  tool: ToolSpec | undefined,
  name: CallName,
  args: JsonObject,
): Answer<ToolCallObserved> {
  const text = canonicalText(args);
  const verdict = tool === undefined ? undefined : await ports.checkSchema(tool, args, ports.budget);
  const judged = {
    arguments_digest: digestText(text),
    ...(verdict === undefined ? {} : { arguments_verdict: verdict }),
    ...name,
  };
  if (text.length <= INLINE_CHARS_MAX) {
    if (tool !== undefined && text.length > CLAIMS_AHEAD_CHARS_MIN) computeClaimsAhead(tool.parallelism_hint, args);
    return right({ arguments: args, ...judged });
  }
  const stored = await storeText(ports.blobs, text);
  if (isLeft(stored)) return stored;
  if (tool === undefined) return right({ ...judged, arguments_ref: stored.right });
  const { parallelism_hint: hint } = tool;
  const claims = claimsWithin(ports.budget.claims, hint, claimsOf(hint, args));
  return right({ ...judged, claims, arguments_ref: stored.right });
}

/** The digest that is recorded for the arguments of a call; null when they are in a blob that cannot be read. */
export async function digestArguments(ports: EdgeWork, call: ToolCallObserved): Promise<Digest | null> {
  const rest = ports.pause();
  if (rest !== null) await rest;
  const given = await givenText(ports, call);
  if (isLeft(given)) return null;
  const args = call.arguments === undefined ? readArguments(given.right) : right(call.arguments);
  return digestText(isLeft(args) ? given.right : canonicalText(args.right));
}

/** The text of a model's arguments when they were not sent as an object: inline, or from a blob. */
async function givenText({ blobs, budget }: EdgeWork, call: ToolCallObserved): Answer<string> {
  const { arguments_text, arguments_ref } = call;
  if (arguments_text !== undefined || arguments_ref === undefined) return right(arguments_text ?? '');
  if (isInline(arguments_ref)) return right(arguments_ref.text);
  budget.argumentBytes -= arguments_ref.bytes;
  const bytes = budget.argumentBytes < 0 ? left(TOO_MANY_BYTES) : await blobs.get(arguments_ref.ref)();
  if (isLeft(bytes)) return left({ ...bytes.left, path: '/arguments_ref' });
  return right(new TextDecoder().decode(bytes.right));
}

const TOO_MANY_BYTES = reject(
  'too_large',
  '',
  `the calls name more than ${ARGUMENT_BYTES_REQUEST_MAX} bytes of arguments in blobs; make fewer calls in one turn`,
);

/** A model's arguments: text that must be a JSON object. Empty text is an empty object. */
function readArguments(text: string): Either<Rejection, JsonObject> {
  if (text.trim() === '') return right({});
  return pipe(
    parseJson(text, BODY_BYTES_MAX, BODY_VALUES_MAX),
    chain((value) => {
      if (!isPlainObject(value))
        return left(reject('invalid_shape', '', 'the arguments are not a JSON object; send them as one'));
      // The depth limit applies to the recorded event, which contains the arguments at this depth.
      const nested = checkJson({ events: [{ calls: [{ arguments: value }] }] });
      return isLeft(nested) ? nested : right(value);
    }),
  );
}

/** The fold computes the claims of arguments that are shorter than this. */
const CLAIMS_AHEAD_CHARS_MIN = 128;

type CallName = Pick<ToolCallObserved, 'call_id' | 'tool_name' | 'provider_call_id'>;

// The text of a model is kept unchanged, even when it cannot be parsed.
async function keepUnreadable(blobs: Blobs, name: CallName, text: string, fault: Rejection): Answer<ToolCallObserved> {
  const judged = {
    ...name,
    arguments_digest: digestText(text),
    arguments_verdict: { valid: false, path: clipVerdict(fault.path), message: clipVerdict(fault.message) },
  };
  if (text.length <= INLINE_CHARS_MAX) return right({ ...judged, arguments_text: text });
  const stored = await storeText(blobs, text);
  return isLeft(stored) ? stored : right({ ...judged, arguments_ref: stored.right });
}

/** Stores text as a blob and returns its reference. */
async function storeText(blobs: Blobs, text: string): Answer<Content> {
  const bytes = new TextEncoder().encode(text);
  const stored = await blobs.put(bytes)();
  if (isLeft(stored)) return stored;
  const head = text.slice(0, EXCERPT_CHARS).toWellFormed();
  const tail = text.slice(-EXCERPT_CHARS).toWellFormed();
  return right({ ref: stored.right, bytes: bytes.length, head, tail });
}
