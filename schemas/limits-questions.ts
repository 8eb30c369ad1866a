// The bounds of what running calls note and ask; part of `schemas/limits.ts`, which exports them.

/** Longest message of a question that a call asks, in UTF-16 units. A longer one is refused. */
export const QUESTION_MESSAGE_CHARS_MAX = 4_096;
/** Longest address in a question of a call, in UTF-16 units. A longer one is refused. */
export const QUESTION_URL_CHARS_MAX = 2_048;
/** Longest name of who asks a question, in UTF-16 units. A longer one is refused. */
export const QUESTION_SOURCE_CHARS_MAX = 128;
/** Largest question of a call, in bytes of its canonical JSON: mostly its schema. A larger one is refused. */
export const QUESTION_BYTES_MAX = 16_384;
/** Largest answer to a question of a call, in bytes of its canonical JSON. A larger one is refused. */
export const ELICITATION_ANSWER_BYTES_MAX = 8_192;
/** Most questions of one call, over all its attempts. One more is refused, and its bridge settles the call. */
export const QUESTIONS_PER_CALL_MAX = 64;
/** Longest handle of work that outlives a bridge, in UTF-16 units. A longer one is refused. */
export const CALL_HANDLE_CHARS_MAX = 2_048;
