// Runs one generate: fetches the conversation, asks the model, reports its answer.
import { isLeft, isRight } from 'fp-ts/lib/Either.js';
import type { EffectOfKind } from '../../schemas/effect.ts';
import type { Ingress } from '../../schemas/event.ts';
import type { BlobReader } from '../engine-link/blob-reader.ts';
import type { PutBlob } from '../engine-link/text-content.ts';
import type { BridgeClock } from '../../src/clock.ts';
import { eventIdOf } from '../engine-link/event-id.ts';
import type { HeldLeases } from '../engine-link/held-leases.ts';
import type { EngineClient } from '../../src/client/client.ts';
import type { OwnerId } from '../../schemas/ids.ts';
import { newDeltaSender } from './delta-sender.ts';
import { type Log, clip } from '../log.ts';
import type { Outbox } from '../engine-link/outbox.ts';
import { type GenerateRequest, type Provider, ProviderError } from '../providers/provider.ts';
import type { StopSwitch } from '../executors/stop-switch.ts';
import { newRequestCleaner } from './clean-request.ts';
import { type CutOut, type ExchangeOptions, type Exchanged, recordedExchange } from './exchange.ts';
import { type Failure, generateFailure } from './failure.ts';
import { type CutSoFar, observedTurn } from './observed-turn.ts';
import { type SecretFileCheck, newSecretFileCheck } from './secret-files.ts';
import { renderTranscript, textOf } from './transcript.ts';

type Generate = EffectOfKind<'llm.generate'>;

export interface GenerateRunnerOptions extends ExchangeOptions {
  readonly client: Pick<EngineClient, 'postDeltas'>;
  readonly owner: OwnerId;
  readonly provider: Provider;
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
  const { provider, blobs, outbox, leases, clock, log, redactor } = options;
  const withheld = newSecretFileCheck(redactor);
  const withoutSecrets = newRequestCleaner(redactor);

  async function run(effect: Generate, stop: StopSwitch): Promise<void> {
    const startedAt = clock.now();
    const elapsed = (): number => Math.max(0, Math.round(clock.now() - startedAt));
    const cut = { request: false, reply: false };
    const event = await answer(effect, stop.signal, cut).catch((error: unknown) => failureOf(error, cut));
    // After the lease is lost the answer is not reported; a bridge that stops leaves the generate to the next one.
    if (stop.why !== null) return;
    const failed = 'kind' in event ? await report(effect, event, elapsed()) : event;
    if (failed !== null) await fail(effect, failed, elapsed());
    leases.end(effect);
  }

  async function failureOf(error: unknown, cut: CutOut): Promise<Failed> {
    const failure = generateFailure(error, redactor);
    const exchange = error instanceof ProviderError ? error.exchange : null;
    return { failure, exchanged: await recordedExchange(options, exchange, cut) };
  }

  /** Notes in `cut` what was cut out. */
  async function answer(effect: Generate, signal: AbortSignal, cut: CutSoFar): Promise<Ingress> {
    const withholding: SecretFileCheck = async (bytes, ref) => {
      const found = await withheld(bytes, ref);
      if (found) cut.request = true;
      return found;
    };
    const whole = await requestOf(effect, { blobs, signal, withheld: withholding });
    const request = await withoutSecrets(whole);
    // What was not read before the work was stopped is missing in the request.
    signal.throwIfAborted();
    cut.request ||= request !== whole;
    const { session_id, run_id, turn } = effect;
    const sizes = { messages: request.messages.length, tools: request.tools.length };
    log({ event: 'generate_started', session_id, run_id, turn, ...sizes });
    const deltas = newDeltaSender(options, effect);
    const reply = await provider.generate(request, signal, (delta) => deltas.add(delta)).finally(() => deltas.end());
    return await observedTurn(options, effect, { answered: reply, cut });
  }

  /** Null when nothing more is to be reported: the answer is recorded, or the run no longer expects it. */
  async function report(effect: Generate, event: Ingress, duration_ms: number): Promise<Failed | null> {
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
    const exchange = event.kind === 'ToolCallsObserved' ? event.exchange : undefined;
    const why = clip(`the model's answer cannot be recorded: ${code}: ${message}`);
    return {
      failure: { code: 'provider_terminal', message: why },
      exchanged: exchange === undefined ? {} : { exchange },
    };
  }

  async function fail(effect: Generate, { failure, exchanged }: Failed, duration_ms: number): Promise<void> {
    const { effect_id, session_id, run_id, turn } = effect;
    log({ event: 'generate_failed', session_id, run_id, turn, ...failure, duration_ms });
    const event_id = eventIdOf(effect_id, 'failed');
    const event = { kind: 'GenerateFailed', event_id, run_id, turn, ...failure, ...exchanged } as const;
    await outbox.report(session_id, event, effect_id);
  }

  return { run };
}

interface Reading {
  readonly blobs: Pick<BlobReader, 'read' | 'kept'>;
  readonly signal?: AbortSignal;
  /** Which files must not be sent; none when absent. */
  readonly withheld?: SecretFileCheck;
}

/** An attempt that gave no answer. */
interface Failed {
  readonly failure: Failure;
  readonly exchanged: Exchanged;
}

/** The request of an effect, from what it states and the blobs alone: the same effect gives the same request. */
export async function requestOf(effect: Generate, { blobs, signal, withheld }: Reading): Promise<GenerateRequest> {
  const readBlob = (ref: Parameters<BlobReader['read']>[0]) => blobs.read(ref, signal);
  const kept = (ref: Parameters<BlobReader['kept']>[0]) => blobs.kept(ref);
  const messages = await renderTranscript(effect.transcript, {
    read: readBlob,
    kept,
    ...(withheld === undefined ? {} : { withheld }),
  });
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

/** Refusals that the content of the reply causes. */
const INVALID_REPLY: ReadonlySet<string> = new Set(['invalid_shape', 'invalid_value', 'too_large', 'too_deep']);
