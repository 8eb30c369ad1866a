// The event that reports a turn: what the model said, without secrets, and what went over the wire.
import type { EffectOfKind } from '../../schemas/effect.ts';
import type { EventOfKind, Ingress } from '../../schemas/event.ts';
import type { Json } from '../../schemas/json.ts';
import { LAYOUT_BYTES_MAX } from '../../schemas/limits.ts';
import type { Layout } from '../../schemas/model-turn.ts';
import { eventIdOf } from '../engine-link/event-id.ts';
import { type PutBlob, contentOf } from '../engine-link/text-content.ts';
import type { Log } from '../log.ts';
import { textSteps } from '../providers/api/long-text.ts';
import { type GenerateReply, ProviderError } from '../providers/provider.ts';
import { replyFault } from '../providers/reply-fault.ts';
import { inBreaths } from '../secrets/breath.ts';
import { redactedText, redactedValue } from '../secrets/redact-value.ts';
import type { Redactor } from '../secrets/redactor.ts';
import { type CutOut, type ExchangeOptions, recordedExchange } from './exchange.ts';
import { layoutWithout } from './layout.ts';
import { toObservedCalls } from './observed-calls.ts';

type Generate = EffectOfKind<'llm.generate'>;

interface TurnOptions extends ExchangeOptions {
  readonly putBlob: PutBlob;
  readonly log: Log;
}

/** What was cut out so far. */
export type CutSoFar = { -readonly [K in keyof CutOut]: CutOut[K] };

interface Answered {
  /** As the provider gave it; it may be anything. */
  readonly answered: GenerateReply;
  /** Noted here too: whether the answer held a secret. */
  readonly cut: CutSoFar;
}

/** Throws a {@link ProviderError} when the answer is none that can be recorded. */
export async function observedTurn(
  options: TurnOptions,
  effect: Generate,
  { answered, cut }: Answered,
): Promise<Extract<Ingress, Pick<EventOfKind<'ToolCallsObserved'>, 'kind'>>> {
  const { run_id, turn } = effect;
  const { redactor, putBlob } = options;
  const fault = replyFault(answered);
  if (fault !== null) {
    const why = `the provider's answer is invalid: ${fault}`;
    throw new ProviderError('provider_terminal', why, null, (answered as GenerateReply | null)?.exchange ?? null);
  }
  const { exchange, ...received } = answered;
  const reply = await replyWithout(received, redactor);
  cut.reply =
    reply.content !== received.content ||
    reply.calls !== received.calls ||
    reply.layout?.parts !== received.layout?.parts;
  const content = reply.content?.toWellFormed() ?? '';
  const layout = await layoutOf(options, effect, reply);
  return {
    kind: 'ToolCallsObserved',
    event_id: eventIdOf(effect.effect_id, 'observed'),
    run_id,
    turn,
    calls: await inBreaths(toObservedCalls(turn, reply.calls)),
    ...(content === '' ? {} : { content: await contentOf(content, putBlob) }),
    ...(reply.usage === undefined ? {} : { usage: reply.usage }),
    ...(reply.stop === undefined ? {} : { stop: reply.stop }),
    ...(layout === null ? {} : { layout }),
    ...(await recordedExchange(options, exchange, cut)),
  };
}

/** The layout to record; null when there is none, or it is larger than is kept. */
async function layoutOf(
  { putBlob, log }: TurnOptions,
  effect: Generate,
  { layout }: GenerateReply,
): Promise<Layout | null> {
  if (layout === undefined) return null;
  const parts = await inBreaths(textSteps(layout.parts as unknown as Json));
  const bytes = Buffer.byteLength(parts);
  if (bytes <= LAYOUT_BYTES_MAX) {
    return { api: layout.api, model: layout.model, parts: await contentOf(parts, putBlob) };
  }
  const { session_id, run_id, turn } = effect;
  const why = `its parts have ${bytes} bytes; the maximum is ${LAYOUT_BYTES_MAX}`;
  log({ event: 'layout_dropped', session_id, run_id, turn, why });
  return null;
}

async function replyWithout(
  { content, calls, layout, ...reply }: GenerateReply,
  redactor: Redactor,
): Promise<GenerateReply> {
  const text = content ?? '';
  const redacted = await redactedText(text, redactor);
  const kept = layout && (await layoutWithout(layout, { text, redacted }, redactor));
  return {
    ...redactor.value(reply),
    ...(content === undefined ? {} : { content: redacted }),
    calls: await redactedValue(calls, redactor),
    ...(kept === undefined || kept === null ? {} : { layout: { ...kept, model: redactor.text(kept.model) } }),
  };
}
