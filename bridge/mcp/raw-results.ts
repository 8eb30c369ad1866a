// Results that the SDK would refuse whole, or that it does not know, reach the bridge as the server sent them. One tool with a
// malformed definition must not take the others of its page away, and a task in place of a result is no fault. So such a result is
// replaced by a valid empty one, which carries the original where the SDK looks at nothing.
import type { JSONRPCMessage, MessageExtraInfo, Transport } from '@modelcontextprotocol/client';
import { isPlainObject } from '../../schemas/json.ts';
import { MCP_CONTENT_BLOCKS_MAX } from '../../schemas/limits.ts';

/** The field of `_meta` with the original. The server cannot set it: it is dropped from what the server sends. */
const RAW = 'refold/raw';

/** The original of a result that was replaced; null for any other. */
export function rawOf(result: unknown): Readonly<Record<string, unknown>> | null {
  const meta = isPlainObject(result) ? result['_meta'] : null;
  const raw = isPlainObject(meta) ? meta[RAW] : null;
  return isPlainObject(raw) ? raw : null;
}

type OnMessage = (message: JSONRPCMessage, extra?: MessageExtraInfo) => void;

/** Keeps the originals on this transport. Every handler that the SDK sets gets the replaced messages. */
export function keepRawResults(transport: Transport): void {
  const methods = new Map<unknown, string>();
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if ('method' in message && 'id' in message && KEPT.has(message.method)) methods.set(message.id, message.method);
    return send(message, options);
  };
  let handler: OnMessage | undefined;
  Object.defineProperty(transport, 'onmessage', {
    configurable: true,
    get: (): OnMessage | undefined =>
      handler === undefined ? undefined : (message, extra) => handler?.(replaced(message, methods), extra),
    set(given: OnMessage | undefined) {
      handler = given;
    },
  });
}

const KEPT: ReadonlySet<string> = new Set(['tools/list', 'tools/call']);

function replaced(message: JSONRPCMessage, methods: Map<unknown, string>): JSONRPCMessage {
  if (!('id' in message) || 'method' in message) return message;
  const method = methods.get(message.id);
  if (method === undefined) return message;
  methods.delete(message.id);
  if (!('result' in message)) return message;
  const result: Readonly<Record<string, unknown>> = message.result;
  if (method === 'tools/list') return { ...message, result: { ...EMPTY_LIST, _meta: { [RAW]: result } } };
  if (isTask(result)) return { ...message, result: { ...EMPTY_RESULT, _meta: { [RAW]: result } } };
  const { _meta: meta, content } = result;
  const bounded = Array.isArray(content) ? { ...result, content: boundedContent(content) } : result;
  if (!isPlainObject(meta) || !(RAW in meta)) return { ...message, result: bounded };
  const { [RAW]: _, ...others } = meta;
  return { ...message, result: { ...bounded, _meta: others } };
}

/** As much content as is mapped, because the SDK looks at every part on the event loop; the last part counts the others. */
export function boundedContent(content: readonly unknown[]): readonly unknown[] {
  if (content.length <= MCP_CONTENT_BLOCKS_MAX) return content;
  const kept = content.slice(0, MCP_CONTENT_BLOCKS_MAX - 1);
  return [...kept, { type: 'text', text: `[${content.length - kept.length} more parts are left out]` }];
}

const EMPTY_LIST = { resultType: 'complete', tools: [], ttlMs: 0, cacheScope: 'private' } as const;
const EMPTY_RESULT = { resultType: 'complete', content: [] } as const;

/** Of the extension (`resultType` is `task`), or of 2025-11-25 (`task` in place of a content). */
const isTask = ({ resultType, task }: Readonly<Record<string, unknown>>): boolean =>
  resultType === 'task' || (isPlainObject(task) && typeof task['taskId'] === 'string');
