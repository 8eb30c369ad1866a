// The edge: turns what a client sends into the event that is recorded. Everything the world decides is decided here
// and written down: the time, the verdict on arguments, the digests of what was moved into blobs (DESIGN section 2,
// law 8). What a client claims about these is not taken over.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { plannedOf } from '../../reducers/batch-index.ts';
import { claimsOf } from '../../reducers/claims.ts';
import { canonicalText, digestText, inCanonicalOrder } from '../../schemas/canonical.ts';
import { type Content, isInline } from '../../schemas/content.ts';
import { EVENT_VERSION, type EventOfKind, type Ingress, type IngressEvent } from '../../schemas/event.ts';
import { type Digest, type EventId, brand } from '../../schemas/ids.ts';
import { type JsonObject, checkJson, isPlainObject, parseJson } from '../../schemas/json.ts';
import { BLOB_BYTES_MAX, EXCERPT_CHARS, INLINE_CHARS_MAX } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { SessionState } from '../../schemas/state.ts';
import type { SchemaVerdict, ToolCallObserved } from '../../schemas/tool-call.ts';
import type { ToolSpec } from '../../schemas/tool-spec.ts';
import type { Blobs } from '../blobs/blobs.ts';
import type { Clock } from '../clock.ts';
import { type SchemaCheck, clipVerdict } from './schema-check.ts';

export interface EdgePorts {
  readonly blobs: Blobs;
  readonly clock: Clock;
  readonly checkSchema: SchemaCheck;
  /** Holds `data` of a result against the tool's output schema. */
  readonly checkOutput: SchemaCheck;
  /** What the wait before a retry is multiplied with: 800 to 1,200 thousandths. */
  readonly drawJitter: () => number;
  readonly newEventId: () => EventId;
}

type Answer<T> = Promise<Either<Rejection, T>>;

/** The event to record. Blobs it refers to are durable before it is; time never goes back within a stream. */
export async function toEvent(ports: EdgePorts, state: SessionState, ingress: Ingress): Answer<IngressEvent> {
  const missing = await findMissingBlob(ports.blobs, ingress);
  if (missing !== null) return left(missing);
  const at_ms = Math.max(state.updated_at_ms, ports.clock.now());
  if (ingress.kind === 'TimeReached' && ingress.due_at_ms > at_ms) {
    return left(reject('time_not_due', '/due_at_ms', `it is ${at_ms} here: this time has not come`));
  }
  const envelope = { v: EVENT_VERSION, event_id: ingress.event_id ?? ports.newEventId(), at_ms };
  const measured = await measure(ports, state, ingress);
  return isLeft(measured) ? measured : right(inCanonicalOrder({ ...measured.right, ...envelope }));
}

/** What is sent, with every fact of the world that its kind records; what a client claims of those is dropped. */
async function measure(ports: EdgePorts, state: SessionState, ingress: Ingress): Answer<Ingress> {
  if (ingress.kind === 'ToolCallsObserved') {
    const calls = await prepareCalls(ports, state, ingress.calls);
    return isLeft(calls) ? calls : right({ ...ingress, calls: calls.right });
  }
  if (ingress.kind === 'user.tool_confirmation' && ingress.instead !== undefined) {
    const calls = await prepareCalls(ports, state, [ingress.instead]);
    if (isLeft(calls)) return left({ ...calls.left, path: calls.left.path.replace('/calls/0', '/instead') });
    return right({ ...ingress, instead: calls.right[0] as ToolCallObserved });
  }
  if (ingress.kind === 'ToolCallSettled') {
    const { output_verdict: _verdict, jitter_permille: _jitter, ...report } = ingress;
    return right({ ...report, ...outputVerdict(ports, state, ingress), ...jitter(ports, ingress) });
  }
  if (ingress.kind === 'user.custom_tool_result') {
    const { output_verdict: _verdict, ...answer } = ingress;
    return right({ ...answer, ...outputVerdict(ports, state, ingress) });
  }
  if (ingress.kind === 'GenerateFailed') {
    const { jitter_permille: _jitter, ...report } = ingress;
    return right({ ...report, ...jitter(ports, ingress) });
  }
  return right(ingress);
}

const jitter = (ports: EdgePorts, { retryable }: { readonly retryable?: boolean }) =>
  retryable === true ? { jitter_permille: ports.drawJitter() } : {};

/** The verdict on a success of a tool that declares what its results look like. */
function outputVerdict(
  ports: EdgePorts,
  { active_tool_batch: batch, tool_registry }: SessionState,
  { call_id, result }: Pick<EventOfKind<'user.custom_tool_result'>, 'call_id' | 'result'>,
): { readonly output_verdict?: SchemaVerdict } {
  const planned = batch === null ? undefined : plannedOf(batch.plan, call_id)?.call;
  const tool = planned === undefined ? undefined : tool_registry[planned.tool_id];
  // The definition may have been replaced since the call was planned: another schema says nothing about it.
  if (tool?.output_schema === undefined || tool.tool_ref !== planned?.tool_ref || !result.success) return {};
  return { output_verdict: ports.checkOutput(tool, result.data ?? null) };
}

async function prepareCalls(
  ports: EdgePorts,
  state: SessionState,
  given: readonly ToolCallObserved[],
): Answer<readonly ToolCallObserved[]> {
  const tools = toolsByName(state.tool_registry);
  const calls: ToolCallObserved[] = [];
  for (const [index, call] of given.entries()) {
    const prepared = await prepareCall(ports, tools.get(call.tool_name), call);
    if (isLeft(prepared)) return left({ ...prepared.left, path: `/calls/${index}${prepared.left.path}` });
    calls.push(prepared.right);
  }
  return right(calls);
}

