// `tasks/*`: a host comes back for a call by its id, over this connection or another, before or after a restart.
import {
  type CallToolResult,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  RELATED_TASK_META_KEY,
  type ProtocolEra,
  type Server,
  type ServerContext,
  inputRequired,
} from '@modelcontextprotocol/server';
import { brand } from '../../schemas/ids.ts';
import { isPlainObject } from '../../schemas/json.ts';
import { HOST_TASKS_LISTED_MAX, HOST_TASK_AFTER_MS } from '../../schemas/limits.ts';
import { type PersonEffect, questionDigest } from '../core/status.ts';
import { type Asked, type McpServerOptions, TASKS_EXTENSION, canAnswer, hostName, takesTasks } from './asked.ts';
import type { FoundCall } from './call-answer.ts';
import { asksMessage, hostAnswer, hostForm } from './questions.ts';
import { type TaskFields, type TaskStatus, taskFields, taskStatusOf } from './task-forms.ts';
import { outputSchemaOf } from './tool-list.ts';
import { toolResult } from './tool-result.ts';

type Said = Readonly<Record<string, unknown>>;
type Handler = (asked: Asked, params: Said) => Promise<Record<string, unknown>>;

/** Each protocol has its own methods; the SDK refuses the others of each. */
export function addTasks(server: Server, options: McpServerOptions, era: ProtocolEra): void {
  const methods = era === 'modern' ? MODERN : LEGACY;
  for (const [method, handle] of Object.entries(methods)) {
    const answer = (params: Said, context: ServerContext) => handle({ ...options, server, context }, params);
    server.setRequestHandler(method, { params: anything }, answer);
  }
}

/** Every object passes: what a host says is read field by field. */
const anything = {
  '~standard': {
    version: 1,
    vendor: 'refold',
    validate: (value: unknown) => (isPlainObject(value) ? { value } : { issues: [{ message: 'must be an object' }] }),
    types: undefined as unknown as { readonly input: Said; readonly output: Said },
  },
} as const;

/** The methods of the extension of 2026-07-28. */
const MODERN: Readonly<Record<string, Handler>> = {
  'tasks/get': async (asked, params) => {
    const found = await declared(asked, params);
    const status = statusOf(asked, found);
    const fields = { ...taskFields(found, status, true), ...standing(asked, found) };
    if (found.kind === 'ended') {
      const result = status === 'cancelled' ? undefined : await resultOf(asked, found);
      const error = { code: ProtocolErrorCode.InternalError, message: textOf(result) };
      if (status === 'failed') return { ...fields, error };
      return result === undefined ? fields : { ...fields, result };
    }
    const { action } = found.call;
    if (status !== 'input_required' || action === null) return fields;
    return { ...fields, inputRequests: { [keyOf(action)]: inputRequired.elicit(hostForm(action)) } };
  },
  'tasks/update': async (asked, params) => {
    const found = await declared(asked, params);
    const action = found.kind === 'task' ? found.call.action : null;
    if (action === null || !canAnswer(asked, action)) return {};
    const given = { by: hostName(asked), key: keyOf(action) };
    const event = hostAnswer(action, asked.context.mcpReq.inputResponses, given);
    const refused = event === null ? null : await asked.host.submit(event);
    if (refused !== null) throw invalid(`${refused.code}: ${refused.message}`);
    return {};
  },
  'tasks/cancel': async (asked, params) => {
    const found = await declared(asked, params);
    await asked.host.calls.cancel(found.call.handle, hostName(asked));
    return {};
  },
};

