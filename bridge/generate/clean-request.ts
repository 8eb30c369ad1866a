// Replaces the secrets in the requests to a model.
import type { GenerateRequest, Message } from '../providers/provider.ts';
import { redactedText, redactedValue } from '../secrets/redact-value.ts';
import type { Redactor } from '../secrets/redactor.ts';
import { layoutWithout } from './layout.ts';

/**
 * Replaces the secrets in requests: a person may have written one into the conversation, and a model may repeat one. It
 * returns the same request when there is none. A rendered message is in every later request, so it is searched once.
 */
export function newRequestCleaner(redactor: Redactor): (request: GenerateRequest) => Promise<GenerateRequest> {
  if (redactor.reach === 0) return (request) => Promise.resolve(request);
  const cleaned = new WeakMap<Message, Message>();

  async function cleanedMessages(given: readonly Message[]): Promise<readonly Message[]> {
    const messages: Message[] = [];
    let same = true;
    for (const message of given) {
      let clean = cleaned.get(message);
      if (clean === undefined) {
        clean = await messageWithout(message, redactor);
        cleaned.set(message, clean);
      }
      messages.push(clean);
      same &&= clean === message;
    }
    return same ? given : messages;
  }

  return async (request) => {
    const instructions = request.instructions === null ? null : await redactedText(request.instructions, redactor);
    const messages = await cleanedMessages(request.messages);
    const same = instructions === request.instructions && messages === request.messages;
    return same ? request : { ...request, instructions, messages };
  };
}

async function messageWithout(message: Message, redactor: Redactor): Promise<Message> {
  const said = await redactedValue(message, redactor);
  if (said === message || message.role !== 'assistant' || message.layout === undefined) return said;
  const { layout, ...rest } = message;
  const { text } = said;
  const kept = await layoutWithout(layout, { text: message.text, redacted: text }, redactor);
  return { ...(await redactedValue(rest, redactor)), ...(kept === null ? {} : { layout: kept }) };
}
