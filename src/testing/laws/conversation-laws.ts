// Laws of the conversation that a model reads: every call it made, in order, each followed by its one result, and each
// result as recorded.
import { brand } from '../../../schemas/ids.ts';
import type { ModelMessage, ModelRequest } from '../bridge-world.ts';
import type { StoredSession } from './stored-session.ts';
import { excerptOf } from './execution-laws.ts';
import type { Judge } from './judge.ts';

type Shown = Extract<ModelMessage, { readonly role: 'tool' }>;

export function checkConversation({ messages, run_id }: ModelRequest, stored: StoredSession, judge: Judge): void {
  const asked: string[] = [];
  let due: string[] = [];
  for (const message of messages) {
    if (message.role === 'tool') {
      judge.check(
        due.shift() === message.call_id,
        'pairing',
        () => `the model reads a result of ${message.call_id} out of order`,
      );
      checkResult(message, stored, judge);
      continue;
    }
    judge.check(due.length === 0, 'pairing', () => `the model reads no result of ${due[0]}`);
    due = message.role === 'assistant' ? message.calls.map(({ id }) => id) : [];
    asked.push(...due);
  }
  judge.check(due.length === 0, 'pairing', () => `the model reads no result of ${due[0]}`);
  const recorded = [...stored.calls.keys()];
  const inOrder = asked.every((id, index) => recorded[index] === id);
  judge.check(inOrder, 'pairing', () => `the model reads other calls than are recorded: ${asked.join(' ')}`);
  const live =
    stored.state().run_history.every((run) => run.run_id !== run_id) || stored.state().run?.run_id === run_id;
  judge.check(
    live || wasOwed(stored, run_id),
    'durable first',
    () => `the model is asked for ${run_id}, which is not recorded`,
  );
}

const wasOwed = (stored: StoredSession, run_id: ModelRequest['run_id']): boolean =>
  stored.states.some(({ run }) => run?.run_id === run_id);

function checkResult({ call_id, text, is_error }: Shown, stored: StoredSession, judge: Judge): void {
  const own = stored.calls.get(brand<'CallId'>(call_id));
  const call = own?.planned?.shares === undefined ? own : stored.call(own.planned.shares);
  if (call === undefined) {
    judge.fail('durable first', `the model reads a result of ${call_id}, which is not recorded`);
    return;
  }
  if (call.settled === null) {
    const ended = call.planned === null || call.ended;
    judge.check(ended && is_error, 'pairing', () => `the model reads a result of ${call_id}, which has no result`);
    judge.check(!text.includes('no result was recorded'), 'pairing', () => `${call_id} has no recorded result`);
    return;
  }
  const recorded = excerptOf(call.settled);
  judge.check(
    text.startsWith(recorded),
    'pairing',
    () => `the model reads a result of ${call_id} that differs from the recorded one`,
  );
}
