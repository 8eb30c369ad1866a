// What runs calls: each executor names its tools, and the bridge leases calls of these tools only.
import type { EffectOfKind } from '../../schemas/effect.ts';
import type { Digest } from '../../schemas/ids.ts';
import type { JsonObject } from '../../schemas/json.ts';
import type { RestorableFile } from '../host/undo/restore-files.ts';
import type { StopSwitch } from './stop-switch.ts';
import type { CallReport } from './call-report.ts';

/** Which call it is. `host_session.open` runs as a call of its own, outside of any batch. */
export type CallTarget = Pick<EffectOfKind<'tool.call'>, 'session_id' | 'call_id' | 'tool_id' | 'executor'>;

export interface CallContext {
  /** Aborts when the call is cancelled, out of time, or no longer this bridge's: stop, and return soon. */
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly outputBytesMax: number;
  /** Keeps bytes as a blob. */
  readonly putBlob: (bytes: Uint8Array) => Promise<Digest>;
}

/** A context whose signal is made when it is first looked at. */
export const contextOf = (stop: StopSwitch, rest: Omit<CallContext, 'signal'>): CallContext =>
  Object.defineProperty(new LazyContext(stop, rest), 'signal', SIGNAL) as LazyContext & Pick<CallContext, 'signal'>;

class LazyContext {
  readonly timeoutMs: number;
  readonly outputBytesMax: number;
  readonly putBlob: CallContext['putBlob'];
  readonly #stop: StopSwitch;

  constructor(stop: StopSwitch, { timeoutMs, outputBytesMax, putBlob }: Omit<CallContext, 'signal'>) {
    this.timeoutMs = timeoutMs;
    this.outputBytesMax = outputBytesMax;
    this.putBlob = putBlob;
    this.#stop = stop;
  }

  static signalOf(context: LazyContext): AbortSignal {
    return context.#stop.signal;
  }
}

// A property of the object itself, so that whoever copies a context copies its signal; and one function for all of
// them, because an accessor of its own would give each object a shape of its own.
const SIGNAL: PropertyDescriptor & ThisType<LazyContext> = {
  enumerable: true,
  get() {
    return LazyContext.signalOf(this);
  },
};

export interface Executor {
  /** Tool ids, exact or a prefix with a closing `*`. */
  readonly tools: readonly string[];
  /** May throw, and may be slow to stop: both become failed calls. */
  run(call: CallTarget, args: JsonObject, context: CallContext): Promise<CallReport>;
  /** Puts files of its workspace back as they were, all or none. Absent where it has no files. */
  readonly restore?: Restore;
}

export type Restore = (files: readonly RestorableFile[]) => CallReport;

export interface Executors {
  /** What to lease. */
  readonly tools: readonly string[];
  /** Whoever runs this tool: an exact name wins over a prefix, a longer prefix over a shorter one. */
  find(toolId: string): Executor | null;
  /** Of the first executor that has files. */
  readonly restore: Restore | null;
}

/** Throws a TypeError for a pattern that can match no tool, and for one that two executors name. */
export function combineExecutors(executors: readonly Executor[]): Executors {
  checkPatterns(executors);
  const routes = executors
    .flatMap((executor) => executor.tools.map((pattern) => ({ pattern, executor })))
    .sort((a, b) => b.pattern.length - a.pattern.length);
  return {
    tools: [...new Set(routes.map(({ pattern }) => pattern))].sort(),
    find: (toolId) => {
      const exact = routes.find(({ pattern }) => pattern === toolId);
      const prefix = routes.find(({ pattern }) => pattern.endsWith('*') && toolId.startsWith(pattern.slice(0, -1)));
      return (exact ?? prefix)?.executor ?? null;
    },
    restore: executors.find(({ restore }) => restore !== undefined)?.restore ?? null,
  };
}

function checkPatterns(executors: readonly Executor[]): void {
  const owners = new Map<string, Executor>();
  for (const executor of executors) {
    for (const pattern of executor.tools) {
      const prefix = pattern.endsWith('*') ? pattern.slice(0, -1) : pattern;
      if (pattern === '' || pattern.length > 128 || !/^[A-Za-z0-9_.-]*$/.test(prefix)) {
        throw new TypeError(`"${pattern}" matches no tool: give a tool id, or the beginning of one and a closing *`);
      }
      const owner = owners.get(pattern) ?? executor;
      if (owner !== executor) throw new TypeError(`two executors run "${pattern}": which of them is meant?`);
      owners.set(pattern, executor);
    }
  }
}
