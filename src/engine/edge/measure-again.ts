// What an edge measured elsewhere, measured again here: of a stream that another engine recorded, what takes a blob or a schema
// to measure. What an event shows by itself is measured by the replay (src/core/measured.ts). An export holds no blobs, so
// only the blobs that are here already are compared. Verdicts are measured again for the calls that may still be made: those
// of calls that are over stand as they are recorded, whatever a later validator finds (docs/design.md, law 8).
import { isLeft } from 'fp-ts/lib/Either.js';
import { callStateAt, plannedOf } from '../../../reducers/batch-index.ts';
import { argumentsOf, argumentsValue } from '../../../schemas/tool-call.ts';
import { isTerminal } from '../../../reducers/call-status.ts';
import { claimsOf } from '../../../reducers/claims.ts';
import { canonicalText } from '../../../schemas/canonical.ts';
import { isInline } from '../../../schemas/content.ts';
import type { CallId, Position } from '../../../schemas/ids.ts';
import { type JsonObject, isPlainObject, parseJson } from '../../../schemas/json.ts';
import { BLOB_BYTES_MAX } from '../../../schemas/limits.ts';
import { type Rejection, pointerSegment } from '../../../schemas/rejection.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { ToolCallObserved } from '../../../schemas/tool-call.ts';
import type { ToolSpec } from '../../../schemas/tool-spec.ts';
import type { Blobs } from '../../blobs/blobs.ts';
import type { FoldedEvent } from '../../core/folded-event.ts';
import { wrong } from '../../core/measured.ts';
import { newRequestBudget } from './budget.ts';
import { findContentFault } from './content-check.ts';
import { isMisfit, newSchemaCheck } from './schema-check.ts';

/** A rejection `measured_wrong`, or that of a store which cannot be read, and the event that it is about. */
export interface MeasuredFault {
  readonly position: Position;
  readonly fault: Rejection;
}

/** Measures a stream from its first event on. */
export interface MeasureAgain {
  add(folded: FoldedEvent): Promise<MeasuredFault | null>;
  /** The calls that are open after the last event. */
  finish(state: SessionState): Promise<MeasuredFault | null>;
}

type Stores = Pick<Blobs, 'ends' | 'get'>;

interface Made {
  readonly position: Position;
  readonly path: string;
}

export function newMeasureAgain(blobs: Stores): MeasureAgain {
  const checkSchema = newSchemaCheck();
  /** Where the calls of the last turn, and those that a person gave since, are recorded. */
  let made = new Map<CallId, Made>();

  function note({ event, position }: FoldedEvent): void {
    if (event.kind === 'ToolCallsObserved') made = new Map();
    for (const { call, path } of callsIn(event)) made.set(call.call_id, { position, path });
  }

  async function findMisfit(state: SessionState, call: ToolCallObserved): Promise<MeasuredFault | null> {
    const { position, path } = made.get(call.call_id) ?? { position: state.version as number as Position, path: '' };
    const tool = toolNamed(state, call);
    const args = tool === null ? null : (argumentsValue(call) ?? (await storedArguments(blobs, call)));
    if (tool === null || args === null) return null;
    const verdict = await checkSchema(tool, args, newRequestBudget());
    if (!isMisfit(verdict)) return null;
    const message = `the arguments of "${call.call_id}" do not fit the schema of its tool: ${verdict.message ?? ''}`;
    return { position, fault: wrong(`${path}/arguments_verdict`, message) };
  }

  return {
    async add(folded) {
      note(folded);
      const { event, before, position } = folded;
      const content = await findContentFault(blobs, event, { mayBeAbsent: true });
      if (content !== null) return { position, fault: asMeasured(content) };
      for (const { call, path } of callsIn(event)) {
        const fault = await findStoredFault(blobs, before, { call, path });
        if (fault !== null) return { position, fault };
      }
      return null;
    },
    async finish(state) {
      for (const call of [...openCalls(state), ...(state.run?.amended ?? [])]) {
        const fault = await findMisfit(state, call);
        if (fault !== null) return fault;
      }
      return null;
    },
  };
}

interface CallAt {
  readonly call: ToolCallObserved;
  readonly path: string;
}

function callsIn(event: FoldedEvent['event']): readonly CallAt[] {
  if (event.kind === 'ToolCallsObserved') {
    return event.calls.map((call, index) => ({ call, path: `/calls${pointerSegment(index)}` }));
  }
  const instead = event.kind === 'user.tool_confirmation' ? event.instead : undefined;
  return instead === undefined ? [] : [{ call: instead, path: '/instead' }];
}

/** The calls of the open batch that have no result yet. */
function openCalls({ active_tool_batch: batch }: SessionState): readonly ToolCallObserved[] {
  if (batch === null) return [];
  return batch.observed.filter((call, index) => {
    const state = callStateAt(batch, index);
    return state !== undefined && !isTerminal(state.status) && plannedOf(batch.plan, call.call_id) !== undefined;
  });
}

const toolNamed = ({ tool_registry }: SessionState, { tool_name }: ToolCallObserved): ToolSpec | null =>
  Object.values(tool_registry).find((tool) => tool.tool_name === tool_name) ?? null;

/** What is wrong about a call whose arguments are in a blob. */
async function findStoredFault(blobs: Stores, state: SessionState, { call, path }: CallAt): Promise<Rejection | null> {
  const { call_id, arguments_digest, claims } = call;
  const given = argumentsOf(call);
  if (!('arguments_ref' in given) || isInline(given.arguments_ref)) return null;
  const { ref } = given.arguments_ref;
  if (arguments_digest !== undefined && arguments_digest !== ref) {
    return wrong(`${path}/arguments_digest`, `the arguments of "${call_id}" are the blob ${ref}`);
  }
  const args = claims === undefined ? null : await storedArguments(blobs, call);
  if (claims === undefined || args === null) return null;
  const tool = toolNamed(state, call);
  // Where the claims of a request were too many, an edge records those of whole spaces.
  const due = tool === null ? [] : [args, null].map((value) => canonicalText(claimsOf(tool.parallelism_hint, value)));
  if (due.includes(canonicalText(claims))) return null;
  return wrong(`${path}/claims`, `the rules of its tool give "${call_id}" other claims`);
}

/** The arguments in a blob; null when it is not here, or holds no JSON object. */
async function storedArguments(blobs: Stores, call: ToolCallObserved): Promise<JsonObject | null> {
  const given = argumentsOf(call);
  if (!('arguments_ref' in given) || isInline(given.arguments_ref)) return null;
  const read = await blobs.get(given.arguments_ref.ref)();
  if (isLeft(read)) return null;
  const parsed = parseJson(new TextDecoder().decode(read.right), BLOB_BYTES_MAX);
  return isLeft(parsed) || !isPlainObject(parsed.right) ? null : parsed.right;
}

/** A reference that does not fit its blob is a wrong record here. Every other fault is that of the store. */
const asMeasured = (fault: Rejection): Rejection =>
  fault.code === 'content_mismatch' || fault.code === 'invalid_value' ? wrong(fault.path, fault.message) : fault;
