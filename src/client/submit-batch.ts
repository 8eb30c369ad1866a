// Sends the submits of one turn of the event loop in one request: a bridge reports on many sessions at the same moment, and
// a request costs more than its content. Each submit gets its own answer, as if it were sent alone.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { SessionId } from '../../schemas/ids.ts';
import { BODY_BYTES_MAX, BODY_VALUES_MAX, SUBMITS_TOGETHER_MAX } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { type Submit, type SubmitReceipt, SubmitsReply } from '../../schemas/wire.ts';
import { platform } from '#client-platform';
import type { Transport } from './http-transport.ts';
import { rejectionFrom } from './problem.ts';
import { wireText } from './wire-text.ts';

type Receipt = Either<Rejection, SubmitReceipt>;
/** Sends one submit in a separate request. */
type SubmitAlone = (session: SessionId, text: string) => TaskEither<Rejection, SubmitReceipt>;

interface Waiting {
  readonly session: SessionId;
  readonly text: string;
  readonly bytes: number;
  readonly marks: number;
  readonly answer: (receipt: Receipt) => void;
}

/** The size of the session id and the JSON around one submit, in bytes. */
const FRAME_BYTES = 128;
/** The commas and brackets around one submit. */
const FRAME_MARKS = 3;

export function newSubmitBatch(
  { call, isShared }: Pick<Transport, 'call' | 'isShared'>,
  alone: SubmitAlone,
): (session: SessionId, request: Submit) => TaskEither<Rejection, SubmitReceipt> {
  let waiting: Waiting[] = [];

  async function flush(): Promise<void> {
    const all = waiting;
    waiting = [];
    while (all.length > 0) void send(removeGroup(all));
  }

  async function send(group: readonly Waiting[]): Promise<void> {
    const text = `{"submits":[${group.map(textOf).join(',')}]}`;
    const replied = group.length === 1 ? null : await call(SubmitsReply, { route: 'submits', text })();
    // When the whole request is refused, one submit may be at fault: each is sent alone, so that the others succeed.
    if (replied === null || (isLeft(replied) && replied.left.code !== 'closing')) {
      for (const one of group) void alone(one.session, one.text)().then(one.answer);
      return;
    }
    for (const [index, { answer }] of group.entries()) {
      answer(isLeft(replied) ? replied : receiptOf(replied.right.answers[index]));
    }
  }

  return (session, request) => () =>
    new Promise((answer) => {
      const wired = wireText(request ?? null);
      if (isLeft(wired)) {
        answer(wired);
        return;
      }
      if (isShared()) {
        void alone(session, wired.right.text)().then(answer);
        return;
      }
      if (waiting.length === 0) platform.afterThisTurn(() => void flush());
      waiting.push({ session, ...wired.right, answer });
    });
}

const textOf = ({ session, text }: Waiting): string => `{"request":${text},"session_id":"${session}"}`;

function receiptOf(answer: SubmitsReply['answers'][number] | undefined): Receipt {
  if (answer !== undefined && 'version' in answer) return right(answer);
  return left(rejectionFrom(answer) ?? reject('closing', '', 'the engine did not answer this submit; send it again'));
}

/** Removes the next submits that fit one request. */
function removeGroup(waiting: Waiting[]): readonly Waiting[] {
  let bytes = 0;
  let marks = FRAME_MARKS;
  let count = 0;
  for (const one of waiting) {
    bytes += one.bytes + FRAME_BYTES;
    marks += one.marks + FRAME_MARKS;
    const full = bytes > BODY_BYTES_MAX || marks > BODY_VALUES_MAX;
    if (count === SUBMITS_TOGETHER_MAX || (count > 0 && full)) break;
    count += 1;
  }
  return waiting.splice(0, count);
}
