// Calls that ask: the question that a running call puts to a person, the answer, and what an attempt leaves to the next one
// (docs/consent.md, "Questions of calls").
import { canonicalText, digestJson } from './canonical.ts';
import { type TypeOf, integer, jsonObject, oneOf, shape, text } from './codec.ts';
import { Content } from './content.ts';
import { Digest } from './ids.ts';
import {
  CALL_HANDLE_CHARS_MAX,
  QUESTIONS_PER_CALL_MAX,
  QUESTION_MESSAGE_CHARS_MAX,
  QUESTION_SOURCE_CHARS_MAX,
  QUESTION_URL_CHARS_MAX,
} from './limits.ts';

/**
 * What a running call asks. `schema`: the JSON Schema that the content of an answer must fit. `url`: shown to people, never
 * opened. `from`: who asks, such as the name of a server.
 */
export const CallQuestion = shape(
  'CallQuestion',
  { message: text('message', { max: QUESTION_MESSAGE_CHARS_MAX }) },
  {
    schema: jsonObject,
    url: text('url', { min: 1, max: QUESTION_URL_CHARS_MAX }),
    from: text('from', { min: 1, max: QUESTION_SOURCE_CHARS_MAX }),
  },
);
export type CallQuestion = TypeOf<typeof CallQuestion>;

/** `decline`: the person refuses to say. `cancel`: the person chose nothing, or the question ended without an answer. */
export const ElicitationAction = oneOf('action', ['accept', 'decline', 'cancel']);
export type ElicitationAction = TypeOf<typeof ElicitationAction>;

/** An answer to a question. Only `accept` has content. */
export const ElicitationAnswer = shape('ElicitationAnswer', { action: ElicitationAction }, { content: jsonObject });
export type ElicitationAnswer = TypeOf<typeof ElicitationAnswer>;

/** The answer to a question that ended without one of a person. */
export const WITHDRAWN: ElicitationAnswer = { action: 'cancel' };

/** What work outside is called by whoever does it: with it a later attempt can wait for the same work. */
export const CallHandle = text('handle', { min: 1, max: CALL_HANDLE_CHARS_MAX });

/** What the attempt before left to this one: a handle to wait with, or state and the answer of a person, or both. */
export const CallResume = shape('CallResume', {}, { handle: CallHandle, state: Content, answer: ElicitationAnswer });
export type CallResume = TypeOf<typeof CallResume>;

/** A question without an answer yet. `state`: the attempt that asked is over; the next one carries it with the answer. */
export const OpenQuestion = shape(
  'OpenQuestion',
  {
    asked: CallQuestion,
    /** The digest by which an answer names it. */
    digest: Digest,
  },
  { state: Content },
);
export type OpenQuestion = TypeOf<typeof OpenQuestion>;

/** An answer that the bridge of a running call is owed. */
export const OwedAnswer = shape('OwedAnswer', {
  answer: ElicitationAnswer,
  /** The place of the question among those of the call, from 1. */
  number: integer('number', 1, QUESTIONS_PER_CALL_MAX),
  question: Digest,
});
export type OwedAnswer = TypeOf<typeof OwedAnswer>;

/**
 * The digest by which an answer names a question. It contains the number of the question among those of its call, so that
 * an answer never counts for the same words asked again.
 */
export const callQuestionDigest = (asked: CallQuestion, number: number): Digest => digestJson({ asked, number });

/** The size of a question or of an answer: the bytes of its canonical JSON. */
export const elicitationBytes = (value: CallQuestion | ElicitationAnswer): number =>
  new TextEncoder().encode(canonicalText(value)).length;