const named = new WeakMap<SessionState['tool_registry'], ReadonlyMap<string, ToolSpec>>();

/** The tools of a registry by the name that a model calls. A registry is frozen, so this is found once for each. */
function toolsByName(registry: SessionState['tool_registry']): ReadonlyMap<string, ToolSpec> {
  const known = named.get(registry);
  if (known !== undefined) return known;
  const made = new Map(Object.values(registry).map((tool): [string, ToolSpec] => [tool.tool_name, tool]));
  named.set(registry, made);
  return made;
}

async function prepareCall(
  ports: EdgePorts,
  tool: ToolSpec | undefined,
  call: ToolCallObserved,
): Answer<ToolCallObserved> {
  const { call_id, tool_name, provider_call_id } = call;
  const name = { call_id, tool_name, ...(provider_call_id === undefined ? {} : { provider_call_id }) };
  const given = await givenText(ports.blobs, call);
  if (isLeft(given)) return given;
  const args = call.arguments === undefined ? readArguments(given.right) : right(call.arguments);
  if (isLeft(args)) return await keepUnreadable(ports.blobs, name, given.right, args.left);
  const text = canonicalText(args.right);
  const judged = {
    ...name,
    arguments_digest: digestText(text),
    ...(tool === undefined ? {} : { arguments_verdict: ports.checkSchema(tool, args.right) }),
  };
  if (text.length <= INLINE_CHARS_MAX) return right({ ...judged, arguments: args.right });
  const stored = await storeText(ports.blobs, text);
  if (isLeft(stored)) return stored;
  const claims = tool === undefined ? {} : { claims: claimsOf(tool.parallelism_hint, args.right) };
  return right({ ...judged, ...claims, arguments_ref: stored.right });
}

/** The text of a model's arguments when they did not come as an object: inline, or from a blob. */
async function givenText(blobs: Blobs, call: ToolCallObserved): Answer<string> {
  const { arguments_text, arguments_ref } = call;
  if (arguments_text !== undefined || arguments_ref === undefined) return right(arguments_text ?? '');
  if (isInline(arguments_ref)) return right(arguments_ref.text);
  const bytes = await blobs.get(arguments_ref.ref)();
  if (isLeft(bytes)) return left({ ...bytes.left, path: '/arguments_ref' });
  return right(new TextDecoder().decode(bytes.right));
}

/** A model's arguments: text that should be an object. No text at all is an empty one. */
function readArguments(text: string): Either<Rejection, JsonObject> {
  if (text.trim() === '') return right({});
  const parsed = parseJson(text, BLOB_BYTES_MAX);
  if (isLeft(parsed)) return parsed;
  if (!isPlainObject(parsed.right)) return left(reject('invalid_shape', '', 'the arguments are not a JSON object'));
  // Whoever reads the recorded event reads the arguments inside it, so they may nest as deep as if they had come so.
  const nested = checkJson({ events: [{ calls: [{ arguments: parsed.right }] }] });
  return isLeft(nested) ? nested : right(parsed.right);
}

// What a model wrote is kept as it is, even when nobody can read it.
async function keepUnreadable(
  blobs: Blobs,
  name: Pick<ToolCallObserved, 'call_id' | 'tool_name'>,
  text: string,
  fault: Rejection,
): Answer<ToolCallObserved> {
  const judged = {
    ...name,
    arguments_digest: digestText(text),
    arguments_verdict: { valid: false, path: clipVerdict(fault.path), message: clipVerdict(fault.message) },
  };
  if (text.length <= INLINE_CHARS_MAX) return right({ ...judged, arguments_text: text });
  const stored = await storeText(blobs, text);
  return isLeft(stored) ? stored : right({ ...judged, arguments_ref: stored.right });
}

/** Keeps text as a blob and gives its reference. */
async function storeText(blobs: Blobs, text: string): Answer<Content> {
  const bytes = new TextEncoder().encode(text);
  const stored = await blobs.put(bytes)();
  if (isLeft(stored)) return stored;
  const head = text.slice(0, EXCERPT_CHARS).toWellFormed();
  const tail = text.slice(-EXCERPT_CHARS).toWellFormed();
  return right({ ref: stored.right, bytes: bytes.length, head, tail });
}

async function findMissingBlob(blobs: Blobs, ingress: Ingress): Promise<Rejection | null> {
  if (!mayRefer(ingress)) return null;
  for (const [path, ref] of referencesIn(ingress, '')) {
    const there = await blobs.has(ref)();
    if (isLeft(there)) return { ...there.left, path };
    if (!there.right) return reject('unknown_blob', path, `there is no blob ${ref}`);
  }
  return null;
}

/** False when there can be no reference; most events have none, and need no paths. */
function mayRefer(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some(mayRefer);
  const fields = value as Readonly<Record<string, unknown>>;
  if (typeof fields['ref'] === 'string') return true;
  for (const key of Object.keys(fields)) if (!OPAQUE.has(key) && mayRefer(fields[key])) return true;
  return false;
}

/** Content references, wherever an event may carry one; arguments and result data are the model's own. */
function referencesIn(value: unknown, path: string): readonly (readonly [path: string, ref: Digest])[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => referencesIn(item, `${path}/${index}`));
  if (!isPlainObject(value)) return [];
  const { ref, bytes } = value;
  if (typeof ref === 'string' && typeof bytes === 'number' && bytes <= BLOB_BYTES_MAX) {
    return [[path, brand<'Digest'>(ref)]];
  }
  return Object.entries(value).flatMap(([key, item]) => (OPAQUE.has(key) ? [] : referencesIn(item, `${path}/${key}`)));
}

const OPAQUE = new Set(['arguments', 'data', 'input_schema', 'output_schema', 'result', 'registry']);
