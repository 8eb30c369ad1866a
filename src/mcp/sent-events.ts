// What a host over HTTP was sent lately, so that one whose stream broke gets the rest of it (2025-11-25, "Resumability and
// Redelivery"). It belongs to one connection.
import type { EventStore, JSONRPCMessage } from '@modelcontextprotocol/server';
import { HOST_SENT_CHARS_MAX, HOST_SENT_MAX } from '../../schemas/limits.ts';

interface Sent {
  readonly id: string;
  readonly stream: string;
  readonly message: JSONRPCMessage;
  readonly chars: number;
}

/** Keeps the events that were sent last; a host that comes back for an earlier one is refused. */
export function newSentEvents(): EventStore {
  let sent: readonly Sent[] = [];
  let chars = 0;
  let count = 0;
  return {
    storeEvent(stream, message) {
      count += 1;
      const event = { id: `${count}`, stream, message, chars: JSON.stringify(message).length };
      sent = [...sent, event];
      chars += event.chars;
      while (sent.length > 1 && (sent.length > HOST_SENT_MAX || chars > HOST_SENT_CHARS_MAX)) {
        chars -= sent[0]?.chars ?? 0;
        sent = sent.slice(1);
      }
      return Promise.resolve(event.id);
    },
    getStreamIdForEventId: (id) => Promise.resolve(sent.find((event) => event.id === id)?.stream),
    async replayEventsAfter(id, { send }) {
      const from = sent.findIndex((event) => event.id === id);
      const stream = sent[from]?.stream;
      if (stream === undefined) throw new Error(`the event ${id.slice(0, 64)} is not kept`);
      for (const event of sent.slice(from + 1)) if (event.stream === stream) await send(event.id, event.message);
      return stream;
    },
  };
}
