// Laws of what a model is shown: every call it made, in order, each followed by its one result, and each result what
// is on record.
import { brand } from '../../../schemas/ids.ts';
import type { ModelMessage, ModelRequest } from '../bridge-world.ts';
import type { Book } from './book.ts';
import { excerptOf } from './execution-laws.ts';
import type { Judge } from './judge.ts';

type Shown = Extract<ModelMessage, { readonly role: 'tool' }>;

export function checkConversation({ messages, run_id }: ModelRequest, book: Book, judge: Judge): void {
  const asked: string[] = [];
  let due: string[] = [];
  for (const message of messages) {
    if (message.role === 'tool') {
      judge.hold(
        due.shift() === message.call_id,
        'pairing',
        () => `the model reads a result of ${message.call_id} that is not due`,
      );
      checkResult(message, book, judge);
      continue;
    }
    judge.hold(due.length === 0, 'pairing', () => `the model reads no result of ${due[0]}`);
    due = message.role === 'assistant' ? message.calls.map(({ id }) => id) : [];
    asked.push(...due);
  }
  judge.hold(due.length === 0, 'pairing', () => `the model reads no result of ${due[0]}`);
  const recorded = [...book.calls.keys()];
  const inOrder = asked.every((id, index) => recorded[index] === id);
  judge.hold(inOrder, 'pairing', () => `the calls that the model reads are not those on record: ${asked.join(' ')}`);
  const live = book.state().run_history.every((run) => run.run_id !== run_id) || book.state().run?.run_id === run_id;
  judge.hold(
    live || wasOwed(book, run_id),
    'durable first',
    () => `the model is asked for ${run_id}, which is not on record`,
  );
}

const wasOwed = (book: Book, run_id: ModelRequest['run_id']): boolean =>
  book.states.some(({ run }) => run?.run_id === run_id);

function checkResult({ call_id, text, is_error }: Shown, book: Book, judge: Judge): void {
  const own = book.calls.get(brand<'CallId'>(call_id));
  const call = own?.planned?.shares === undefined ? own : book.call(own.planned.shares);
  if (call === undefined) {
    judge.fail('durable first', `the model reads a result of ${call_id}, which is not on record`);
    return;
  }
  if (call.settled === null) {
    const ended = call.planned === null || call.ended;
    judge.hold(ended && is_error, 'pairing', () => `the model reads a result of ${call_id}, which has none`);
    judge.hold(!text.includes('no result was recorded'), 'pairing', () => `no result of ${call_id} is on record`);
    return;
  }
  const recorded = excerptOf(call.settled);
  judge.hold(
    text.startsWith(recorded),
    'pairing',
    () => `the model reads another result of ${call_id} than is on record`,
  );
}
