// What an executor returns instead of a report when its attempt ends with a question to a person. It is decoded, as a report is.
import { type TypeOf, shape, text } from '../../schemas/codec.ts';
import { CallQuestion } from '../../schemas/elicitation.ts';
import { BLOB_BYTES_MAX } from '../../schemas/limits.ts';

/** `ask`: the question. `state`: what the next attempt gets, unchanged, together with the answer. */
export const CallAsk = shape('CallAsk', { ask: CallQuestion, state: text('state', { max: BLOB_BYTES_MAX }) });
export type CallAsk = TypeOf<typeof CallAsk>;
