// Opens the host session that a run waits for, and makes the event that reports it.
import type { EffectOfKind } from '../../schemas/effect.ts';
import type { Ingress } from '../../schemas/event.ts';
import { brand } from '../../schemas/ids.ts';
import { CALL_TIMEOUT_MS_DEFAULT, OUTPUT_BYTES_DEFAULT } from '../../schemas/limits.ts';
import type { PutBlob } from '../engine-link/text-content.ts';
import { clip } from '../log.ts';
import { runBounded } from './bounded-run.ts';
import type { BridgeClock } from '../../src/clock.ts';
import { eventIdOf } from '../engine-link/event-id.ts';
import { type Executor, contextOf } from './executors.ts';
import type { Redactor } from '../secrets/redactor.ts';
import type { StopSwitch } from './stop-switch.ts';

/** The tool that opens a session; a bridge without it does not lease the effect. */
export const OPEN_TOOL = 'host.session.open';

interface OpenOptions {
  readonly executor: Executor;
  readonly putBlob: PutBlob;
  readonly clock: BridgeClock;
  readonly stop: StopSwitch;
  readonly redactor: Redactor;
}

type Opened = Extract<Ingress, { readonly kind: 'HostSessionUpdated' }>;

/** Runs the tool and returns the event to report: `ready` with the session's facts, or `error` with the reason. */
export async function openHostSession(
  effect: EffectOfKind<'host_session.open'>,
  { executor, putBlob, clock, stop, redactor }: OpenOptions,
): Promise<Opened> {
  const tool_id = brand<'ToolId'>(OPEN_TOOL);
  const target = {
    session_id: effect.session_id,
    call_id: brand<'CallId'>('open'),
    tool_id,
    executor: { kind: 'effect', effect_kind: OPEN_TOOL },
  } as const;
  const timeoutMs = CALL_TIMEOUT_MS_DEFAULT;
  const context = contextOf(stop, { timeoutMs, outputBytesMax: OUTPUT_BYTES_DEFAULT, putBlob });
  const bounds = { clock, timeoutMs, stop, redactor };
  const { report } = await runBounded(async () => await executor.run(target, {}, context), bounds);
  const facts = report.host_session ?? {};
  const ready = report.success && (facts.host_session_status ?? 'ready') === 'ready';
  return {
    kind: 'HostSessionUpdated',
    event_id: eventIdOf(effect.effect_id, 'updated'),
    host_session: { ...facts, host_session_status: ready ? 'ready' : 'error' },
    ...(ready ? {} : { detail: clip(report.text) }),
  };
}
