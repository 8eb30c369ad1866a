// The edge: turns what a client sends into the event that is recorded. Everything that does not follow from state is
// measured here and written into the event: the time, the verdict on arguments, the digests of text that was moved into
// blobs (docs/design.md, law 8). What a client claims about these is dropped.
import { type Either, chain, isLeft, left, map, right } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { plannedOf } from '../../../reducers/batch-index.ts';
import { claimsOf, claimsWithin, computeClaimsAhead } from '../../../reducers/claims.ts';
import { searchedWords } from '../../../reducers/toolsets/search.ts';
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
import { type Soon, andThen } from '../../soon.ts';
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

type Answer<T> = Soon<Either<Rejection, T>>;

/** The event to step. The blobs it refers to are durable; its time is not before that of the last event. */
export function toEvent(
  given: EdgePorts,
  state: SessionState,
  ingress: Ingress,
  budget: RequestBudget,
): Answer<NewEvent> {
  // The spreads here come last: V8 takes ten times as long to add fields after one.
  const ports: EdgeWork = { budget, ...given };
  return andThen(findContentFault(ports.blobs, ingress), (fault) =>
    fault === null ? toMeasured(ports, state, ingress) : left(fault),
  );
}

function toMeasured(ports: EdgeWork, state: SessionState, ingress: Ingress): Answer<NewEvent> {
  const at_ms = ports.times.now(state.session_id, state.updated_at_ms);
  if (ingress.kind === 'TimeReached' && ingress.due_at_ms > at_ms) {
    const early = `due_at_ms ${ingress.due_at_ms} is in the future: it is ${at_ms} now; report the time once it has come`;
    return left(reject('time_not_due', '/due_at_ms', early));
  }
  const event_id = ingress.event_id ?? ports.newEventId();
  return andThen(
    measure(ports, state, ingress),
    map(
      (measured) => mergedInOrder(ingress, { at_ms, event_id, v: EVENT_VERSION, ...measured }) as unknown as NewEvent,
    ),
  );
}

/** The fields that the edge measures. They replace what the client claims about them; an undefined one is absent. */
type Measured = Readonly<Record<string, Json | undefined>>;

function measure(ports: EdgeWork, state: SessionState, ingress: Ingress): Answer<Measured> {
  const measured = MEASURES[ingress.kind] as Measure<Ingress> | undefined;
  return measured === undefined ? right({}) : measured(ports, state, ingress);
}

type Measure<E> = (ports: EdgeWork, state: SessionState, ingress: E) => Answer<Measured>;

/** The kinds of which something is measured besides the time. */
const MEASURES: { readonly [K in Ingress['kind']]?: Measure<Extract<Ingress, { readonly kind: K }>> } = {
  ToolCallsObserved: (ports, state, ingress) =>
    andThen(
      prepareCalls(ports, state, ingress.calls),
      map((calls) => ({ calls })),
    ),
  'user.tool_confirmation': (ports, state, { instead }) =>
    instead === undefined ? right({}) : prepareInstead(ports, state, instead),
  ToolRegistrySet: (ports, _state, ingress) =>
    andThen(
      admitTools(ingress.registry, ports.pause, ports.budget),
      map((registry) => ({ registry })),
    ),
  ToolsetSet: (ports, _state, ingress) => admitToolset(ports, ingress.tools),
  ToolCallSettled: (ports, state, ingress) =>
    andThen(outputVerdict(ports, state, ingress), (output_verdict) =>
      right({ output_verdict, jitter_permille: jitter(ports, ingress) }),
    ),
  'user.custom_tool_result': (ports, state, ingress) =>
    andThen(outputVerdict(ports, state, ingress), (output_verdict) => right({ output_verdict })),
  ToolCallAsked: (ports, _state, ingress) =>
    andThen(questionFault(ports, ingress.question), (fault) => (fault === null ? right({}) : left(fault))),
  'user.elicitation_result': (ports, state, ingress) =>
    andThen(answerVerdict(ports, state, ingress), (content_verdict) => right({ content_verdict })),
  GenerateFailed: (ports, _state, ingress) => right({ jitter_permille: jitter(ports, ingress) }),
  CompactFailed: (ports, _state, ingress) => right({ jitter_permille: jitter(ports, ingress) }),
};

async function prepareInstead(
  ports: EdgeWork,
  state: SessionState,
  instead: ToolCallObserved,
): Promise<Either<Rejection, Measured>> {
  const calls = await prepareCalls(ports, state, [instead]);
  if (isLeft(calls)) return left({ ...calls.left, path: calls.left.path.replace('/calls/0', '/instead') });
  return right({ instead: calls.right[0] as ToolCallObserved });
}

async function admitToolset(
  ports: EdgeWork,
  tools: EventOfKind<'ToolsetSet'>['tools'],
): Promise<Either<Rejection, Measured>> {
  const given = tools.map(({ spec }) => spec);
  const pathOf = (index: number): string => `/tools/${index}/spec`;
  return map((specs: readonly ToolSpec[]) => ({
    tools: tools.map(({ definition }, index) => ({ definition, spec: specs[index] as ToolSpec })),
  }))(await admitTools(given, ports.pause, ports.budget, pathOf));
}

const jitter = (ports: EdgePorts, { retryable }: { readonly retryable?: boolean }): number | undefined =>
  retryable === true ? ports.drawJitter() : undefined;

