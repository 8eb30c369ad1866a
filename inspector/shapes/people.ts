// What waits for people, and what they do.
import type { CallAddress, Refusal } from './addresses.ts';
import type { ConsentPolicy } from '../../schemas/consent.ts';
import type { Digest, SessionId, ToolId } from '../../schemas/ids.ts';
import type { JsonObject } from '../../schemas/json.ts';
import type { ForkedRun } from '../../schemas/wire.ts';
import type { FirstAnswer } from '../../src/client/first-answer.ts';
import type { ElicitationAnswer } from '../../schemas/elicitation.ts';
import type { Elicitation, PersonEffect, RequiredAction } from '../../src/core/index.ts';
import type { QuestionField } from '../../src/shown/question-fields.ts';
import type { DiffLine, UndoState } from './turn.ts';

export interface Waiting {
  readonly questions: readonly Question[];
  /** Sessions that could not be read. */
  readonly unread: readonly { readonly session_id: SessionId; readonly message: string }[];
}

export type Question = QuestionAboutCall | QuestionOfCall;

interface AnyQuestion {
  readonly action: PersonEffect;
  /** Names the question, as `--digest` of the commands. */
  readonly digest: Digest;
  /** Of its session. */
  readonly title: string | null;
}

/** May the call run, or: do it for the model. */
export interface QuestionAboutCall extends AnyQuestion {
  readonly kind: 'about_call';
  readonly action: RequiredAction;
  /** All arguments; null when they are stored and could not be read, and then the call cannot be allowed here. */
  readonly arguments: JsonObject | null;
  /** The arguments as people read them; the digest of `arguments` is what an answer sends. */
  readonly arguments_text: string;
  /** What would be granted, for the grants that are possible: whole tool, or a pattern on one argument. */
  readonly grants: { readonly session: string; readonly arguments: readonly string[] };
  /** What the call would do, as its bridge found it; null when none was asked. */
  readonly preview: QuestionPreview | null;
}

/** What a running call asks. */
export interface QuestionOfCall extends AnyQuestion {
  readonly kind: 'of_call';
  readonly action: Elicitation;
  /** Of the form that answers it; none when nothing is to be said. Null when the answer is JSON. */
  readonly fields: readonly QuestionField[] | null;
}

export type QuestionPreview =
  | { readonly state: 'shown'; readonly digest: Digest; readonly lines: readonly DiffLine[] }
  /** A bridge may say it yet. */
  | { readonly state: 'awaited' }
  | { readonly state: 'none'; readonly why: string };

export interface AnswerGiven {
  readonly session_id: SessionId;
  /** The digest of the question that the person has seen. */
  readonly digest: Digest;
  /** What was shown: the arguments, or what the call asks. The worker digests it, so that nothing else is answered. */
  readonly shown: JsonObject;
  /** The digest of the preview as it was shown; the call then runs only while its files are as they were. */
  readonly preview?: Digest;
  readonly answer: PersonAnswer;
}

export type PersonAnswer =
  | { readonly kind: 'allow' }
  | { readonly kind: 'allow_for_session' }
  | { readonly kind: 'allow_by_pattern'; readonly argument: string; readonly pattern: string }
  | { readonly kind: 'deny'; readonly message: string }
  /** Denies the call, and has the model's call made with these arguments in its place. */
  | { readonly kind: 'run_instead'; readonly arguments: JsonObject; readonly message: string }
  /** The result of a custom call. */
  | { readonly kind: 'fulfil'; readonly success: boolean; readonly text: string; readonly data: JsonObject | null }
  /** To what a call asks. */
  | { readonly kind: 'elicitation'; readonly result: ElicitationAnswer };

/** The definitions of one toolset that wait for approval. */
export interface WaitingToolset {
  readonly toolset: string;
  readonly owner: string;
  readonly tools: readonly WaitingDefinition[];
  /** How many more wait. */
  readonly rest: number;
}

export interface WaitingDefinition {
  readonly tool_id: ToolId;
  readonly digest: Digest;
  /** The definition whole, as it differs from the approved one; null when it cannot be read, and then not approved. */
  readonly lines: readonly DiffLine[] | null;
}

export type Act = { readonly session_id: SessionId } & (
  | { readonly kind: 'interrupt'; readonly input: string | null; readonly reason: string | null }
  | { readonly kind: 'pause' }
  | { readonly kind: 'resume' }
  /** The name of a preset, or a whole policy. It revokes every grant. */
  | { readonly kind: 'policy'; readonly policy: string | ConsentPolicy }
  | { readonly kind: 'undo'; readonly call: CallAddress }
  /** Definitions that were shown, by their digests. */
  | { readonly kind: 'approve_toolset'; readonly toolset: string; readonly tools: Readonly<Record<string, Digest>> }
  /** A new session with the first `at` events of this one. */
  | { readonly kind: 'fork'; readonly at: number; readonly run: ForkedRun; readonly to: SessionId | null }
);

export type Outcome =
  | {
      readonly taken: true;
      readonly position: number | null;
      /** The session that a fork made; else the session that was acted on. */
      readonly session_id: SessionId;
    }
  | {
      readonly taken: false;
      readonly refused: Refusal;
      /** Who was first, when the question was answered already; null otherwise. */
      readonly first: FirstAnswer | null;
    };

export interface UndoFiles {
  readonly undo: UndoState;
  readonly files: readonly {
    readonly path: string;
    /** What the undo does to it. */
    readonly does: 'remove' | 'put_back' | 'restore';
    readonly bytes: number | null;
  }[];
  readonly workspace: string | null;
  /** The command that starts a bridge for it and undoes it. */
  readonly command: string;
}
