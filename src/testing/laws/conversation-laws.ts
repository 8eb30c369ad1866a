// Laws of the conversation that a model reads: every call it made since the summary, in order, each followed by its one
// result, each result as recorded, the summary first, and each turn with the layout that was recorded with it.
import { digestText } from '../../../schemas/canonical.ts';
import type { EventOfKind } from '../../../schemas/event.ts';
import { brand } from '../../../schemas/ids.ts';
import type { ModelMessage, ModelRequest } from '../bridge-world.ts';
import type { StoredSession } from './stored-session.ts';
import { excerptOf } from './execution-laws.ts';
import type { Judge } from './judge.ts';

type Shown = Extract<ModelMessage, { readonly role: 'tool' }>;

export function checkConversation({ messages, run_id, turn }: ModelRequest, stored: StoredSession, judge: Judge): void {
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
  const { calls, summary } = stored.asked.get(`${run_id}/${turn}`) ?? { calls: 0, summary: null };
  const recorded = [...stored.calls.keys()].slice(calls);
  checkSummary(messages[0], summary, judge);
  checkLayouts(messages, stored, judge);
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

/** The conversation begins with the summary, and the model does not read what it stands for. */
function checkSummary(first: ModelMessage | undefined, summary: string | null, judge: Judge): void {
  if (summary === null) return;
  const isShown = first?.role === 'user' && first.text.includes(summary);
  judge.check(isShown, 'the window is whole', () => `the model does not read the summary "${summary}" first`);
}

/** The turns of a model that writes layouts have different texts. */
function checkLayouts(messages: readonly ModelMessage[], stored: StoredSession, judge: Judge): void {
  const turns = new Map(
    stored.events.flatMap((event) =>
      event.kind === 'ToolCallsObserved' && event.content !== undefined && 'text' in event.content
        ? [[event.content.text, event.layout] as const]
        : [],
    ),
  );
  for (const message of messages) {
    const recorded = message.role === 'assistant' ? turns.get(message.text) : undefined;
    if (message.role !== 'assistant' || recorded === undefined) continue;
    judge.check(isShown(message, recorded), 'the window is whole', () => `"${message.text}" has another layout`);
  }
}

type Recorded = NonNullable<EventOfKind<'ToolCallsObserved'>['layout']>;

function isShown({ layout }: Extract<ModelMessage, { role: 'assistant' }>, { api, model, parts }: Recorded): boolean {
  const text = JSON.stringify(layout?.parts ?? null);
  const same = 'text' in parts ? text === parts.text : digestText(text) === parts.ref;
  return same && layout?.api === api && layout.model === model;
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
