// Results right after their calls, in call order.
import type { Message, MessageAttachment, ToolMessage } from '../provider.ts';

/**
 * Moves each result behind its calls, drops results without a call, and writes one for a call that has none: every call must
 * be answered. A tool message holds text only here, so the files of
 * the results follow them in a message of the user.
 */
export function orderResults(messages: readonly Message[]): readonly Message[] {
  const results = new Map<string, ToolMessage>();
  for (const message of messages) if (message.role === 'tool') results.set(message.call_id, message);
  return messages.flatMap((message): readonly Message[] => {
    if (message.role === 'tool') return [];
    if (message.role === 'user') return [message];
    const own = message.calls.map(({ id, name }) => results.get(id) ?? noResult(id, name));
    const attachments = own.flatMap((result): readonly MessageAttachment[] => result.attachments ?? []);
    if (attachments.length === 0) return [message, ...own];
    const names = own.filter((result) => (result.attachments ?? []).length > 0).map(({ name }) => name);
    const text = `[files that these tools returned: ${names.join(', ')}]`;
    return [message, ...own, { role: 'user', text, attachments }];
  });
}

const noResult = (call_id: string, name: string): ToolMessage => ({
  role: 'tool',
  call_id,
  name,
  text: '(no result)',
  is_error: true,
});
