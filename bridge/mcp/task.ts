// Work of a server that outlives a request: its handle, and waiting for its end. Two forms are spoken: the extension of
// 2026-07-28, whose `tasks/get` brings the result too, and the tasks of 2025-11-25, whose `tasks/result` does.
import type { Client } from '@modelcontextprotocol/client';
import { isPlainObject } from '../../schemas/json.ts';
import {
  CALL_HANDLE_CHARS_MAX,
  MCP_POLL_MS_DEFAULT,
  MCP_POLL_MS_MAX,
  MCP_POLL_MS_MIN,
  MCP_STOP_MS,
} from '../../schemas/limits.ts';

export interface TaskHandle {
  readonly id: string;
  readonly form: 'extension' | '2025-11-25';
}

export interface TaskState {
  readonly status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';
  /** When to ask again, in milliseconds. */
  readonly pollMs: number;
  readonly said: Readonly<Record<string, unknown>>;
}

/** The task that a result stands for; null when its id cannot be noted. */
export function handleOf(raw: Readonly<Record<string, unknown>>): TaskHandle | null {
  const form = raw['resultType'] === 'task' ? 'extension' : '2025-11-25';
  const task = form === 'extension' ? raw : raw['task'];
  const id = isPlainObject(task) ? task['taskId'] : null;
  if (typeof id !== 'string' || id === '') return null;
  const handle: TaskHandle = { id, form };
  return noteOf(handle).length > CALL_HANDLE_CHARS_MAX ? null : handle;
}

/** What is noted of a task, and read again by the next bridge. */
export const noteOf = ({ id, form }: TaskHandle): string => `${form} ${id}`;

export function handleNoted(note: string): TaskHandle | null {
  const [, form, id] = /^(extension|2025-11-25) (.+)$/s.exec(note) ?? [];
  return form === undefined || id === undefined ? null : { id, form: form as TaskHandle['form'] };
}

/** Throws when the server does not know the task, or says nothing of it that can be read. */
export async function taskState(client: Client, { id }: TaskHandle, signal: AbortSignal): Promise<TaskState> {
  const said = await client.request({ method: 'tasks/get', params: { taskId: id } }, anything, { signal });
  const { status, pollIntervalMs, pollInterval } = said;
  if (typeof status !== 'string' || !STATUSES.has(status))
    throw new Error(`the task has the unknown status ${JSON.stringify(status)}`);
  const asked = pollIntervalMs ?? pollInterval;
  const ms = typeof asked === 'number' && Number.isFinite(asked) ? asked : MCP_POLL_MS_DEFAULT;
  return {
    status: status as TaskState['status'],
    pollMs: Math.min(Math.max(ms, MCP_POLL_MS_MIN), MCP_POLL_MS_MAX),
    said,
  };
}

const STATUSES: ReadonlySet<string> = new Set(['working', 'input_required', 'completed', 'failed', 'cancelled']);

/** Waits for the result, also while the server asks a person for it. */
export const taskResult = (client: Client, { id }: TaskHandle, signal: AbortSignal): Promise<Said> =>
  client.request({ method: 'tasks/result', params: { taskId: id } }, anything, { signal, timeout: 2_147_483_647 });

export const updateTask = (
  client: Client,
  { id }: TaskHandle,
  inputResponses: Said,
  signal: AbortSignal,
): Promise<Said> =>
  client.request({ method: 'tasks/update', params: { taskId: id, inputResponses } }, anything, { signal });

/** A server that does not answer keeps the end of a call that was stopped only for a short time. */
export const cancelTask = (client: Client, { id }: TaskHandle): Promise<Said> =>
  client.request({ method: 'tasks/cancel', params: { taskId: id } }, anything, { timeout: MCP_STOP_MS });

type Said = Readonly<Record<string, unknown>>;

/** A Standard Schema that lets every object through: what a server says is read field by field. */
const anything = {
  '~standard': {
    version: 1,
    vendor: 'refold',
    validate: (value: unknown) => (isPlainObject(value) ? { value } : { issues: [{ message: 'it is no object' }] }),
    types: undefined as unknown as { readonly input: unknown; readonly output: Said },
  },
} as const;
