// Executors run calls. Each lists its tools, and the bridge leases calls of these tools only.
import type { EffectOfKind } from '../../schemas/effect.ts';
import type { CallQuestion, CallResume, ElicitationAnswer } from '../../schemas/elicitation.ts';
import type { Digest } from '../../schemas/ids.ts';
import type { JsonObject } from '../../schemas/json.ts';
import type { PreviewedFiles } from '../../schemas/consent.ts';
import type { HostPlace } from '../../schemas/tool-set.ts';
import type { RestorableFile } from '../host/undo/restore-files.ts';
import type { StopSwitch } from './stop-switch.ts';
import type { CallAsk } from './call-ask.ts';
import type { CallReport } from './call-report.ts';
import type { PreviewReport } from './preview-report.ts';

/** Identifies a call. `host_session.open` also runs as a call, outside any batch. */
export type CallTarget = Pick<EffectOfKind<'tool.call'>, 'session_id' | 'call_id' | 'tool_id' | 'executor'>;

export interface CallContext {
  /**
   * Aborts when the call is cancelled, times out, or its lease is lost: stop, and return soon. {@link stopReasonOf} says which:
   * work that was noted is stopped outside only when the call was cancelled or timed out.
   */
  readonly signal: AbortSignal;
  /** How long the call may take, in milliseconds. */
  readonly timeoutMs: number;
  /** The most bytes of UTF-8 that the model reads of the output. */
  readonly outputBytesMax: number;
  /** Stores bytes as a blob. */
  readonly putBlob: (bytes: Uint8Array) => Promise<Digest>;
  /**
   * The files of the preview that the person named who allowed the call. When one of them is different now, `run` changes
   * nothing, and fails as `changed_since_preview`.
   */
  readonly previewed?: PreviewedFiles;
  /**
   * What the attempt before left: `run` continues with it, and does not begin again. Only an executor with `resumes` gets one.
   * `handle`: what `note` recorded. `state` and `answer`: of the question with which that attempt ended.
   */
  readonly resume?: ResumedWith;
  /**
   * Records what the work outside is called, before `run` waits for it: when this bridge is lost, the next attempt gets it as
   * `resume.handle`. A later note replaces an earlier one. False when it was not recorded: the work goes on, and is lost with
   * this bridge. Absent where nothing can be recorded; needs `resumes`.
   */
  readonly note?: (handle: string) => Promise<boolean>;
  /**
   * Asks a person, and resolves to the answer; to `cancel` when the question ends without one, or cannot be put. The time of the
   * call stands still meanwhile. When this bridge is lost, the question is withdrawn. Absent where nobody can be asked.
   */
  readonly ask?: (question: CallQuestion) => Promise<ElicitationAnswer>;
}

/** As {@link CallResume}, with its state as the text that the executor gave. */
export interface ResumedWith extends Omit<CallResume, 'state'> {
  readonly state?: string;
}

/** The signal is created when it is first read; see {@link StopSwitch.signal}. */
export const contextOf = (
  stop: StopSwitch,
  { timeoutMs, outputBytesMax, putBlob, ...rest }: Omit<CallContext, 'signal'>,
): CallContext => ({
  get signal() {
    return stop.signal;
  },
  timeoutMs,
  outputBytesMax,
  putBlob,
  ...rest,
});

export interface Executor {
  /** Tool ids, exact or as a prefix followed by `*`. */
  readonly tools: readonly string[];
  /**
   * Which definition of a tool `run` has the code of: its `tool_ref`, by tool id. A call that was planned with another one is
   * not run, and fails as `tool_changed`: it was judged, and perhaps allowed, as what that one says. A tool without an entry
   * runs whatever its definition says.
   */
  readonly definitions?: Readonly<Record<string, Digest>>;
  /**
   * It continues attempts of others: `run` reads `context.resume`. Without it, an attempt that has one is not run, and its
   * outcome is unknown; `note` throws, and `run` may not return a question.
   */
  readonly resumes?: true;
  /**
   * May throw, and may be slow to stop: both end as failed calls. A question instead of a report ends the attempt: the next one
   * gets its state and the answer, from whichever bridge.
   */
  run(call: CallTarget, args: JsonObject, context: CallContext): Promise<CallReport | CallAsk>;
  /**
   * What a call would do, found without doing it, for a person who is asked about it. An executor that has it compares
   * `previewed` in `run`. May throw, and may be slow: then there is no preview.
   */
  readonly preview?: Preview;
  /** Restores files of its workspace, all or none. Absent when the executor cannot restore files. */
  readonly restore?: Restore;
  /** Where its calls run; each start states it. Absent when the calls do not depend on a host. */
  readonly place?: HostPlace;
  /** Names the workspace of `restore`; undos of calls in other workspaces are not leased. */
  readonly workspace?: string;
}

export type Preview = (
  call: CallTarget,
  args: JsonObject,
  context: Pick<CallContext, 'signal'>,
) => PreviewReport | Promise<PreviewReport>;

export type Restore = (files: readonly RestorableFile[]) => CallReport;

export interface Executors {
  /** The patterns of all executors: what to lease. */
  readonly tools: readonly string[];
  /** The executor that runs this tool: an exact id wins over a prefix, a longer prefix over a shorter one. */
  find(toolId: string): Executor | null;
  /** Whether one of them makes previews. */
  readonly previews: boolean;
  /** The `restore` of the first executor that has one; null when none has. */
  readonly restore: Restore | null;
  /** The workspace of that executor; null when it names none. */
  readonly workspace: string | null;
}

/** Throws a TypeError for a pattern that can match no tool, and for one that two executors list. */
export function combineExecutors(executors: readonly Executor[]): Executors {
  checkPatterns(executors);
  const routes = executors
    .flatMap((executor) => executor.tools.map((pattern) => ({ pattern, executor })))
    .sort((a, b) => b.pattern.length - a.pattern.length);
  const restoring = executors.find(({ restore }) => restore !== undefined);
  return {
    tools: [...new Set(routes.map(({ pattern }) => pattern))].sort(),
    find: (toolId) => {
      const exact = routes.find(({ pattern }) => pattern === toolId);
      const prefix = routes.find(({ pattern }) => pattern.endsWith('*') && toolId.startsWith(pattern.slice(0, -1)));
      return (exact ?? prefix)?.executor ?? null;
    },
    previews: executors.some(({ preview }) => preview !== undefined),
    restore: restoring?.restore ?? null,
    workspace: restoring?.workspace ?? null,
  };
}

function checkPatterns(executors: readonly Executor[]): void {
  const owners = new Map<string, Executor>();
  for (const executor of executors) {
    for (const pattern of executor.tools) {
      const prefix = pattern.endsWith('*') ? pattern.slice(0, -1) : pattern;
      if (pattern === '' || pattern.length > 128 || !/^[A-Za-z0-9_.-]*$/.test(prefix)) {
        throw new TypeError(`"${pattern}" matches no tool: give a tool id, or a prefix of one followed by *`);
      }
      const owner = owners.get(pattern) ?? executor;
      if (owner !== executor) throw new TypeError(`two executors list "${pattern}": remove it from one of them`);
      owners.set(pattern, executor);
    }
  }
}
