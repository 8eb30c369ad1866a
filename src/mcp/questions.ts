// A call that waits for a person, as its host is told of it. The host speaks for its user: a model that runs it could say "the
// user allows it". So its answer counts only where the operator of refold said so; else the host learns the command with which
// a person answers at refold.
import { type InputRequiredResult, inputRequired } from '@modelcontextprotocol/server';
import type { EffectOfKind } from '../../schemas/effect.ts';
import type { Ingress } from '../../schemas/event.ts';
import type { BatchId, CallId, Digest, SessionId } from '../../schemas/ids.ts';
import { type Json, type JsonObject, isPlainObject } from '../../schemas/json.ts';
import { shownArguments } from '../../schemas/tool-call.ts';
import { allowing, denying, eliciting, fulfilling } from '../core/answers.ts';
import { type PersonEffect, type RequiredAction, isElicitation, questionDigest } from '../core/status.ts';
import { commandFor } from '../shown/shell-word.ts';
import { visible } from '../shown/visible.ts';

/** What a host brings back when it goes on with a call: which call it was, and which question it was asked. */
export interface CallToken {
  readonly session: SessionId;
  readonly batch_id: BatchId;
  readonly call_id: CallId;
  /** The question, with the digest of the arguments in it: an answer to another one does not count. */
  readonly question: Digest;
}

export const tokenOf = (action: PersonEffect): CallToken => ({
  session: action.session_id,
  batch_id: action.batch_id,
  call_id: action.call_id,
  question: questionDigest(action),
});

/** What to do so that the call goes on; `place` names the data directory in commands, where it is not the usual one. */
function howToAnswer(action: PersonEffect, place: string): string {
  return action.kind === 'agent.tool_use'
    ? `${commandFor('approve', action, place)}, or ${commandFor('deny', action, place)}`
    : commandFor('answer', action, `${answerOption(action)}${place === '' ? '' : ` ${place}`}`);
}

const answerOption = (action: PersonEffect): string =>
  isElicitation(action) ? `--action accept --data '{…}'` : '--text "…"';

export const asksMessage = (action: PersonEffect, place: string): string =>
  `the call ${action.call_id} of ${action.tool_name} waits for a person at refold. To answer: ${howToAnswer(action, place)}`;

const formGiven = (action: PersonEffect): JsonObject | undefined =>
  action.kind === 'agent.custom_tool_use' ? action.output_schema : undefined;

/** The key of the one question that a result asks: the title of its form, where that is a plain name. */
export function keyOf(action: PersonEffect): string {
  const form = isElicitation(action) ? action.asked.schema : formGiven(action);
  const title = form?.['title'];
  return typeof title === 'string' && /^[a-z][a-z0-9_]{0,63}$/.test(title) ? title : 'answer';
}

/** Puts the question to the person of the host. */
export function askHost(action: PersonEffect, state: string): InputRequiredResult {
  return inputRequired({
    requestState: state,
    inputRequests: { [keyOf(action)]: inputRequired.elicit(hostForm(action)) },
  });
}

/** The question as the form that the person of the host fills in. */
export const hostForm = (action: PersonEffect): { readonly message: string; readonly requestedSchema: FormSchema } => ({
  message: messageOf(action),
  requestedSchema: formOf(action) as FormSchema,
});

/** Tells the host that it may go on when a person has answered at refold; a host that can show it shows it. */
export function tellHost(message: string, state: string, canShow: boolean): InputRequiredResult {
  if (!canShow) return inputRequired({ requestState: state });
  const requestedSchema: FormSchema = { type: 'object', properties: {} };
  return inputRequired({
    requestState: state,
    inputRequests: { go_on: inputRequired.elicit({ message: `${message} Then go on.`, requestedSchema }) },
  });
}

type FormSchema = Exclude<
  Parameters<typeof inputRequired.elicit>[0]['requestedSchema'],
  { readonly '~standard': unknown }
>;

function messageOf(action: PersonEffect): string {
  if (isElicitation(action)) {
    const { message, url, from } = action.asked;
    const asks = from === undefined ? '' : `${from} asks: `;
    return visibleLines(`${asks}${message}${url === undefined ? '' : ` (${url})`}`);
  }
  if (action.kind === 'agent.custom_tool_use') {
    const message = action.arguments?.['message'];
    if (typeof message === 'string' && message !== '') return visibleLines(message);
  }
  const what = action.kind === 'agent.tool_use' ? 'May it run?' : 'What is its result?';
  return `${action.tool_name} with ${argumentsText(action).slice(0, SHOWN_CHARS)} (${action.arguments_digest}). ${what}`;
}

