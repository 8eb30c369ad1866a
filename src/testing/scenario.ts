// What happens in one simulation, as plain data: what people request, what the model answers, how the tools behave, and
// which faults happen when. `draw-scenario.ts` makes scenarios from seeds.
import type { ModelScript } from './model-script.ts';
import type { OutsideScript } from './outside/outside-script.ts';
import type { PreviewScript } from './preview-script.ts';
import type { ToolsetAct } from './toolset-script.ts';

/** The tools of the simulated world; see `sim-tools.ts`. `none` is that of a toolset, if there is one. */
export const SIM_TOOL_NAMES = ['read', 'write', 'put', 'solo', 'free', 'spare', 'ask', 'hand', 'none'] as const;
export type SimToolName = (typeof SIM_TOOL_NAMES)[number];

export const BEHAVIOURS = ['succeed', 'fail', 'throw', 'stubborn', 'misshapen', 'large', 'amend'] as const;

/** One call the model makes, and how its tool behaves. */
export interface CallScript {
  readonly tool: SimToolName;
  readonly path: string;
  readonly ms: number;
  /**
   * A person who is asked about the call denies a `fail`, amends an `amend` with other arguments, and first answers a
   * `throw` with the wrong arguments digest. `stubborn` ignores its signal; `misshapen` arguments do not fit the schema.
   */
  readonly does: (typeof BEHAVIOURS)[number];
  /** How many times the tool fails first, for a transient reason; absent: never. */
  readonly fails?: number;
  /** A person who allows the call also grants the calls of its tool that differ in `path` alone. */
  readonly grants?: boolean;
  /** How the preview of the call goes, in a scenario with previews; absent: it is found at once, and the answer names it. */
  readonly preview?: PreviewScript;
  /** What the call does outside its bridge, and what it asks; absent: nothing. */
  readonly outside?: OutsideScript;
}

/** The calls that the model makes in one turn; null: it does not answer. */
export type TurnScript = readonly CallScript[] | null;

/** Changes of what is allowed. They are drawn apart from the other acts, while calls wait. */
export const CHANGES = ['brake', 'ask_all', 'allow_all', 'redefine', 'host_close'] as const;

export const ACTS = [
  'run',
  'follow_up',
  'steer',
  'pause',
  'resume',
  'interrupt',
  'interrupt_with',
  'cancel',
  'undo',
  'disable_write',
  'force_write',
  'host_ready',
  ...CHANGES,
] as const;

/** What a person does, at a time in milliseconds; at 0, before the first run is requested. */
export interface Act {
  readonly atMs: number;
  readonly what: (typeof ACTS)[number];
}

export interface SessionScript {
  readonly turns: readonly TurnScript[];
  readonly acts: readonly Act[];
  readonly concurrency: number;
  /** How many calls a run may make. */
  readonly calls: number;
  /** How many tokens a run may use; null or absent: any number. */
  readonly tokens?: number | null;
  /** How long a run may take, in milliseconds; null or absent: any time. */
  readonly wallMs?: number | null;
  /** How long people are asked, in milliseconds; null or absent: until they answer. */
  readonly askedMs?: number | null;
  /** Absent: the model answers plainly, and nothing is compacted. */
  readonly model?: ModelScript;
  /** What happens to a toolset whose tool is called `none`; absent: there is none. */
  readonly toolset?: readonly ToolsetAct[];
}

export const MESSAGE_FAULTS = [
  'lose_request',
  'lose_answer',
  'duplicate',
  'delay_request',
  'delay_answer',
  'tamper',
] as const;

/** What happens to the `nth` message between bridges, people and the engine. */
export interface MessageFault {
  readonly nth: number;
  readonly what: (typeof MESSAGE_FAULTS)[number];
  readonly ms: number;
}

export const DISK_FAULTS = ['refused', 'unknown', 'lost_ack', 'slow'] as const;

/** What happens to the `nth` write to the disk. */
export interface DiskFault {
  readonly nth: number;
  readonly what: (typeof DISK_FAULTS)[number];
  readonly ms: number;
}

export const PROCESS_FAULTS = [
  'crash_engine',
  'crash_bridge',
  'crash_noting',
  'stop_bridge',
  'stall_bridge',
  'jump_engine',
  'jump_bridge',
] as const;

/**
 * What happens to a process. `bridge` counts from 0; `ms` is how long the process is down or stalled, or how far its clock
 * jumps. With `crash_noting` the bridge dies when its next ledger entry is durable, or at once when it has no files.
 */
export interface ProcessFault {
  readonly atMs: number;
  readonly what: (typeof PROCESS_FAULTS)[number];
  readonly bridge: number;
  readonly ms: number;
}

/** Whether the fault happens to the engine, and so disturbs every process. */
export const ofTheEngine = ({ what }: ProcessFault): boolean => what === 'crash_engine' || what === 'jump_engine';

/** What a client that holds no lease claims in its reports: nothing, an owner only, the holder's epoch, or an older one. */
export const STRANGER_CLAIMS = ['nothing', 'no_epoch', 'its_epoch', 'old_epoch'] as const;

/** At a time in milliseconds, a client reports on every effect that is owed, without holding any. */
export interface StrangerAct {
  readonly atMs: number;
  readonly claims: (typeof STRANGER_CLAIMS)[number];
}

export interface Scenario {
  /** Decides the delays of messages and the random numbers of the bridges. */
  readonly seed: number;
  readonly bridges: number;
  /** Whether the bridges, which share a machine, have files. */
  readonly files: boolean;
  /** Whether the engine writes snapshots of these short sessions and loads them when it restarts. */
  readonly snapshots: boolean;
  readonly sessions: readonly SessionScript[];
  readonly messages: readonly MessageFault[];
  readonly disk: readonly DiskFault[];
  readonly processes: readonly ProcessFault[];
  /** Absent: none. */
  readonly strangers?: readonly StrangerAct[];
  /** Whether the tool that asks makes previews, and then changes its file; absent: it does neither. */
  readonly previews?: boolean;
}

/** Whether the engine loads from snapshots. Without a restart or a disk fault they would never be read. */
export const loadsFromSnapshots = ({ snapshots, processes, disk }: Scenario): boolean =>
  snapshots && (disk.length > 0 || processes.some(({ what }) => what === 'crash_engine'));

/** No fault happens after this time, in milliseconds. */
export const FAULTS_END_MS = 16_000;
