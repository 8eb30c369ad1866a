// A call that the loop brings, bound to the one on record: its id says which one is meant, and its tool and its arguments must
// be those that were planned and approved. What then runs gets the recorded arguments.
import { isLeft } from 'fp-ts/lib/Either.js';
import {
  type Digest,
  type JsonObject,
  canonicalText,
  digestText,
  isPlainObject,
  limits,
  parseJson,
} from '../../schemas/index.ts';
import type { CallResult } from '../../src/core/index.ts';
import { CallDiffers, type NamedCall } from './errors.ts';
import { hasEnded } from './left-calls.ts';
import { type LoopSession, callsNamed } from './loop-session.ts';
import type { RecordedCall } from './turn.ts';

/** A call as the loop brings it. */
export interface BroughtCall {
  /** As the recorded turn named the call. */
  readonly id: string;
  /** The name of the tool whose function the loop runs. */
  readonly tool: string;
  /** What the loop gives the function: a value, or its JSON text. */
  readonly given: unknown;
  /** Makes of recorded arguments what the function takes, as the loop does; absent when it takes them as they are. */
  readonly read?: (args: JsonObject) => unknown;
}

export interface BoundCall {
  readonly made: CallResult;
  /** Of the recorded arguments. */
  readonly digest: Digest;
  /** The recorded arguments; null when they are no JSON object, so that nothing runs. */
  readonly args: JsonObject | null;
}

/** Throws a {@link CallDiffers} when the loop brings something else than was recorded, and an Error for an unknown id. */
export async function boundCall(loop: LoopSession, brought: BroughtCall): Promise<BoundCall> {
  const given = givenCall(brought);
  const named = callsNamed(loop, brought.id).map((made) => ({ made, recorded: recordedOf(loop, made) }));
  // Only a turn that is older than the ids of the session has two of one id.
  const same = named.filter(({ recorded }) => isSame(recorded, given));
  const meant = same.find(({ made }) => !hasEnded(made) && !loop.calls.isOffered(made.call.call_id)) ?? same[0];
  const { made, recorded } = meant ?? named.at(-1) ?? unknownCall(loop, brought);
  const args = objectIn(recorded.arguments);
  if (meant === undefined && !(await isRead(brought, recorded, args))) {
    throw new CallDiffers(loop.session, brought.id, { recorded, given });
  }
  return { made, digest: digestText(recorded.arguments), args };
}

const isSame = (recorded: NamedCall, given: NamedCall): boolean =>
  recorded.tool === given.tool && recorded.arguments === given.arguments;

function unknownCall({ session }: LoopSession, { id }: BroughtCall): never {
  throw new Error(`the model has made no call "${id}" in this run of session ${session}`);
}

/** The arguments are canonical text where they are a JSON object, and else what the model wrote, as on record. */
export function givenCall({ tool, given }: Pick<BroughtCall, 'tool' | 'given'>): NamedCall {
  return { tool, arguments: argumentsText(given ?? {}) };
}

/** A call of a turn that the loop has been given. */
export function recordedOf({ log }: Pick<LoopSession, 'log'>, { call, turn }: CallResult): NamedCall & RecordedCall {
  const made = log.run()?.turns.find(({ recorded }) => recorded.turn === turn);
  const index = made?.observed.findIndex(({ call_id }) => call_id === call.call_id) ?? -1;
  const found = made?.recorded.calls[index];
  if (found === undefined) throw new Error(`the record has no call "${call.call_id}" in turn ${turn}`);
  return { ...found, tool: found.name };
}

/** The loop gives what the tool reads of the recorded arguments, such as defaults and converted values. */
async function isRead(
  { tool, given, read }: BroughtCall,
  recorded: NamedCall,
  args: JsonObject | null,
): Promise<boolean> {
  if (read === undefined || args === null || tool !== recorded.tool) return false;
  try {
    const first = argumentsText(await read(args));
    // A reader that makes something new each time, such as an id, cannot be compared; what it reads is the record all the same.
    return first === argumentsText(given) || first !== argumentsText(await read(args));
  } catch {
    // The tool takes no such arguments, so the loop has made others of them.
    return false;
  }
}

/** The arguments as one text, whatever the order of their fields. */
function argumentsText(given: unknown): string {
  const text = typeof given === 'string' ? given : textOf(given);
  const object = objectIn(text);
  return object === null ? text.toWellFormed() : canonicalText(object);
}

function textOf(value: unknown): string {
  const text: string | undefined = JSON.stringify(value, (_, field: unknown) =>
    typeof field === 'bigint' ? String(field) : field,
  );
  return text ?? 'null';
}

function objectIn(text: string): JsonObject | null {
  const parsed = text.trim() === '' ? null : parseJson(text, limits.BLOB_BYTES_MAX);
  return parsed === null || isLeft(parsed) || !isPlainObject(parsed.right) ? null : parsed.right;
}
