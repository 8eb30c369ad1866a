// Runs one leased call: checks it against the plan, records its start unless it is read-only, runs it, reports it, and
// releases the lease.
import { type Either, bimap, chain, isLeft, left, map, right } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { CallResume } from '../../schemas/elicitation.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import { isInline } from '../../schemas/content.ts';
import type { Ingress } from '../../schemas/event.ts';
import type { Digest, OwnerId } from '../../schemas/ids.ts';
import type { JsonObject } from '../../schemas/json.ts';
import type { CallSchedule } from './call-schedule.ts';
import type { PutBlob } from '../engine-link/text-content.ts';
import { newCallReporter } from './call-reporter.ts';
import { newCallQuestions } from './call-questions.ts';
import { newCallStarts } from './call-start.ts';
import { type CallEnd, type RunTime, notRun, runBounded } from '../executors/bounded-run.ts';
import type { BridgeClock } from '../../src/clock.ts';
import { type CallReport, failedReport } from '../executors/call-report.ts';
import {
  type CallContext,
  type Executor,
  type Executors,
  type ResumedWith,
  contextOf,
} from '../executors/executors.ts';
import type { HeldCall, ToolCall } from './held-call.ts';
import type { EngineClient } from '../../src/client/client.ts';
import type { Link } from '../engine-link/link.ts';
import type { BridgeLedger } from '../ledger/bridge-ledger.ts';
import type { HeldLeases } from '../engine-link/held-leases.ts';
import { type Log, clip, messageOf } from '../log.ts';
import type { Outbox } from '../engine-link/outbox.ts';
import type { PlanCheck, ReadBlob } from './plan-check.ts';
import type { Redactor } from '../secrets/redactor.ts';
import type { StopReason } from '../executors/stop-switch.ts';
import { settlementOf, unknownSettlement, unreportableSettlement, unresumedSettlement } from './settlement.ts';

export interface CallRunnerOptions {
  readonly owner: OwnerId;
  /** Different in every process, so that a recorded start is known to come from this process. */
  readonly nonce: string;
  readonly executors: Executors;
  readonly redactor: Redactor;
  readonly schedule: CallSchedule;
  readonly leases: HeldLeases;
  readonly outbox: Outbox;
  readonly client: EngineClient;
  readonly link: Link;
  readonly planCheck: PlanCheck;
  readonly ledger: BridgeLedger;
  readonly putBlob: PutBlob;
  readonly readBlob: ReadBlob;
  readonly clock: BridgeClock;
  readonly random: () => number;
  readonly log: Log;
  /** Starts other calls that may run now; called when a call has settled or no longer runs. */
  readonly startReady: () => void;
}

export interface CallRunner {
  /** Runs a call that the schedule has started; resolves when nothing is left to do for it. Never rejects. */
  run(call: HeldCall): Promise<void>;
  /** Stops a call: immediately if it waits, through its signal if it runs. */
  stop(call: HeldCall, why: StopReason): void;
}

