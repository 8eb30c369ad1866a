// Runs one compaction: asks the same model for a summary of the conversation (compact-request.ts), again with shorter texts when
// it cannot take the request, and reports it.
import type { EffectOfKind } from '../../schemas/effect.ts';
import type { Ingress } from '../../schemas/event.ts';
import { COMPACT_REQUESTS_MAX } from '../../schemas/limits.ts';
import { eventIdOf } from '../engine-link/event-id.ts';
import { contentOf } from '../engine-link/text-content.ts';
import type { StopSwitch } from '../executors/stop-switch.ts';
import { type GenerateReply, type GenerateRequest, ProviderError } from '../providers/provider.ts';
import { replyFault } from '../providers/reply-fault.ts';
import { compactRequest, readConversation } from './compact-request.ts';
import { type CutOut, type Exchanged, recordedExchange } from './exchange.ts';
import { type Failure, generateFailure } from './failure.ts';
import type { GenerateRunnerOptions } from './generate-runner.ts';

type Compact = EffectOfKind<'llm.compact'>;

export interface CompactRunner {
  /** Resolves when the engine has the outcome, or when the work was stopped. Never rejects. */
  run(effect: Compact, stop: StopSwitch): Promise<void>;
}

export function newCompactRunner(options: GenerateRunnerOptions): CompactRunner {
  const { provider, blobs, putBlob, outbox, leases, clock, log, redactor } = options;

  async function run(effect: Compact, stop: StopSwitch): Promise<void> {
    const startedAt = clock.now();
    const cut = { request: false, reply: false };
    const event = await answer(effect, stop.signal, cut).catch((error: unknown) => failureOf(error, cut));
    // After the lease is lost the answer is not reported; a bridge that stops leaves the compaction to the next one.
    if (stop.why !== null) return;
    await report(effect, event, Math.max(0, Math.round(clock.now() - startedAt)));
    leases.end(effect);
  }

  async function failureOf(error: unknown, cut: CutOut): Promise<Failed> {
    const exchange = error instanceof ProviderError ? error.exchange : null;
    return { failure: generateFailure(error, redactor), ...(await recordedExchange(options, exchange, cut)) };
  }

  async function answer(
    effect: Compact,
    signal: AbortSignal,
    cut: { -readonly [K in keyof CutOut]: boolean },
  ): Promise<Ingress> {
    const { session_id, run_id, turn, through } = effect;
    const whole = await readConversation(effect, blobs, signal);
    // What was not read before the work was stopped is missing in the conversation.
    signal.throwIfAborted();
    // Redacted as a whole, before any cut that could divide a secret.
    const conversation = redactor.value(whole);
    cut.request = conversation !== whole;
    log({ event: 'compact_started', session_id, run_id, turn, messages: conversation.messages.length });
    const reply = await ask((nth) => compactRequest(effect, conversation, nth), signal);
    const content = redactor.text(reply.content ?? '');
    cut.reply = content !== (reply.content ?? '');
    return {
      kind: 'ContextCompacted',
      event_id: eventIdOf(effect.effect_id, 'compacted'),
      run_id,
      turn,
      through,
      summary: await contentOf(summaryOf({ ...reply, content }), putBlob),
      ...(reply.usage === undefined ? {} : { usage: reply.usage }),
      ...(await recordedExchange(options, reply.exchange, cut)),
    };
  }

  /** Asks with shorter texts as long as the model cannot take the request. */
  async function ask(requestOf: (nth: number) => GenerateRequest, signal: AbortSignal): Promise<GenerateReply> {
    for (let nth = 1; ; nth += 1) {
      try {
        return replied(await provider.generate(requestOf(nth), signal));
      } catch (error) {
        const isTooLong = error instanceof ProviderError && error.code === 'context_length';
        if (!isTooLong || nth >= COMPACT_REQUESTS_MAX || signal.aborted) throw error;
      }
    }
  }

  async function report(effect: Compact, event: Ingress | Failed, duration_ms: number): Promise<void> {
    const { effect_id, session_id, run_id, turn } = effect;
    if ('kind' in event) {
      log({ event: 'compact_settled', session_id, run_id, turn, duration_ms });
      await outbox.report(session_id, event, effect_id);
      return;
    }
    const { failure, ...exchanged } = event;
    log({ event: 'compact_failed', session_id, run_id, turn, ...failure, duration_ms });
    const event_id = eventIdOf(effect_id, 'failed');
    const failed = { kind: 'CompactFailed', event_id, run_id, turn, ...failure, ...exchanged } as const;
    await outbox.report(session_id, failed, effect_id);
  }

  return { run };
}

/** An attempt that gave no summary. */
interface Failed extends Exchanged {
  readonly failure: Failure;
}

function replied(received: GenerateReply): GenerateReply {
  const fault = replyFault(received);
  if (fault === null) return received;
  throw noSummary(`the provider's answer is invalid: ${fault}`, received);
}

/** The text of a reply that is a whole summary. */
function summaryOf(reply: GenerateReply): string {
  const { content = '', calls, stop } = reply;
  const broken = stop !== undefined && ['length', 'refusal', 'filtered', 'paused'].includes(stop.reason);
  const summary = content.toWellFormed().trim();
  if (calls.length === 0 && !broken && summary !== '') return summary;
  const why = calls.length > 0 ? 'it made calls' : broken ? `it stopped for ${stop.reason}` : 'its answer is empty';
  throw noSummary(`the model wrote no summary: ${why}`, reply);
}

/** What the server answered is recorded with the failure. */
const noSummary = (message: string, { exchange }: GenerateReply): ProviderError =>
  new ProviderError('provider_terminal', message, null, exchange ?? null);
