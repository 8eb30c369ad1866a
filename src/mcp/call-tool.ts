// One `tools/call` of a host: its result, or what the host does to get it.
import {
  type CallToolResult,
  type InputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  inputRequired,
} from '@modelcontextprotocol/server';
import type { CallId } from '../../schemas/ids.ts';
import type { JsonObject } from '../../schemas/json.ts';
import { HOST_HOLD_MS, HOST_TASK_AFTER_MS } from '../../schemas/limits.ts';
import { unreachable } from '../../schemas/rejection.ts';
import { type PersonEffect, personEffects, questionDigest } from '../core/status.ts';
import { type Asked, canAnswer, canShow, hostName, isCancelled, isModern, takesTasks } from './asked.ts';
import type { Behind, CallAnswer } from './call-answer.ts';
import { newProgress } from './progress.ts';
import { type CallToken, askHost, asksMessage, hostAnswer, keyOf, tellHost, tokenOf } from './questions.ts';
import { createdTask } from './task-forms.ts';
import { outputSchemaOf, specOf } from './tool-list.ts';
import { errorResult, toolResult } from './tool-result.ts';

type Answered = CallToolResult | InputRequiredResult;

interface CalledTool {
  readonly name: string;
  readonly args: JsonObject;
  /** The host of an older protocol asks for a task. */
  readonly isTask: boolean;
}

export async function answerToolCall(asked: Asked, { name, args, isTask }: CalledTool): Promise<Answered> {
  const { host, context } = asked;
  const token = context.mcpReq.requestState<CallToken>();
  if (token !== undefined) return await goOn(asked, token);
  await host.opened;
  if (specOf(host.state(), name) === undefined) {
    const message = `there is no tool ${JSON.stringify(name.slice(0, 128))}; list the tools again`;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, message);
  }
  const { signal } = context.mcpReq;
  const progress = newProgress(context);
  await progress.tell('received');
  let made: CallId | null = null;
  const stopIfCancelled = (): void => {
    if (made !== null && isCancelled(asked)) void host.calls.cancel(made, hostName(asked)).catch(() => undefined);
  };
  signal.addEventListener('abort', stopIfCancelled, { once: true });
  const answer = await host.calls.call(name, args, {
    signal,
    onRecorded: (handle) => {
      made = handle;
      stopIfCancelled();
      void progress.tell('recorded');
    },
    onStarted: () => void progress.tell('running'),
    ...(isTask ? { task: 'at_once' } : takesTasks(asked) ? { task: 'late' } : {}),
  });
  signal.removeEventListener('abort', stopIfCancelled);
  if (answer.kind === 'ended') await progress.tell('ended');
  return await answered(asked, answer, null);
}

/** The host comes back to a call, perhaps with the answer of its person. */
async function goOn(asked: Asked, token: CallToken): Promise<Answered> {
  const { host, context } = asked;
  if (token.session !== host.session) {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `the call belongs to the session ${token.session}`);
  }
  const action = personEffects(host.state()).find(({ call_id }) => call_id === token.call_id);
  if (action !== undefined && questionDigest(action) === token.question && asked.hostAnswers) {
    const event = hostAnswer(action, context.mcpReq.inputResponses, { by: hostName(asked), key: keyOf(action) });
    const refused = event === null ? null : await host.submit(event);
    if (refused !== null) return errorResult(refused.code, refused.message);
  }
  const hold = newHold(asked, token.call_id);
  try {
    return await answered(asked, await host.calls.again(token.call_id, token.question, hold.signal), token);
  } finally {
    hold.end();
  }
}

/** How long a host that came back is held: until its call is a task, if it takes tasks. */
function newHold(asked: Asked, handle: CallId): { readonly signal: AbortSignal; readonly end: () => void } {
  const { clock, context, host } = asked;
  const hold = new AbortController();
  const release = (): void => hold.abort();
  const releaseTask = (): void => {
    const found = host.calls.find(handle);
    void found.then((call) => (call?.kind === 'task' && call.call.action === null ? release() : undefined), release);
  };
  const cancels = [clock.after(HOST_HOLD_MS, release)];
  if (takesTasks(asked)) cancels.push(clock.after(HOST_TASK_AFTER_MS, releaseTask));
  context.mcpReq.signal.addEventListener('abort', release, { once: true });
  return {
    signal: hold.signal,
    end: () => {
      for (const cancel of cancels) cancel();
      context.mcpReq.signal.removeEventListener('abort', release);
    },
  };
}

async function answered(asked: Asked, answer: CallAnswer, token: CallToken | null): Promise<Answered> {
  const { host, place } = asked;
  switch (answer.kind) {
    case 'ended':
      return await toolResult(host.client, answer.call, outputSchemaOf(host.state(), answer.call));
    case 'asks':
      return await ask(asked, answer.action);
    case 'task':
      // A host that takes no tasks comes back with what it has.
      return token !== null && !takesTasks(asked)
        ? inputRequired({ requestState: await asked.codec.mint(token, asked.context) })
        : createdTask(answer.call, isModern(asked));
    case 'busy':
      return errorResult('busy', `the call was not made or waits, because ${behindMessage(answer.behind, place)}`);
    case 'refused':
      return errorResult(answer.code, answer.why);
  }
  return unreachable(answer);
}

const behindMessage = (behind: Behind, place: string): string =>
  'action' in behind
    ? asksMessage(behind.action, place)
    : `the call ${behind.task} still runs as a task. Wait for its end (tasks/get), or cancel it; then call again`;

async function ask(asked: Asked, action: PersonEffect): Promise<Answered> {
  const { codec, context, place } = asked;
  const message = asksMessage(action, place);
  if (!isModern(asked) && !canAnswer(asked)) return errorResult('waits_for_person', `${message}. Then call again.`);
  const state = await codec.mint(tokenOf(action), context);
  return canAnswer(asked) ? askHost(action, state) : tellHost(`${message}.`, state, canShow(asked));
}
