// Runs one generate: fetches the conversation, asks the model, reports its answer.
import { isLeft, isRight } from 'fp-ts/lib/Either.js';
import type { EffectOfKind } from '../../schemas/effect.ts';
import type { Ingress } from '../../schemas/event.ts';
import type { BlobReader } from '../engine-link/blob-reader.ts';
import { type PutBlob, contentOf } from '../engine-link/text-content.ts';
import { LAYOUT_BYTES_MAX } from '../../schemas/limits.ts';
import type { Layout } from '../../schemas/model-turn.ts';
import type { BridgeClock } from '../../src/clock.ts';
import { eventIdOf } from '../engine-link/event-id.ts';
import type { HeldLeases } from '../engine-link/held-leases.ts';
import type { EngineClient } from '../../src/client/client.ts';
import type { OwnerId } from '../../schemas/ids.ts';
import { newDeltaSender } from './delta-sender.ts';
import { type Log, clip } from '../log.ts';
import { toObservedCalls } from './observed-calls.ts';
import type { Outbox } from '../engine-link/outbox.ts';
import {
  type GenerateReply,
  type GenerateRequest,
  type Message,
  type Provider,
  ProviderError,
} from '../providers/provider.ts';
import { replyFault } from '../providers/reply-fault.ts';
import type { Redactor } from '../secrets/redactor.ts';
import type { StopSwitch } from '../executors/stop-switch.ts';
import { type Failure, generateFailure } from './failure.ts';
import { layoutWithout } from './layout.ts';
import { type SecretFileCheck, newSecretFileCheck } from './secret-files.ts';
import { renderTranscript, textOf } from './transcript.ts';

type Generate = EffectOfKind<'llm.generate'>;

export interface GenerateRunnerOptions {
  readonly client: Pick<EngineClient, 'postDeltas'>;
  readonly owner: OwnerId;
  readonly provider: Provider;
  readonly redactor: Redactor;
  readonly blobs: BlobReader;
  readonly putBlob: PutBlob;
  readonly outbox: Outbox;
  readonly leases: HeldLeases;
  readonly clock: BridgeClock;
  readonly log: Log;
}

export interface GenerateRunner {
  /** Resolves when the engine has the outcome, or when the work was stopped. Never rejects. */
  run(effect: Generate, stop: StopSwitch): Promise<void>;
}

export function newGenerateRunner(options: GenerateRunnerOptions): GenerateRunner {
  const { provider, blobs, putBlob, outbox, leases, clock, log, redactor } = options;
  const withheld = newSecretFileCheck(redactor);

  async function run(effect: Generate, stop: StopSwitch): Promise<void> {
    const startedAt = clock.now();
    const elapsed = (): number => Math.max(0, Math.round(clock.now() - startedAt));
    const event = await answer(effect, stop.signal).catch((error: unknown) => generateFailure(error, redactor));
    // After the lease is lost the answer is not reported; a bridge that stops leaves the generate to the next one.
    if (stop.why !== null) return;
    const failure = 'kind' in event ? await report(effect, event, elapsed()) : event;
    if (failure !== null) await fail(effect, failure, elapsed());
    leases.end(effect);
  }

  async function answer(effect: Generate, signal: AbortSignal): Promise<Ingress> {
    const request = withoutSecrets(await requestOf(effect, { blobs, signal, withheld }), redactor);
    const { session_id, run_id, turn } = effect;
    const sizes = { messages: request.messages.length, tools: request.tools.length };
    log({ event: 'generate_started', session_id, run_id, turn, ...sizes });
    const deltas = newDeltaSender(options, effect);
    const reply = await provider.generate(request, signal, (delta) => deltas.add(delta)).finally(() => deltas.end());
    return await observed(effect, reply);
  }

  async function observed(effect: Generate, received: GenerateReply): Promise<Ingress> {
    const { run_id, turn } = effect;
    const fault = replyFault(received);
    if (fault !== null) throw new ProviderError('provider_terminal', `the provider's answer is invalid: ${fault}`);
    const reply = replyWithout(received, redactor);
    const content = reply.content?.toWellFormed() ?? '';
    const layout = await layoutOf(effect, reply, options);
    return {
      kind: 'ToolCallsObserved',
      event_id: eventIdOf(effect.effect_id, 'observed'),
      run_id,
      turn,
      calls: toObservedCalls(turn, reply.calls),
      ...(content === '' ? {} : { content: await contentOf(content, putBlob) }),
      ...(reply.usage === undefined ? {} : { usage: reply.usage }),
      ...(reply.stop === undefined ? {} : { stop: reply.stop }),
      ...(layout === null ? {} : { layout }),
    };
  }

  /** Null when nothing more is to be reported: the answer is recorded, or the run no longer expects it. */
  async function report(effect: Generate, event: Ingress, duration_ms: number): Promise<Failure | null> {
    const answered = await outbox.report(effect.session_id, event, effect.effect_id);
    const { session_id, run_id, turn } = effect;
    if (isRight(answered)) {
      const calls = event.kind === 'ToolCallsObserved' ? event.calls.length : 0;
      const usage = event.kind === 'ToolCallsObserved' && event.usage !== undefined ? { usage: event.usage } : {};
      log({ event: 'generate_settled', session_id, run_id, turn, calls, duration_ms, ...usage });
      return null;
    }
    const { code, message } = answered.left;
    if (!INVALID_REPLY.has(code)) return null;
    return { code: 'provider_terminal', message: clip(`the model's answer cannot be recorded: ${code}: ${message}`) };
  }

  async function fail(effect: Generate, failure: Failure, duration_ms: number): Promise<void> {
    const { effect_id, session_id, run_id, turn } = effect;
    log({ event: 'generate_failed', session_id, run_id, turn, ...failure, duration_ms });
    const event_id = eventIdOf(effect_id, 'failed');
    await outbox.report(session_id, { kind: 'GenerateFailed', event_id, run_id, turn, ...failure }, effect_id);
  }

  return { run };
}

