// Reads a recorded turn, with its texts and the parts that only its framework understands.
import { type EventOfKind, type LayoutPart, type ToolCallObserved, canonicalText } from '../../schemas/index.ts';
import type { EngineClient } from '../../src/client/index.ts';
import { wholeText } from '../runs/contents.ts';
import { type PromptDigests, readParts } from './prompt-record.ts';
import { loopIdOf } from './call-ids.ts';
import type { RecordedCall, RecordedTurn } from './turn.ts';

type Blobs = Pick<EngineClient, 'getBlob' | 'putBlob'>;

/** A turn of the run, and the prompt that it answers; null when the record does not tell. */
export interface LoggedTurn {
  readonly recorded: Omit<RecordedTurn, 'replayed'>;
  readonly observed: readonly ToolCallObserved[];
  readonly prompt: PromptDigests | null;
}

/** `before` is the prompt of the turn before it. Throws a RejectedError when a blob cannot be read. */
export async function readTurn(
  blobs: Blobs,
  event: EventOfKind<'ToolCallsObserved'>,
  before: PromptDigests,
): Promise<LoggedTurn> {
  const { turn, calls: observed, usage = null, stop = null } = event;
  const content = event.content === undefined ? '' : await wholeText(blobs, event.content);
  const layout = event.layout === undefined ? null : await wholeText(blobs, event.layout.parts);
  const { parts, prompt, ids } = readParts(
    layout === null ? plainParts(content, observed.length) : parsed(layout),
    before,
  );
  const calls: RecordedCall[] = [];
  for (const [index, call] of observed.entries()) calls.push(await readCall(blobs, call, ids[index] ?? null));
  return { recorded: { turn, content, calls, parts, usage, stop }, observed, prompt };
}

const parsed = (layout: string): readonly LayoutPart[] => JSON.parse(layout) as readonly LayoutPart[];

const plainParts = (content: string, calls: number): readonly LayoutPart[] => [
  ...(content === '' ? [] : [{ text: content.length }]),
  ...Array.from({ length: calls }, (_, call) => ({ call })),
];

async function readCall(blobs: Blobs, call: ToolCallObserved, given: string | null): Promise<RecordedCall> {
  const { tool_name, arguments_text, arguments_ref } = call;
  const id = loopIdOf(call);
  const written = arguments_ref === undefined ? arguments_text : await wholeText(blobs, arguments_ref);
  return {
    id,
    provider_id: given ?? id,
    name: tool_name,
    arguments: written ?? canonicalText(call.arguments ?? {}),
  };
}