export function newCallRunner(options: CallRunnerOptions): CallRunner {
  const { schedule, leases, putBlob, log } = options;
  const reporter = newCallReporter(options);
  const starts = newCallStarts(options);
  const questions = newCallQuestions({ ...options, recordStart: starts.recordAnyway });

  async function run(call: HeldCall): Promise<void> {
    const known = knownEnd(options, call);
    if (known !== null) {
      schedule.endRun(call);
      await reporter.settle(call, known);
      options.startReady();
      return;
    }
    const end = await endOf(call);
    schedule.endRun(call);
    options.startReady();
    if (end !== null && !isAbandoned(call)) await report(call, end);
    else drop(options, call, call.stop.why ?? 'start_refused');
    options.startReady();
  }

  /** How it ended; null when it never ran and another bridge may run it. */
  async function endOf(call: HeldCall): Promise<CallEnd | null> {
    const { effect } = call;
    const ready = await readyToRun(options, call);
    // On record before the call runs, or before it is reported as failed: the engine accepts no other outcome.
    if (!(await starts.record(call))) return null;
    if (isLeft(ready)) return notRun(ready.left);
    if (!effect.repeatable) {
      const fault = await reporter.noteStart(call);
      if (fault !== null) return notRun(fault);
    }
    // If this process was suspended meanwhile, another bridge may hold the call by now, or run calls that conflict with it.
    if (!leases.isFresh(effect)) return mustEnd(call) ? notRun(failedReport('lease_lost', LEASE_EXPIRED)) : null;
    const { session_id, batch_id, call_id, tool_id, group, attempt } = effect;
    log({ event: 'call_started', session_id, batch_id, call_id, tool_id, group, attempt });
    return await runCode(options, call, ready.right, (time) => questions.toolsFor(call, time));
  }

  async function report(call: HeldCall, { asked, ...end }: CallEnd): Promise<void> {
    const left = asked === undefined ? null : await questions.leave(call, asked);
    if (left === 'left') {
      reporter.leave(call);
      return;
    }
    await settle(call, left === null ? end : { ...end, ...left });
  }

  async function settle(call: HeldCall, end: CallEnd): Promise<void> {
    const event = await settlementOf(call.effect, end, putBlob).catch((error: unknown) =>
      unreportableSettlement(call.effect, { code: 'blob_refused', message: messageOf(error) }),
    );
    const answer = await reporter.settle(call, event);
    if (isLeft(answer)) return;
    const { outcome, durationMs: duration_ms } = end;
    const { session_id, batch_id, call_id, tool_id } = call.effect;
    const code = end.report.code ?? 'tool_failed';
    if (outcome === 'succeeded') {
      log({ event: 'call_settled', session_id, batch_id, call_id, tool_id, outcome, duration_ms });
    } else {
      const error = clip(end.report.text);
      log({ event: 'call_settled', session_id, batch_id, call_id, tool_id, outcome, code, error, duration_ms });
    }
  }

  return {
    run,
    stop(call, why) {
      if (call.phase === 'waiting') drop(options, call, why);
      else call.stop.stop(why);
    },
  };
}

// The lease of a call that stops with its bridge is given back with all others; any other lease is left to expire.
function drop({ schedule, leases, log }: CallRunnerOptions, call: HeldCall, why: string): void {
  schedule.drop(call);
  if (why !== 'stopping') leases.end(call.effect);
  const { session_id, batch_id, call_id, tool_id } = call.effect;
  log({ event: 'call_dropped', session_id, batch_id, call_id, tool_id, why });
}

/** How a call settles that is not run here, because an earlier process began it. */
function knownEnd({ ledger, executors }: CallRunnerOptions, call: HeldCall): Ingress | null {
  const noted = ledger.find(call.effect);
  if (noted !== null) return noted.event ?? unknownSettlement(call.effect);
  const unresumed = whyUnresumed(call, executors);
  return unresumed === null ? null : unresumedSettlement(call.effect, unresumed);
}

/** Runs the code of a call within its bounds; `toolsFor`: what it may tell meanwhile. */
async function runCode(
  { clock, putBlob, redactor }: CallRunnerOptions,
  call: HeldCall,
  { code, args, resume }: Ready,
  toolsFor: (time: RunTime) => Pick<CallContext, 'ask' | 'note'>,
): Promise<CallEnd> {
  const run = async (time: RunTime): Promise<unknown> => {
    const tools = { ...toolsFor(time), ...(code.resumes === true ? {} : NO_NOTES) };
    return await code.run(call.effect, args, contextFor(call, { putBlob, resume, ...tools }));
  };
  const end = await runBounded(run, { clock, timeoutMs: call.effect.timeout_ms, stop: call.stop, redactor });
  return end.asked === undefined || code.resumes === true ? end : { ...end, ...NOT_RESUMING };
}

type Given = Pick<CallContext, 'ask' | 'note' | 'putBlob'> & { readonly resume: ResumedWith | undefined };

function contextFor({ effect, stop }: HeldCall, { resume, ...given }: Given): CallContext {
  const { timeout_ms: timeoutMs, output_bytes_max: outputBytesMax, previewed } = effect;
  return contextOf(stop, {
    timeoutMs,
    outputBytesMax,
    ...given,
    ...(previewed === undefined ? {} : { previewed }),
    ...(resume === undefined ? {} : { resume }),
  });
}