/** The verdict on a successful result of a tool that declares an output schema; undefined for any other result. */
function outputVerdict(
  ports: EdgeWork,
  { active_tool_batch: batch, tool_registry }: SessionState,
  { call_id, result, data_ref }: Pick<EventOfKind<'ToolCallSettled'>, 'call_id' | 'result' | 'data_ref'>,
): Soon<SchemaVerdict | undefined> {
  const planned = batch === null ? undefined : plannedOf(batch.plan, call_id)?.call;
  const tool = planned === undefined ? undefined : tool_registry[planned.tool_id];
  // The definition may have been replaced since the call was planned: then its schema does not apply to this call.
  if (tool?.output_schema === undefined || tool.tool_ref !== planned?.tool_ref || !result.success) return undefined;
  return andThen(result.data ?? storedData(ports, data_ref), (data) => ports.checkOutput(tool, data, ports.budget));
}

async function prepareCalls(
  ports: EdgeWork,
  state: SessionState,
  given: readonly ToolCallObserved[],
): Promise<Either<Rejection, readonly ToolCallObserved[]>> {
  const tools = toolsByName(state.tool_registry);
  if (given.some(({ tool_name }) => searchesTools(tools.get(tool_name)))) await readWordsAhead(ports, state);
  const calls: ToolCallObserved[] = [];
  for (const [index, call] of given.entries()) {
    const rest = ports.pause();
    if (rest !== null) await rest;
    const preparing = prepareCall(ports, tools.get(call.tool_name), call);
    const prepared = preparing instanceof Promise ? await preparing : preparing;
    if (isLeft(prepared)) return left({ ...prepared.left, path: `/calls/${index}${prepared.left.path}` });
    calls.push(prepared.right);
  }
  return right(calls);
}

const searchesTools = (tool: ToolSpec | undefined): boolean =>
  tool?.executor.kind === 'workflow' && tool.executor.workflow === 'tools.find';

/** The fold searches in the words of all tools in one step. */
async function readWordsAhead({ pause }: EdgeWork, { effective_tools }: SessionState): Promise<void> {
  for (const tool of effective_tools.ordered_tools) {
    searchedWords(tool);
    const rest = pause();
    if (rest !== null) await rest;
  }
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

function prepareCall(ports: EdgeWork, tool: ToolSpec | undefined, call: ToolCallObserved): Answer<ToolCallObserved> {
  const { call_id, tool_name, provider_call_id } = call;
  // A call is written in canonical order, so that it need not be written again.
  const name = { call_id, ...(provider_call_id === undefined ? {} : { provider_call_id }), tool_name };
  return andThen(givenText(ports, call), (given): Answer<ToolCallObserved> => {
    if (isLeft(given)) return given;
    const args = call.arguments === undefined ? readArguments(given.right) : right(call.arguments);
    return isLeft(args)
      ? keepUnreadable(ports.blobs, name, given.right, args.left)
      : keepArguments(ports, tool, name, args.right);
  });
}

const keepArguments = (
  ports: EdgeWork,
  tool: ToolSpec | undefined,
  name: CallName,
  args: JsonObject,
): Answer<ToolCallObserved> =>
  andThen(tool === undefined ? undefined : ports.checkSchema(tool, args, ports.budget), (verdict) =>
    keepJudged(ports, tool, { name, args, verdict }),
  );

interface Judged {
  readonly name: CallName;
  readonly args: JsonObject;
  readonly verdict: SchemaVerdict | undefined;
}

function keepJudged(
  ports: EdgeWork,
  tool: ToolSpec | undefined,
  { name, args, verdict }: Judged,
): Answer<ToolCallObserved> {
  const text = canonicalText(args);
  const judged = {
    arguments_digest: digestText(text),
    ...(verdict === undefined ? {} : { arguments_verdict: verdict }),
    ...name,
  };
  if (text.length <= INLINE_CHARS_MAX) {
    if (tool !== undefined && text.length > CLAIMS_AHEAD_CHARS_MIN) computeClaimsAhead(tool.parallelism_hint, args);
    return right({ arguments: args, ...judged });
  }
  return andThen(
    storeText(ports.blobs, text),
    map((stored) => {
      if (tool === undefined) return { ...judged, arguments_ref: stored };
      const { parallelism_hint: hint } = tool;
      return {
        ...judged,
        claims: claimsWithin(ports.budget.claims, hint, claimsOf(hint, args)),
        arguments_ref: stored,
      };
    }),
  );
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
function givenText({ blobs, budget }: EdgeWork, call: ToolCallObserved): Answer<string> {
  const { arguments_text, arguments_ref } = call;
  if (arguments_text !== undefined || arguments_ref === undefined) return right(arguments_text ?? '');
  if (isInline(arguments_ref)) return right(arguments_ref.text);
  budget.argumentBytes -= arguments_ref.bytes;
  return andThen(budget.argumentBytes < 0 ? left(TOO_MANY_BYTES) : blobs.get(arguments_ref.ref)(), (bytes) =>
    isLeft(bytes) ? left({ ...bytes.left, path: '/arguments_ref' }) : right(new TextDecoder().decode(bytes.right)),
  );
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
function keepUnreadable(blobs: Blobs, name: CallName, text: string, fault: Rejection): Answer<ToolCallObserved> {
  const judged = {
    ...name,
    arguments_digest: digestText(text),
    arguments_verdict: { valid: false, path: clipVerdict(fault.path), message: clipVerdict(fault.message) },
  };
  if (text.length <= INLINE_CHARS_MAX) return right({ ...judged, arguments_text: text });
  return andThen(
    storeText(blobs, text),
    map((stored) => ({ ...judged, arguments_ref: stored })),
  );
}

/** Stores text as a blob and returns its reference. */
async function storeText(blobs: Blobs, text: string): Promise<Either<Rejection, Content>> {
  const bytes = new TextEncoder().encode(text);
  const stored = await blobs.put(bytes)();
  if (isLeft(stored)) return stored;
  const head = text.slice(0, EXCERPT_CHARS).toWellFormed();
  const tail = text.slice(-EXCERPT_CHARS).toWellFormed();
  return right({ ref: stored.right, bytes: bytes.length, head, tail });
}
