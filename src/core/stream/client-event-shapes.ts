// The shapes of the events of a client stream, for whoever checks or describes one: the types are in `client-event.ts`, and
// each codec accepts exactly its type.
import { type Codec, either, integer, jsonObject, nullable, oneOf, shape, text } from '../../../schemas/codec.ts';
import { BlobText } from '../../../schemas/content.ts';
import { CallQuestion } from '../../../schemas/elicitation.ts';
import { BatchId, CallId, Digest, EffectId, RunId, SessionId, TimeMs } from '../../../schemas/ids.ts';
import { DELTAS_CHARS_MAX, INLINE_CHARS_MAX, MESSAGE_CHARS_MAX } from '../../../schemas/limits.ts';
import { RunOutcome, Usage } from '../../../schemas/run.ts';
import type { ClientEventData } from './client-event.ts';

const code = text('a code', { max: 64 });
const inline = text('a text', { max: INLINE_CHARS_MAX });
const streamed = either('StreamedText', inline, BlobText);
const tool = text('a tool name', { max: 256 });

/** A blob is an object, too: so it is tried before the arguments. */
const input = either(
  'StreamedInput',
  either('NamedInput', BlobText, jsonObject),
  text('a text', { max: DELTAS_CHARS_MAX }),
);

const block = { block_index: integer('a block', 0), block_type: oneOf('block_type', ['text', 'tool_use']) } as const;
const called = { tool, tool_call_id: CallId, input } as const;

export const CLIENT_EVENT_SHAPES: { readonly [Name in keyof ClientEventData]: Codec<ClientEventData[Name]> } = {
  thread_lifecycle: shape(
    'Lifecycle',
    {
      phase: oneOf('phase', ['started', 'completed', 'errored']),
      task_id: SessionId,
      turn_id: RunId,
      timestamp: TimeMs,
    },
    { outcome: RunOutcome },
  ),
  content_block_start: shape('ContentBlock', block),
  content_block_stop: shape('ContentBlock', block),
  // A slow reader gets what it missed in one piece.
  text_delta: shape('TextDelta', {
    text: either('StreamedDelta', text('a text', { max: DELTAS_CHARS_MAX }), BlobText),
  }),
  thinking_delta: shape('ThinkingDelta', { text: text('a text', { max: DELTAS_CHARS_MAX }) }),
  tool_call: shape('ToolCallMade', called),
  tool_result: shape('ToolCallEnded', { tool, tool_call_id: CallId, output: streamed, error: nullable(code) }),
  hitl_request: shape(
    'HitlRequest',
    {
      ...called,
      request_id: EffectId,
      task_id: SessionId,
      kind: oneOf('kind', ['permission', 'question', 'elicitation']),
      question: text('a question', { max: 512 }),
      created_at: TimeMs,
      batch_id: BatchId,
      arguments_digest: Digest,
    },
    { expires_at: TimeMs, asked: CallQuestion, attempt: integer('attempt', 1), question_digest: Digest },
  ),
  hitl_resolved: shape('HitlResolved', {
    request_id: EffectId,
    task_id: SessionId,
    tool_call_id: CallId,
    answer: nullable(streamed),
  }),
  usage: Usage,
  heartbeat: shape('StreamHeartbeat', {}) as Codec<object> as Codec<Readonly<Record<string, never>>>,
  error: shape(
    'StreamError',
    { error: code, message: text('a message', { max: MESSAGE_CHARS_MAX }) },
    { details: shape('StreamErrorDetails', { path: text('a path', { max: 4_096 }) }) },
  ),
};
