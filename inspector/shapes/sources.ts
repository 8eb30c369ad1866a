// The engine, its sessions, and the sources of records.
import type { OfSource } from './addresses.ts';
import type { Scope } from '../../schemas/access.ts';
import type { ConsentState } from '../../schemas/consent.ts';
import type { Effect } from '../../schemas/effect.ts';
import type { CallId, Digest, RunId, SessionId } from '../../schemas/ids.ts';
import type { RunEnding, RunPhase, RunRecord, Usage } from '../../schemas/run.ts';
import type { SessionStatus } from '../../schemas/session-head.ts';
import type { EngineInfo, SessionSummary } from '../../schemas/wire.ts';
import type { PersonEffect } from '../../src/core/index.ts';
import type { Verdicts } from './verdicts.ts';

export interface ConnectTo {
  /** The origin of the engine, such as `http://127.0.0.1:4711`. */
  readonly url: string;
  readonly token: string;
  /** The scope that the token was given for. */
  readonly scope: Scope;
  /** The name of the person, recorded with each answer. */
  readonly by: string;
}

export interface Connected {
  readonly info: EngineInfo;
  readonly scope: Scope;
}

export interface SessionsWanted {
  readonly after?: SessionId;
  readonly limit: number;
  readonly status?: SessionStatus;
  /** Only sessions whose id or title contains it; letters in any case. */
  readonly text?: string;
}

export interface SessionsPage {
  readonly sessions: readonly SessionRow[];
  /** Ask for the sessions after this id; null at the end. A filtered page may be empty and yet have a next one. */
  readonly next: SessionId | null;
}

export interface SessionRow extends SessionSummary {
  /** What waits for a person; null when it could not be read. */
  readonly waits: readonly WaitingName[] | null;
  /** Its verdicts when it is open as a source. */
  readonly opened: (OfSource & { readonly verdicts: Verdicts }) | null;
}

export interface WaitingName {
  readonly kind: PersonEffect['kind'];
  readonly call_id: CallId;
  readonly tool_name: string;
  readonly due_at_ms: number | null;
}

export type SourceGiven =
  /** A session of the connected engine, which is followed. */
  | { readonly kind: 'engine'; readonly session_id: SessionId }
  /** An exported stream; it is read in slices and never as a whole. */
  | { readonly kind: 'file'; readonly name: string; readonly file: Blob }
  /** An exported stream that came with the page. */
  | { readonly kind: 'embedded'; readonly name: string; readonly text: string };

export interface OpenedSource extends OfSource {
  readonly kind: SourceGiven['kind'];
  /** The session id, or the name of the file. */
  readonly name: string;
  /** Null when the stream has no readable genesis record. */
  readonly session_id: SessionId | null;
  readonly can: {
    /** Its blobs can be read. */
    readonly blobs: boolean;
    /** New events come by themselves. */
    readonly live: boolean;
    /** Answers and acts are taken: an engine's session, and a token of scope operator. */
    readonly act: boolean;
  };
  readonly progress: Progress;
}

export interface Progress {
  /** Events read from the source in order. */
  readonly read: number;
  /** Events folded. */
  readonly folded: number;
  /** Events of the stream as far as known; null while it is not known. */
  readonly total: number | null;
  /** The fold has reached the end of what there is, or stopped. */
  readonly done: boolean;
}

export interface SessionFacts extends OpenedSource {
  /** Of the genesis record. */
  readonly genesis: {
    readonly created_at_ms: number;
    readonly rules: number | string;
    readonly tool_package_digest: Digest;
    readonly forked_from: { readonly session_id: SessionId; readonly position: number; readonly chain: Digest } | null;
  } | null;
  /** After the last event that was folded; null before the genesis record was. */
  readonly now: SessionNow | null;
  readonly verdicts: Verdicts;
}

/** A session after its last folded event. */
export interface SessionNow {
  /** The number of events folded. */
  readonly at: number;
  readonly at_ms: number;
  readonly title: string | null;
  readonly status: SessionStatus;
  readonly rules: number | string;
  readonly state_digest: Digest;
  /** The chain value of the last commit. */
  readonly chain: Digest;
  readonly run: LiveRun | null;
  /** The runs that ended, the oldest first, as far as the state keeps them. */
  readonly run_history: readonly EndedRun[];
  /** The profile in use and what chose it, as `refold explain` says it. */
  readonly profile: string;
  readonly consent: ConsentState;
  readonly host: { readonly status: string | null; readonly sandbox: string | null; readonly workspace: string | null };
  /** What the session owes now, in order. */
  readonly owed: readonly { readonly kind: Effect['kind']; readonly effect_id: string }[];
  readonly waits: readonly WaitingName[];
  readonly turns: number;
  readonly last_plan_hash: Digest | null;
}

export interface LiveRun {
  readonly run_id: RunId;
  readonly phase: RunPhase;
  readonly turn: number;
  readonly calls: number;
  readonly usage: Usage;
}

export interface EndedRun extends Pick<
  RunRecord,
  'run_id' | 'turn' | 'calls' | 'usage' | 'started_at_ms' | 'ended_at_ms'
> {
  readonly ending: Omit<RunEnding, 'output'>;
}
