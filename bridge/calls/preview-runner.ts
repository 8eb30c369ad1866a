// Finds out what a call would do that waits for a person, and reports it, or why that cannot be said. The call is not run, and
// an answer does not wait for this.
import * as E from 'fp-ts/lib/Either.js';
import { decode } from '../../schemas/codec.ts';
import type { EffectOfKind } from '../../schemas/effect.ts';
import { PREVIEW_WORK_MS_MAX } from '../../schemas/limits.ts';
import type { CallPreview, NoPreview } from '../../schemas/consent.ts';
import type { BridgeClock } from '../../src/clock.ts';
import { eventIdOf } from '../engine-link/event-id.ts';
import type { HeldLeases } from '../engine-link/held-leases.ts';
import type { Outbox } from '../engine-link/outbox.ts';
import { type PutBlob, contentOf } from '../engine-link/text-content.ts';
import type { Executor, Executors } from '../executors/executors.ts';
import { PreviewReport } from '../executors/preview-report.ts';
import type { StopSwitch } from '../executors/stop-switch.ts';
import { type Log, clip, messageOf } from '../log.ts';
import type { Redactor } from '../secrets/redactor.ts';
import { type ReadBlob, exactArguments } from './plan-check.ts';

type PreviewEffect = EffectOfKind<'call.preview'>;

interface PreviewRunnerOptions {
  readonly executors: Executors;
  readonly leases: HeldLeases;
  readonly outbox: Outbox;
  readonly readBlob: ReadBlob;
  readonly putBlob: PutBlob;
  readonly redactor: Redactor;
  readonly clock: BridgeClock;
  /** Different in every process. */
  readonly nonce: string;
  readonly log: Log;
}

export interface PreviewRunner {
  /** Resolves when the engine has the outcome, or when the work was stopped. */
  run(effect: PreviewEffect, stop: StopSwitch): Promise<void>;
}

export function newPreviewRunner(options: PreviewRunnerOptions): PreviewRunner {
  const { executors, leases, outbox, redactor, nonce, log } = options;
  let reported = 0;

  async function previewOf(effect: PreviewEffect, stop: StopSwitch): Promise<CallPreview | NoPreview> {
    const args = await exactArguments(effect, options.readBlob);
    if (E.isLeft(args)) return none(args.left.code ?? 'arguments_missing', args.left.text);
    const executor = executors.find(effect.tool_id);
    if (executor?.preview === undefined) {
      return none('no_preview', `this bridge makes no previews of calls of "${effect.tool_id}"`);
    }
    const report = await within(options.clock, stop, async () => askFor(executor, effect, args.right, stop));
    return 'diff' in report ? await kept(report, options) : redactor.value(report);
  }

  async function askFor(
    executor: Executor,
    effect: PreviewEffect,
    args: Parameters<NonNullable<Executor['preview']>>[1],
    stop: StopSwitch,
  ): Promise<PreviewReport> {
    const decoded = decode(PreviewReport, await executor.preview?.(effect, args, { signal: stop.signal }));
    if (E.isRight(decoded)) return decoded.right;
    const { path, message } = decoded.left;
    return none('preview_invalid', redactor.text(`the preview of the tool is invalid at "${path}": ${message}`));
  }

  return {
    async run(effect, stop) {
      const { session_id, batch_id, call_id, attempt, tool_id, arguments_digest, effect_id } = effect;
      const preview = await previewOf(effect, stop).catch((error: unknown) =>
        none('preview_failed', redactor.text(messageOf(error))),
      );
      if (stop.why !== null && stop.why !== 'timeout') return;
      const place = executors.find(tool_id)?.place;
      reported += 1;
      const answer = await outbox.report(
        session_id,
        {
          kind: 'CallPreviewed',
          // Of each preview another one: a call that asks again in another place gets a second one.
          event_id: eventIdOf(effect_id, `previewed/${nonce}/${reported}`),
          batch_id,
          call_id,
          attempt,
          arguments_digest,
          preview,
          ...(place === undefined ? {} : { place: redactor.value(place) }),
        },
        effect_id,
      );
      leases.end(effect);
      if (E.isLeft(answer)) return;
      const outcome = 'files' in preview ? { files: preview.files.length } : { code: preview.code };
      log({ event: 'call_previewed', session_id, batch_id, call_id, tool_id, ...outcome });
    },
  };
}

const none = (code: string, message: string): NoPreview => ({ code, message: clip(message) });

/** With its diff as content of an event. A path that holds a secret names no file: then there is no preview. */
async function kept(
  { diff, files }: Extract<PreviewReport, { readonly diff: string }>,
  { redactor, putBlob }: PreviewRunnerOptions,
): Promise<CallPreview | NoPreview> {
  if (files.some(({ path }) => redactor.text(path) !== path))
    return none('secret', 'the path of a file holds a secret');
  return { diff: await contentOf(redactor.text(diff), putBlob), files };
}

/** What the work returns; a reason when it takes too long. */
async function within(
  clock: BridgeClock,
  stop: StopSwitch,
  work: () => Promise<PreviewReport>,
): Promise<PreviewReport> {
  let cancel = (): void => undefined;
  const late = new Promise<PreviewReport>((resolve) => {
    cancel = clock.after(PREVIEW_WORK_MS_MAX, () => {
      resolve(none('timeout', `the preview took more than ${PREVIEW_WORK_MS_MAX} ms`));
      stop.stop('timeout');
    });
    stop.onStop(() => resolve(none('stopped', 'the bridge stopped')));
  });
  try {
    return await Promise.race([work(), late]);
  } finally {
    cancel();
    stop.onStop(null);
  }
}
