// A call as the task that MCP shows: in the form of the extension of 2026-07-28 ("Tasks"), and in that of 2025-11-25. Its id is
// refold's id of the call, so that it outlives every connection and process: its time to live is that of the log.
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { CallStatus } from '../../schemas/state.ts';
import { HOST_POLL_MS } from '../../schemas/limits.ts';
import type { PersonEffect } from '../core/status.ts';
import type { FoundCall, OpenCall } from './call-answer.ts';

export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

/** `canAnswer`: the person of the host answers what the call asks. */
export function taskStatusOf(found: FoundCall, canAnswer: (action: PersonEffect) => boolean): TaskStatus {
  if (found.kind === 'ended') return ENDINGS[found.call.status] ?? 'completed';
  return found.call.action !== null && canAnswer(found.call.action) ? 'input_required' : 'working';
}

/** A tool that fails has a result all the same. What has none: a call that was cancelled, and one of unknown outcome. */
const ENDINGS: Partial<Record<CallStatus, TaskStatus>> = { cancelled: 'cancelled', unknown: 'failed' };

export interface TaskFields {
  readonly [field: string]: string | number | null;
}

export function taskFields(found: FoundCall, status: TaskStatus, modern: boolean): TaskFields {
  const { call } = found;
  const changed = found.kind === 'ended' ? found.call.ended_at_ms : found.call.changed_at_ms;
  return {
    taskId: call.handle,
    status,
    createdAt: new Date(call.made_at_ms).toISOString(),
    lastUpdatedAt: new Date(changed).toISOString(),
    ...(modern ? { ttlMs: null, pollIntervalMs: HOST_POLL_MS } : { ttl: null, pollInterval: HOST_POLL_MS }),
  };
}

/** What a host gets of a call that goes on. The SDK passes it only as a result of a tool, which has content. */
export function createdTask(call: OpenCall, modern: boolean): CallToolResult {
  const fields = taskFields({ kind: 'task', call }, 'working', modern);
  return modern ? { ...fields, resultType: 'task', content: [] } : { task: fields, content: [] };
}
