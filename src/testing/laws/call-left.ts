// What the attempts of a call note, ask and leave to the next one, worked out from the events alone.
import { digestText } from '../../../schemas/canonical.ts';
import { type Content, isInline } from '../../../schemas/content.ts';
import type { ElicitationAnswer } from '../../../schemas/elicitation.ts';
import type { Digest } from '../../../schemas/ids.ts';
import type { ToolResume } from '../bridge-world.ts';

/** One question of a call. */
export interface CallAsked {
  readonly digest: Digest;
  readonly attempt: number;
  /** What the next attempt gets; null when the attempt that asked goes on. */
  readonly state: Content | null;
  /** Null while it has none, and when the call ended without one. */
  answer: ElicitationAnswer | null;
  open: boolean;
}

/** What an attempt gets. */
export interface Given {
  readonly handle?: string;
  readonly state?: Content;
  readonly answer?: ElicitationAnswer;
}

export interface CallLeft {
  /** The handle on record of work that the next attempt waits for. */
  noted: string | null;
  readonly questions: CallAsked[];
  /** What attempts get that go on with what others left, by attempt. */
  readonly given: Map<number, Given>;
  /** An attempt was left to be gone on with, and none has started since. */
  isLeft: boolean;
}

export const newCallLeft = (): CallLeft => ({ noted: null, questions: [], given: new Map(), isLeft: false });

/** The question that has no answer yet. */
export const openQuestion = ({ questions }: CallLeft): CallAsked | null => {
  const last = questions.at(-1);
  return last?.open === true ? last : null;
};

/** Ends the open question; with an answer, the next attempt gets it if the one that asked is over. Says whether there is one. */
export function closeQuestion(left: CallLeft, answer: ElicitationAnswer | null): boolean {
  const question = openQuestion(left);
  if (question === null) return false;
  question.open = false;
  question.answer = answer;
  if (question.state === null || answer === null) return false;
  const handle = left.noted === null ? {} : { handle: left.noted };
  left.given.set(question.attempt + 1, { ...handle, state: question.state, answer });
  return true;
}

/** Whether a tool gets the text that is recorded as this content. */
export const isStateOf = (content: Content | undefined, state: ToolResume['state']): boolean =>
  content === undefined || state === undefined
    ? content === state
    : isInline(content)
      ? content.text === state
      : content.ref === digestText(state);