/** The layout to record; null when there is none, or it is larger than is kept. */
async function layoutOf(
  effect: Generate,
  { layout }: GenerateReply,
  { putBlob, log }: GenerateRunnerOptions,
): Promise<Layout | null> {
  if (layout === undefined) return null;
  const parts = JSON.stringify(layout.parts);
  const bytes = Buffer.byteLength(parts);
  if (bytes <= LAYOUT_BYTES_MAX) {
    return { api: layout.api, model: layout.model, parts: await contentOf(parts, putBlob) };
  }
  const { session_id, run_id, turn } = effect;
  const why = `its parts have ${bytes} bytes; the maximum is ${LAYOUT_BYTES_MAX}`;
  log({ event: 'layout_dropped', session_id, run_id, turn, why });
  return null;
}

interface Reading {
  readonly blobs: BlobReader;
  readonly signal: AbortSignal;
  readonly withheld: SecretFileCheck;
}

async function requestOf(effect: Generate, { blobs, signal, withheld }: Reading): Promise<GenerateRequest> {
  const readBlob = (ref: Parameters<BlobReader['read']>[0]) => blobs.read(ref, signal);
  const kept = (ref: Parameters<BlobReader['kept']>[0]) => blobs.kept(ref);
  const messages = await renderTranscript(effect.transcript, { read: readBlob, kept, withheld });
  if (isLeft(messages)) {
    throw new ProviderError('provider_terminal', `cannot read the conversation: ${messages.left.message}`);
  }
  const { session_id, run_id, turn, model, output_tokens_max, tools } = effect;
  const { tool_choice, parallel_calls, reasoning, temperature } = effect;
  return {
    session_id,
    run_id,
    turn,
    provider: effect.provider,
    model,
    output_tokens_max,
    tools,
    instructions: effect.instructions === null ? null : await textOf(effect.instructions, readBlob),
    messages: messages.right,
    ...(tool_choice === undefined ? {} : { tool_choice }),
    ...(parallel_calls === undefined ? {} : { parallel_calls }),
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(temperature === undefined ? {} : { temperature }),
  };
}

// A person may have written a secret into the conversation, and a model may repeat one.
const withoutSecrets = (request: GenerateRequest, redactor: Redactor): GenerateRequest => ({
  ...request,
  instructions: request.instructions === null ? null : redactor.text(request.instructions),
  messages: request.messages.map((message) => messageWithout(message, redactor)),
});

function messageWithout(message: Message, redactor: Redactor): Message {
  const said = redactor.value(message);
  if (said === message || message.role !== 'assistant' || message.layout === undefined) return said;
  const { layout, ...rest } = message;
  const { text } = said;
  const kept = layoutWithout(layout, { text: message.text, redacted: text }, redactor);
  return { ...redactor.value(rest), ...(kept === null ? {} : { layout: kept }) };
}

function replyWithout({ content, calls, layout, ...reply }: GenerateReply, redactor: Redactor): GenerateReply {
  const text = content ?? '';
  const redacted = redactor.text(text);
  const kept = layout && layoutWithout(layout, { text, redacted }, redactor);
  return {
    ...redactor.value(reply),
    ...(content === undefined ? {} : { content: redacted }),
    calls: redactor.value(calls),
    ...(kept === undefined || kept === null ? {} : { layout: { ...kept, model: redactor.text(kept.model) } }),
  };
}

/** Refusals that the content of the reply causes. */
const INVALID_REPLY: ReadonlySet<string> = new Set(['invalid_shape', 'invalid_value', 'too_large', 'too_deep']);