/** The methods of 2025-11-25. */
const LEGACY: Readonly<Record<string, Handler>> = {
  'tasks/get': async (asked, params) => shown(asked, await found(asked, params)),
  'tasks/list': async (asked, { cursor }) => {
    const all = asked.host.calls.list();
    const from = cursor === undefined ? 0 : all.findIndex(({ call }) => call.handle === cursor) + 1;
    if (cursor !== undefined && from === 0)
      throw invalid('the cursor is not one of this list; list from the beginning');
    const page = all.slice(from, from + HOST_TASKS_LISTED_MAX);
    const next = from + page.length < all.length ? { nextCursor: page.at(-1)?.call.handle } : {};
    return { tasks: page.map((call) => shown(asked, call)), ...next };
  },
  'tasks/result': async (asked, params) => {
    const ended = await untilEnded(asked, await found(asked, params));
    const result = await resultOf(asked, ended);
    return { ...result, _meta: { ...result._meta, [RELATED_TASK_META_KEY]: { taskId: ended.call.handle } } };
  },
  'tasks/cancel': async (asked, params) => {
    const task = await found(asked, params);
    if (task.kind === 'ended') throw invalid(`the task ${task.call.handle} has ended: ${task.call.status}`);
    const { handle, action } = task.call;
    await asked.host.calls.cancel(handle, hostName(asked));
    const wait = new AbortController();
    const release = asked.clock.after(HOST_TASK_AFTER_MS, () => wait.abort());
    await asked.host.calls.changed(handle, action === null ? null : questionDigest(action), wait.signal);
    release();
    return shown(asked, await found(asked, params));
  },
};

const shown = (asked: Asked, call: FoundCall): TaskFields => ({
  ...taskFields(call, statusOf(asked, call), false),
  ...standing(asked, call),
});

const statusOf = (asked: Asked, found: FoundCall): TaskStatus =>
  taskStatusOf(found, (action) => canAnswer(asked, action));

/** What an open call waits for, when the host cannot answer it. */
function standing(asked: Asked, found: FoundCall): { readonly statusMessage?: string } {
  const action = found.kind === 'task' ? found.call.action : null;
  return action === null || canAnswer(asked, action) ? {} : { statusMessage: asksMessage(action, asked.place) };
}

/** Unique in the life of a call: a call may ask the same twice, and an answer counts for one question. */
const keyOf = (action: PersonEffect): string => questionDigest(action);

/** The task of a host that takes tasks. */
async function declared(asked: Asked, params: Said): Promise<FoundCall> {
  if (takesTasks(asked)) return await found(asked, params);
  throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } });
}

async function found({ host }: Asked, { taskId }: Said): Promise<FoundCall> {
  if (typeof taskId !== 'string') throw invalid('taskId must be a string');
  const call = await host.calls.find(brand<'CallId'>(taskId));
  if (call === null) throw invalid(`the session ${host.session} has no task ${JSON.stringify(taskId.slice(0, 128))}`);
  return call;
}

const invalid = (message: string): ProtocolError => new ProtocolError(ProtocolErrorCode.InvalidParams, message);

const resultOf = ({ host }: Asked, { call }: EndedTask): Promise<CallToolResult> =>
  toolResult(host.client, call, outputSchemaOf(host.state(), call));

type EndedTask = Extract<FoundCall, { readonly kind: 'ended' }>;

function textOf(result: CallToolResult | undefined): string {
  const [block] = result?.content ?? [];
  return block?.type === 'text' ? block.text : 'the outcome of the call is unknown';
}

/** Asks the person of the host what the call asks, as often as it does. */
async function untilEnded(asked: Asked, task: FoundCall): Promise<EndedTask> {
  let current = task;
  const { signal } = asked.context.mcpReq;
  while (current.kind === 'task') {
    const { action, handle } = current.call;
    if (action !== null && canAnswer(asked, action)) await askPerson(asked, action);
    await asked.host.calls.changed(handle, action === null ? null : questionDigest(action), signal);
    if (signal.aborted) throw new ProtocolError(ProtocolErrorCode.InternalError, 'the request was cancelled');
    current = await found(asked, { taskId: handle });
  }
  return current;
}

async function askPerson(asked: Asked, action: PersonEffect): Promise<void> {
  const { signal, elicitInput } = asked.context.mcpReq;
  const response = await elicitInput({ mode: 'form', ...hostForm(action) }, { timeout: ELICIT_MS_MAX, signal });
  const event = hostAnswer(action, { answer: response }, { by: hostName(asked), key: 'answer' });
  if (event !== null) await asked.host.submit(event);
}

/** A person may take as long as a timer lasts. */
const ELICIT_MS_MAX = 2_147_483_647;