/** A text of others, whose lines stay: no mark of it hides or turns what the form says. */
const visibleLines = (text: string): string => text.split('\n').map(visible).join('\n');

/** Whether the form of a host shows every argument of the call that it would allow; else a person answers at refold. */
export const isShownWhole = (action: PersonEffect): boolean =>
  action.kind !== 'agent.tool_use' || (!('arguments_ref' in action) && argumentsText(action).length <= SHOWN_CHARS);

const argumentsText = (action: RequiredAction): string => visible(JSON.stringify(shownArguments(action)));

/** Characters of the arguments in a question. */
const SHOWN_CHARS = 2_000;

function formOf(action: PersonEffect): object {
  if (isElicitation(action)) {
    const { schema } = action.asked;
    return schema !== undefined && isForm(schema) ? schema : { type: 'object', properties: {} };
  }
  if (action.kind === 'agent.tool_use') {
    return {
      type: 'object',
      properties: { decision: { type: 'string', title: 'Decision', enum: ['allow', 'deny'] } },
      required: ['decision'],
    };
  }
  const { output_schema } = action;
  if (output_schema !== undefined && isForm(output_schema)) return output_schema;
  return { type: 'object', properties: { text: { type: 'string', title: 'Result' } }, required: ['text'] };
}

/** Whether a schema is one that hosts show as a form: an object with plain fields. */
function isForm({ type, properties }: JsonObject): boolean {
  if (type !== 'object' || !isPlainObject(properties)) return false;
  return Object.values(properties).every((field) => isPlainObject(field) && (isPlain(field) || isChoices(field)));
}

const PLAIN: ReadonlySet<string> = new Set(['string', 'number', 'integer', 'boolean']);

const isPlain = ({ type }: Readonly<Record<string, unknown>>): boolean => typeof type === 'string' && PLAIN.has(type);

const isChoices = ({ type, items }: Readonly<Record<string, unknown>>): boolean =>
  type === 'array' && isPlainObject(items) && (items['enum'] !== undefined || items['anyOf'] !== undefined);

interface Given {
  readonly by: string;
  /** The key of the question among the responses. */
  readonly key: string;
}

/** What the person of the host answered; null when they did not. */
export function hostAnswer(action: PersonEffect, responses: unknown, { by, key }: Given): Ingress | null {
  if (!isShownWhole(action)) return null;
  const response = isPlainObject(responses) && Object.hasOwn(responses, key) ? responses[key] : undefined;
  if (!isPlainObject(response)) return null;
  const { action: chosen } = response;
  if (chosen !== 'accept' && chosen !== 'decline') return null;
  const content = isPlainObject(response['content']) ? (response['content'] as JsonObject) : {};
  if (isElicitation(action)) {
    return eliciting(action, by, chosen === 'accept' ? { action: 'accept', content } : { action: 'decline' });
  }
  return action.kind === 'agent.tool_use'
    ? decided(action, { chosen, decision: content['decision'] }, by)
    : fulfilled(action, { chosen, content }, by);
}

interface Decided {
  readonly chosen: 'accept' | 'decline';
  readonly decision: Json | undefined;
}

function decided(action: EffectOfKind<'agent.tool_use'>, { chosen, decision }: Decided, by: string): Ingress | null {
  if (chosen === 'accept' && decision === 'allow') return allowing(action, by);
  if (chosen === 'accept' && decision !== 'deny') return null;
  return denying(action, by, { message: 'the person of the host denied it' });
}

interface Fulfilled {
  readonly chosen: 'accept' | 'decline';
  readonly content: JsonObject;
}

function fulfilled(action: EffectOfKind<'agent.custom_tool_use'>, { chosen, content }: Fulfilled, by: string): Ingress {
  if (chosen === 'decline') {
    return fulfilling(action, by, { success: false, output: { text: 'User response: action decline, no content' } });
  }
  const form = action.output_schema !== undefined && isForm(action.output_schema);
  const text =
    typeof content['text'] === 'string' && !form
      ? content['text']
      : `User response: action accept, content ${JSON.stringify(content)}`;
  return fulfilling(action, by, {
    success: true,
    output: { text: text.slice(0, 4_096) },
    ...(form ? { data: content } : {}),
  });
}