/** Why this process cannot continue what an attempt before began; null when there is nothing to continue, or it can. */
function whyUnresumed({ effect: { resume, tool_id } }: HeldCall, executors: Executors): string | null {
  const executor = executors.find(tool_id);
  return resume === undefined || executor === null || executor.resumes === true
    ? null
    : `An earlier attempt began this call, and the executor of "${tool_id}" cannot continue it`;
}

const NO_NOTES: Pick<CallContext, 'note'> = {
  note: () => Promise.reject(new Error(NOT_NOTING)),
};

/** The exact arguments of a call and the code that runs it; the report of a call that must not run. */
async function readyToRun(
  { planCheck, executors, readBlob }: CallRunnerOptions,
  { effect, batch: { plan } }: HeldCall,
): Promise<Either<CallReport, Ready>> {
  const toolRef = planCheck.toolRefOf(effect, plan);
  const args = await planCheck.check(effect, plan);
  if (isLeft(args)) return args;
  const code = codeFor(effect, executors.find(effect.tool_id), toolRef, args.right);
  return effect.resume === undefined ? code : await withResume(code, effect.resume, readBlob);
}

/** With what the attempt before left; its state is the text that the executor gave. */
async function withResume(
  code: Either<CallReport, Ready>,
  { state, ...resume }: CallResume,
  readBlob: ReadBlob,
): Promise<Either<CallReport, Ready>> {
  const read = state === undefined || isInline(state) ? null : await readBlob(state.ref);
  const text = (): Either<CallReport, string | undefined> => {
    if (read === null) return right(state !== undefined && isInline(state) ? state.text : undefined);
    return bimap(unreadable, (bytes: Uint8Array) => new TextDecoder().decode(bytes))(read);
  };
  return pipe(
    code,
    chain((ready) =>
      pipe(
        text(),
        map((given) => ({ ...ready, resume: given === undefined ? resume : { ...resume, state: given } })),
      ),
    ),
  );
}

const unreadable = ({ message }: Rejection): CallReport => failedReport('resume_unreadable', message);

interface Ready {
  readonly code: Executor;
  readonly args: JsonObject;
  readonly resume?: ResumedWith;
}

/** The executor of a call; the report of a call that this process has no code for, or cannot compare the files of. */
function codeFor(
  { tool_id, previewed }: ToolCall,
  executor: Executor | null,
  planned: Digest | null,
  args: JsonObject,
): Either<CallReport, Ready> {
  if (executor === null) {
    return left(failedReport('executor_missing', `no executor of this bridge runs "${tool_id}"`));
  }
  if (previewed !== undefined && executor.preview === undefined) {
    return left(failedReport('changed_since_preview', NOT_COMPARED));
  }
  const { definitions = {} } = executor;
  const isChanged = Object.hasOwn(definitions, tool_id) && definitions[tool_id] !== planned;
  return isChanged ? left(failedReport('tool_changed', TOOL_CHANGED)) : right({ code: executor, args });
}

const TOOL_CHANGED =
  'the call was not run: its tool has changed since the call was planned. Make the call again if it is still needed.';

const NOT_COMPARED =
  'the call was not run: a person allowed it with a preview, and this bridge cannot compare the files with those of the ' +
  'preview. Make the call again if it is still needed.';

/** An executor that asked and cannot continue. */
const NOT_RESUMING = {
  asked: undefined,
  report: failedReport('invalid_output', 'the executor ended with a question, and cannot continue: give it "resumes"'),
};
const NOT_NOTING = 'the executor notes what it waits for, and cannot continue: give it "resumes"';

const LEASE_EXPIRED =
  'the call was not run: the bridge was suspended until its lease expired. Make the call again if it is still needed.';

/**
 * Its start is recorded and it must not run twice, so no other bridge will run it: this one reports its end. Another bridge waits
 * for what a noted one began.
 */
const mustEnd = ({ started, noted, effect }: HeldCall): boolean => started && !effect.repeatable && !noted;

// Stopped while another bridge may run it, or wait for what it began, and not cancelled by the engine: it stays owed.
const isAbandoned = (call: HeldCall): boolean =>
  !mustEnd(call) && (call.stop.why === 'lost' || call.stop.why === 'stopping');

/** Random text that distinguishes this process from others. */
export const newNonce = (random: () => number): string => Math.floor(random() * 2 ** 48).toString(36);
